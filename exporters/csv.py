"""CSV for spreadsheets: the calls in one file, other records in files beside it, named after their tables.

``calls.csv`` has the calls, ``calls.outcomes.csv`` the outcomes, and so on for records that exist. A line of names,
commas, quotes where needed, CRLF (RFC 4180). Unknown values are empty fields. JSON is text, times are UTC, booleans are
``true`` or ``false``.

A text that a spreadsheet would evaluate as a formula (it begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break)
is prefixed with an apostrophe, which marks the rest as plain text. An empty text, as opposed to an unknown one, and a
text that begins with an apostrophe itself get the same prefix. ``tooltrace import`` removes it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tooltrace.core.fields import fields_of
from tooltrace.core.records import Record, ToolCall
from tooltrace.core.spreadsheet import FORMULA_STARTS, QUOTED_BY
from tooltrace.errors import ConfigError
from tooltrace.exporters.atomic_file import STANDARD, AtomicFile, require_path
from tooltrace.exporters.protocol import Target
from tooltrace.store.database.schema import RECORDS
from tooltrace.store.journal.line_format import KINDS

_TABLES: Final = {record: RECORDS[kind].public for kind, record in KINDS.items()}


class CsvTable:
    """The file at ``path`` with the records of one type."""

    def __init__(self, path: Path, kind: type[Record]) -> None:
        self._names = tuple(field.name for field in fields_of(kind))
        self._file = AtomicFile(path)
        self._file.write(_csv([list(self._names)]))

    def send(self, records: Sequence[Record]) -> None:
        """Append ``records``. Raises Refused."""
        self._file.write(_csv([[cell(getattr(record, name)) for name in self._names] for record in records]))

    def close(self) -> None:
        """Move the file to its final name. Raises Refused."""
        self._file.publish()

    def abandon(self) -> None:
        """Discard the file."""
        self._file.discard()


class Csv:
    """The file at ``path`` and the files beside it; a name that ends in ``.csv.gz`` is compressed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[type[Record], CsvTable] = {}
        self._open = True
        # an export without calls makes an empty table too, not a missing file
        self._file_of(ToolCall)

    def send(self, records: Sequence[Record]) -> None:
        """Append ``records``. Raises Refused."""
        rows: dict[type[Record], list[Record]] = {}
        for record in records:
            rows.setdefault(type(record), []).append(record)
        for kind, each in rows.items():
            self._file_of(kind).send(each)

    def close(self) -> None:
        """Move the files to their final names, the calls last. Raises Refused.

        A file from an earlier export for which this one has no rows is replaced by an empty table.
        """
        for kind, table in _TABLES.items():
            if self._open and sibling(self._path, table).exists():
                self._file_of(kind)
        self._open = False
        for file in reversed(self._files.values()):
            file.close()

    def abandon(self) -> None:
        """Discard all files."""
        self._open = False
        for file in self._files.values():
            file.abandon()

    def _file_of(self, kind: type[Record]) -> CsvTable:
        if kind not in self._files:
            path = self._path if kind is ToolCall else sibling(self._path, _TABLES[kind])
            self._files[kind] = CsvTable(path, kind)
        return self._files[kind]


def create(target: Target) -> Csv:
    """Create the destination; see :mod:`tooltrace.exporters.registry`."""
    path = require_path(target.path, "csv")
    if path == STANDARD:
        raise ConfigError("csv writes one file for each kind of record, not standard output: pass a path, or use jsonl")
    return Csv(path)


def files_of(path: Path) -> list[Path]:
    """Return the files of the export to ``path`` that exist."""
    return [file for file in (path, *(sibling(path, table) for table in _TABLES.values())) if file.is_file()]


def sibling(path: Path, table: str) -> Path:
    """Return the path for the rows of ``table``: ``calls.csv`` has ``calls.outcomes.csv`` beside it."""
    stem, dot, ends = path.name.partition(".csv")
    return path.with_name(f"{stem}.{table}{dot}{ends}")


def cell(value: Any) -> str:
    """Format a field; empty where ``value`` is unknown, or a number outside the store's range."""
    write = _WRITERS.get(type(value))
    return "" if write is None else write(value)


def _text(text: str) -> str:
    # a lone surrogate is not text in UTF-8
    text = text.encode("utf-8", "replace").decode()
    return QUOTED_BY + text if not text or text.startswith((*FORMULA_STARTS, QUOTED_BY)) else text


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


_WRITERS: Final[dict[type[Any], Callable[[Any], str]]] = {
    str: _text,
    bool: lambda value: "true" if value else "false",
    int: lambda value: str(value) if -(2**63) <= value < 2**63 else "",
    float: lambda value: repr(value) if math.isfinite(value) else "",
    datetime: _moment,
}


def _csv(rows: list[list[str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode()
