"""Format of tooltrace's own CSV: ``tooltrace export csv`` writes one file for each kind of record.

Files are read line by line, so that a bad line can be reported by its number. The apostrophe that the export
puts before some texts is removed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tooltrace.core.records import Record
from tooltrace.core.spreadsheet import QUOTED_BY
from tooltrace.ingest.files.reader import MAX_LINE_BYTES, Format, TraceFile, kind_of, record_of
from tooltrace.ingest.reredact import MAX_FILE_FIELD_BYTES, reredact
from tooltrace.recording.settings import Settings

NAME: Final = "csv"
_DELIMITERS: Final = ",;\t"


def knows(head: bytes) -> bool:
    """Whether the header line names the columns of one of tooltrace's tables."""
    return _header(head.lstrip().partition(b"\n")[0])[0] is not None


def read(source: TraceFile, settings: Settings) -> Iterator[Record]:
    """Yield every record of the file."""
    kind, delimiter = _header(source.head.lstrip().partition(b"\n")[0])
    # Bytes that are not UTF-8 survive here, so that the row is refused with its number and not the whole file.
    texts = (line.decode("utf-8", "surrogateescape") for _, line in source.lines())
    with long_fields():
        rows = csv.reader(texts, delimiter=delimiter, strict=True)
        names: list[str] = []
        for number, row in rows_of(source, rows):
            if not names:
                names = [name.strip() for name in row]
                continue
            try:
                if len(row) != len(names):
                    source.skip(number, f"{len(row)} fields, where the header has {len(names)}")
                    continue
                cells = {
                    name: text.removeprefix(QUOTED_BY) if text else None for name, text in zip(names, row, strict=True)
                }
                record = reredact(record_of(kind or "", cells), settings, MAX_FILE_FIELD_BYTES)
            except ValueError as error:
                source.skip(number, str(error))
            else:
                yield record


def rows_of(source: TraceFile, rows: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-empty rows, each with the number of the line at which it begins."""
    while True:
        number = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            source.skip(number, str(error))
            continue
        if row is None:
            return
        if row:
            yield number, row


def _header(line: bytes) -> tuple[str | None, str]:
    """Return the kind of record whose columns ``line`` names (None if unknown), and the delimiter."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return None, ","
    for delimiter in _DELIMITERS:
        kind = kind_of({name.strip().strip('"') for name in text.split(delimiter)})
        if kind is not None:
            return kind, delimiter
    return None, ","


@contextmanager
def long_fields() -> Iterator[None]:
    """Raise the field size limit of Python's csv module within the block.

    Python's default limit is half of what a field of tooltrace may have. The limit applies to the whole process, so it
    is restored afterwards.
    """
    before = csv.field_size_limit(MAX_LINE_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)


FORMAT = Format(NAME, knows, read)
