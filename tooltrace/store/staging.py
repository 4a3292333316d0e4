"""A batch of journal lines as tables in memory, without what the store has already."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.core.records import Loss
from tooltrace.store.columns import ATTEMPTS, LOSSES, RECORDS, SPANS, Column, Table
from tooltrace.store.journal_format import WIRE_NAMES, LineError, decode
from tooltrace.store.journal_scan import JournalBatch
from tooltrace.store.schema import STORE, column_ddl, quote_identifier, quote_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SPACE: Final = "memory.pending"
"""Schema that the staged tables are in; they have the names of the store's."""
TEMP_SUFFIX: Final = ".tmp"

_OBJECT_BYTES: Final = 16 * 1024 * 1024


class Staging:
    """Tables in the memory of ``con``, one for each that records go into; loaded batch by batch.

    ``directory``: where the lines may lie for the moment that DuckDB reads them.
    """

    def __init__(self, con: DuckDBPyConnection, directory: Path) -> None:
        self._con = con
        self._directory = directory
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {SPACE}")
        for table in RECORDS.values():
            con.execute(f"CREATE OR REPLACE TABLE {SPACE}.{table.name} ({column_ddl(table)})")

    def load(self, batch: JournalBatch) -> None:
        """Take the lines and losses of ``batch``. A line that is no record is counted in ``batch.losses``."""
        for kind, lines in batch.lines.items():
            refused = self._load(RECORDS[kind], lines) if lines else 0
            if refused:
                batch.lose("unreadable_line", ", ".join(sorted(batch.offsets))[:500], 0, refused)
        if batch.losses:
            marks = ", ".join("?" for _ in LOSSES.names)
            names = ", ".join(quote_identifier(name) for name in LOSSES.names)
            rows = [_row(loss) for loss in batch.losses]
            self._con.executemany(f"INSERT INTO {SPACE}.{LOSSES.name} ({names}) VALUES ({marks})", rows)

    def load_rows(self, table: Table, file: Path) -> None:
        """Take the rows of ``table`` that are in the Parquet ``file``."""
        self._con.execute(
            f"INSERT INTO {SPACE}.{table.name} BY NAME SELECT * FROM read_parquet({quote_literal(str(file))})"
        )

    def drop_known(self, *, against: str | None = STORE) -> None:
        """Remove rows that are here twice, or in the database attached as ``against`` already."""
        for table in RECORDS.values():
            if self.count(table):
                self._drop_known(table, against)

    def count(self, table: Table) -> int:
        """Rows of ``table`` that are staged."""
        row = self._con.execute(f"SELECT count(*) FROM {SPACE}.{table.name}").fetchone()
        return int(row[0]) if row else 0

    def clear(self) -> None:
        """Empty the staged tables."""
        for table in RECORDS.values():
            self._con.execute(f"TRUNCATE {SPACE}.{table.name}")

    def _load(self, table: Table, lines: Sequence[bytes]) -> int:
        """Insert ``lines``; how many of them were refused."""
        try:
            self._insert(table, lines)
        except duckdb.Error as error:
            if not _is_about_values(error):
                raise
        else:
            return 0
        readable = [line for line in lines if _is_record(line)]
        return len(lines) - len(readable) + self._load_halves(table, readable)

    def _load_halves(self, table: Table, lines: Sequence[bytes]) -> int:
        if not lines:
            return 0
        try:
            self._insert(table, lines)
        except duckdb.Error as error:
            if not _is_about_values(error):
                raise
            if len(lines) == 1:
                return 1
            middle = len(lines) // 2
            return self._load_halves(table, lines[:middle]) + self._load_halves(table, lines[middle:])
        return 0

    def _insert(self, table: Table, lines: Sequence[bytes]) -> None:
        types = ", ".join(f"{_wire(column)}: {quote_literal(column.type)}" for column in table.columns)
        names = ", ".join(quote_identifier(column.name) for column in table.columns)
        values = ", ".join(_wire(column) for column in table.columns)
        size = max(_OBJECT_BYTES, 2 * max(map(len, lines)))
        with _file_of(lines, self._directory) as path:
            self._con.execute(
                f"INSERT INTO {SPACE}.{table.name} ({names}) SELECT {values} FROM read_json({quote_literal(str(path))}, "
                f"format = 'newline_delimited', columns = {{{types}}}, maximum_object_size = {size})"
            )

    def _drop_known(self, table: Table, against: str | None) -> None:
        here = f"{SPACE}.{table.name}"
        key = "span_id" if table in (ATTEMPTS, SPANS) else ", ".join(quote_identifier(name) for name in table.names)
        self._con.execute(f"DELETE FROM {here} WHERE rowid NOT IN (SELECT min(rowid) FROM {here} GROUP BY {key})")
        if against is None:
            return
        first, last = self._con.execute(
            f"SELECT min({quote_identifier(table.time)}), max({quote_identifier(table.time)}) FROM {here}"
        ).fetchone() or (None, None)
        same = " AND ".join(f"known.{column} IS NOT DISTINCT FROM here.{column}" for column in key.split(", "))
        self._con.execute(  # the range lets DuckDB skip the row groups of other times
            f"DELETE FROM {here} AS here USING {against}.{table.name} AS known "
            f"WHERE known.{quote_identifier(table.time)} BETWEEN ? AND ? AND {same}",
            [first, last],
        )


@contextmanager
def _file_of(lines: Sequence[bytes], directory: Path) -> Iterator[Path]:
    """A file of ``lines`` that only we can read, gone afterwards."""
    fd, name = tempfile.mkstemp(prefix=".lines-", suffix=TEMP_SUFFIX, dir=directory)
    path = Path(name)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(b"\n".join(lines))
            file.write(b"\n")
        yield path
    finally:
        with suppress(FileNotFoundError):
            path.unlink()


def _wire(column: Column) -> str:
    return quote_identifier(WIRE_NAMES.get(column.name, column.name))


def _row(loss: Loss) -> tuple[object, ...]:
    return tuple(
        value.replace(tzinfo=None) if isinstance(value, datetime) else value
        for value in (getattr(loss, name) for name in LOSSES.names)
    )


def _is_record(line: bytes) -> bool:
    try:
        decode(line)
    except LineError:
        return False
    return True


def _is_about_values(error: duckdb.Error) -> bool:
    """Whether ``error`` says that a line's values cannot be stored, and not that the machine is out of something."""
    about = (
        duckdb.InvalidInputException, duckdb.ConversionException, duckdb.ConstraintException,
        duckdb.OutOfRangeException, duckdb.DataError, duckdb.IntegrityError,
    )  # fmt: skip
    return isinstance(error, about)
