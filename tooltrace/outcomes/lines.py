"""The rows of a CSV, JSON Lines or Parquet file, each with the number of its line.

CSV and JSON Lines are read line by line here: DuckDB's reader miscounts lines after a blank one or a quoted line
break, and a bad row is to be found by its line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tooltrace.errors import LabelError
from tooltrace.outcomes.row import COLUMNS, missing

Advance = Callable[[int], None]
"""Told how many bytes were read."""

_BOM = b"\xef\xbb\xbf"
_HEAD = 1024 * 1024
_DELIMITERS = ",;\t|"
_PARQUET = b"PAR1"
_STEP = 64 * 1024
"""Bytes after which it is worth saying how far one is."""


class Line(NamedTuple):
    """One row, or why it is none."""

    number: int
    """From 1; of a Parquet file the row."""
    row: dict[str, Any]
    fault: str | None = None


def read(path: Path, unused: Callable[[list[str]], None], advance: Advance) -> Iterator[Line]:
    """The rows of ``path``, whose format is told by its content. ``unused``: told of columns that a label has not, as
    they are met. Raises LabelError where the file cannot be read, or holds no labels.
    """
    try:
        with io.BufferedReader(path.open("rb", buffering=0), _HEAD) as stream:
            head = stream.peek(_HEAD)[:_HEAD].removeprefix(_BOM).lstrip()
            if head.startswith(_PARQUET):
                yield from _parquet(path, unused, advance)
            elif head.startswith(b"["):
                raise LabelError(f"{path}: a JSON array; JSON Lines have one object a line (jq -c '.[]' makes them)")
            elif head.startswith(b"{"):
                yield from _json_lines(_counted(stream, advance), unused)
            elif head:
                yield from _csv(path, _counted(stream, advance), unused)
    except OSError as error:
        raise LabelError(f"{path}: {error.strerror or error}") from error


def _counted(stream: Iterable[bytes], advance: Advance) -> Iterator[bytes]:
    read = 0
    for number, line in enumerate(stream):
        read += len(line)
        if read >= _STEP:
            advance(read)
            read = 0
        yield line.removeprefix(_BOM) if number == 0 else line
    advance(read)


def _json_lines(lines: Iterator[bytes], unused: Callable[[list[str]], None]) -> Iterator[Line]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            yield Line(number, {}, "not a JSON object")
            continue
        row = {_name(key): value for key, value in row.items()}
        if strange := _strange(row):
            unused(strange)
        yield Line(number, row)


def _csv(path: Path, lines: Iterator[bytes], unused: Callable[[list[str]], None]) -> Iterator[Line]:
    texts = (line.decode("utf-8", "surrogateescape") for line in lines)
    blank, head = next(((number, text) for number, text in enumerate(texts) if text.strip()), (0, ""))
    delimiter = max(_DELIMITERS, key=lambda sign: len(_known(next(csv.reader([head], delimiter=sign), []))))
    names = [_name(name) for name in next(csv.reader([head], delimiter=delimiter), [])]
    _check(path, names)
    unused(_strange(names))
    reader = csv.reader(texts, delimiter=delimiter)
    while True:
        number = blank + reader.line_num + 2  # after the header, the next
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Line(number, {}, str(error))
            continue
        if any(field.strip() for field in fields):
            yield _fitted(number, names, fields)


def _fitted(number: int, names: list[str], fields: list[str]) -> Line:
    if len(fields) > len(names):
        return Line(number, {}, f"{len(fields)} fields, where the header has {len(names)}")
    if any("\udc80" <= sign <= "\udcff" for field in fields for sign in field):
        return Line(number, {}, "not UTF-8")
    return Line(number, dict(zip(names, fields, strict=False)))


def _parquet(path: Path, unused: Callable[[list[str]], None], advance: Advance) -> Iterator[Line]:
    import duckdb

    from tooltrace.store.database import connect
    from tooltrace.store.schema import literal

    file = f"read_parquet({literal(str(path))})"
    with connect() as con:
        try:
            description = con.execute(f"SELECT * FROM {file} LIMIT 0").description
            by_name = {_name(column[0]): column[0].replace('"', '""') for column in description}
            _check(path, list(by_name))
            unused(_strange(by_name))
            taken = [name for name in by_name if name in COLUMNS]
            columns = ", ".join(f'CAST("{by_name[name]}" AS VARCHAR)' for name in taken)
            rows = con.execute(f"SELECT count(*) FROM {file}").fetchall()[0][0]
            con.execute(f"SELECT {columns} FROM {file}")
            size = path.stat().st_size
            for number in range(1, rows + 1):
                row = con.fetchone() or ()
                if number % 1000 == 0 or number == rows:
                    advance(size * (number % 1000 or 1000) // rows)
                yield Line(number, dict(zip(taken, row, strict=True)))
        except duckdb.Error as error:
            raise LabelError(f"{path}: {' '.join(str(error).split())[:300]}") from error


def _name(name: str) -> str:
    return name.strip().lower()


def _known(names: Iterable[str]) -> list[str]:
    return [name for name in names if _name(name) in COLUMNS]


def _strange(names: Iterable[str]) -> list[str]:
    return [name for name in names if name and name not in COLUMNS]


def _check(path: Path, names: list[str]) -> None:
    lacking = missing(names)
    twice = sorted({name for name in _known(names) if names.count(name) > 1})
    if lacking or twice:
        cause = lacking or f"it has the column {', '.join(twice)} twice"
        raise LabelError(f"{path}: {cause}; a label has {', '.join(COLUMNS)}")
