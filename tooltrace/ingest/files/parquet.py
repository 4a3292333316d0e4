"""Format of Parquet files: the output of ``tooltrace export parquet``, and the data frames of Phoenix's client.

The names of the columns decide which of the two a file is, and which kind of record it has. Skipped rows are reported
by row number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tooltrace.core.records import Record
from tooltrace.errors import UnreadableFile
from tooltrace.ingest.files import phoenix
from tooltrace.ingest.files.reader import Format, TraceFile, kind_of, parsed_text, record_of
from tooltrace.ingest.reredact import MAX_FILE_FIELD_BYTES, reredact
from tooltrace.recording.settings import Settings
from tooltrace.store.database.schema import RECORDS, quote_identifier, quote_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAME: Final = "parquet"
_MAGIC: Final = b"PAR1"
_ROWS: Final = 512
"""Rows fetched at once."""


def knows(head: bytes) -> bool:
    """Whether ``head`` is the beginning of a Parquet file."""
    return head.startswith(_MAGIC)


def read(source: TraceFile, settings: Settings) -> Iterator[Record]:
    """Yield every record of the file."""
    with _opened(source) as con:
        columns = [row[0] for row in con.execute("DESCRIBE file").fetchall()]
        kind = kind_of(columns)
        if kind is not None:
            yield from _records(con, source, settings, kind, columns)
        elif "context.span_id" in columns or "annotator_kind" in columns:
            yield from phoenix.read_objects(source, settings, _phoenix(con, source, columns))
        else:
            raise UnreadableFile(f"{source.path}: the Parquet file has the columns of no known table")


def _records(
    con: DuckDBPyConnection, source: TraceFile, settings: Settings, kind: str, columns: list[str]
) -> Iterator[Record]:
    present = [column for column in RECORDS[kind].columns if column.name in columns]
    values = ", ".join(f"CAST({quote_identifier(column.name)} AS {column.type})" for column in present)
    for number, row in _fetched(con, source, values):
        try:
            cells = dict(zip((column.name for column in present), row, strict=True))
            record = reredact(record_of(kind, cells), settings, MAX_FILE_FIELD_BYTES)
        except ValueError as error:
            source.skip(number, str(error))
        else:
            yield record


def _phoenix(con: DuckDBPyConnection, source: TraceFile, columns: list[str]) -> Iterator[tuple[int, Any]]:
    """Yield the rows as JSON objects, with their row numbers; the data frame's index is a named column."""
    # DuckDB converts every nested type; Python objects of a STRUCT or MAP would need converters of our own.
    values = ", ".join(f"CAST(to_json({quote_identifier(column)}) AS VARCHAR)" for column in columns)
    for number, row in _fetched(con, source, values):
        yield (
            number,
            {name: None if text is None else parsed_text(text) for name, text in zip(columns, row, strict=True)},
        )


def _fetched(con: DuckDBPyConnection, source: TraceFile, values: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    total = (con.execute("SELECT count(*) FROM file").fetchone() or (0,))[0]
    rows = con.execute(f"SELECT {values} FROM file")
    number = 0
    for batch in iter(partial(rows.fetchmany, _ROWS), []):
        for row in batch:
            number += 1
            yield number, row
        source.bytes_read(number / total)


@contextmanager
def _opened(source: TraceFile) -> Iterator[DuckDBPyConnection]:
    import duckdb

    from tooltrace.store.database.connection import connect

    with connect() as con:
        try:
            # Without hive_partitioning = false DuckDB would add columns of the folder names in the path.
            file = f"read_parquet({quote_literal(str(source.path.absolute()))}, hive_partitioning = false)"
            con.execute(f"CREATE TEMP VIEW file AS SELECT * FROM {file}")
            yield con
        except duckdb.Error as error:
            raise UnreadableFile(f"{source.path}: {' '.join(str(error).split())[:300]}") from error


FORMAT = Format(NAME, knows, read)
