"""Tables in memory for a batch of journal lines, without the records that the store already has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.core.records import Loss
from tooltrace.store.database.hashes import with_hashes
from tooltrace.store.database.schema import (
    ATTEMPTS,
    BEGUN,
    LOSSES,
    RECORDS,
    SPANS,
    STORE,
    Table,
    column_ddl,
    quote_identifier,
    quote_literal,
)
from tooltrace.store.erase.tombstones import Tombstones
from tooltrace.store.fold.line_files import LineFile, is_about_values
from tooltrace.store.journal.line_format import LineError, decode
from tooltrace.store.journal.line_scan import JournalBatch, Lines

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SPACE: Final = "memory.pending"
"""The schema of the staged tables, which have the same names as the store's tables."""


class Staging:
    """Staged tables in the memory of ``con``, one for each table of records, loaded batch by batch.

    ``directory``: the directory for temporary files of lines, from which DuckDB reads them.
    """

    def __init__(self, con: DuckDBPyConnection, directory: Path) -> None:
        self._con = con
        self._directory = directory
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {SPACE}")
        for table in RECORDS.values():
            con.execute(f"CREATE OR REPLACE TABLE {SPACE}.{table.name} ({column_ddl(table)})")

    def load(self, batch: JournalBatch) -> None:
        """Load the lines and losses of ``batch``. A line that is not a record is added to ``batch.losses``."""
        for kind, lines in batch.lines.items():
            refused = self._load(RECORDS[kind], lines) if lines else 0
            if refused:
                batch.lose("unreadable_line", ", ".join(sorted(batch.offsets))[:500], 0, refused)
        insert_losses(self._con, SPACE, batch.losses)

    def load_rows(self, table: Table, file: Path) -> None:
        """Load the rows of ``table`` from the Parquet file ``file``."""
        self.load_query(table, f"(SELECT * FROM read_parquet({quote_literal(str(file))}))")

    def load_query(self, table: Table, rows: str) -> int:
        """Load the rows of ``table`` from a table or subquery in SQL that has columns of records; return their number."""
        count = self._con.execute(f"INSERT INTO {SPACE}.{table.name} BY NAME {with_hashes(table, rows)}").fetchone()
        return int(count[0]) if count else 0

    def drop_known(self, *, against: str | None = STORE) -> None:
        """Remove rows that are staged twice, or already in the database attached as ``against``."""
        for table in RECORDS.values():
            if self.count(table):
                self._drop_known(table, against)

    def drop_forgotten(self, tombstones: Tombstones) -> tuple[int, Tombstones]:
        """Remove the rows that ``tombstones`` name; return their number, and the tombstones with those rows' attempts.

        An attempt of a forgotten conversation may arrive late; what else is about this attempt is removed too.
        """
        if not tombstones:
            return 0, tombstones
        tombstones.prepare(self._con)
        condition = tombstones.condition(ATTEMPTS)
        late = self._con.execute(f"DELETE FROM {SPACE}.{ATTEMPTS.name} WHERE {condition} RETURNING span_id").fetchall()
        dropped = len(late)
        tombstones = tombstones.with_spans([span_id for (span_id,) in late])
        tombstones.prepare(self._con)
        for table in RECORDS.values():
            if table is not ATTEMPTS and (condition := tombstones.condition(table)) and (before := self.count(table)):
                self._con.execute(f"DELETE FROM {SPACE}.{table.name} WHERE {condition}")
                dropped += before - self.count(table)
        return dropped, tombstones

    def count(self, table: Table) -> int:
        """Return the number of staged rows of ``table``."""
        row = self._con.execute(f"SELECT count(*) FROM {SPACE}.{table.name}").fetchone()
        return int(row[0]) if row else 0

    def clear(self) -> None:
        """Empty the staged tables."""
        for table in RECORDS.values():
            self._con.execute(f"TRUNCATE {SPACE}.{table.name}")

    def _load(self, table: Table, lines: Lines) -> int:
        """Insert ``lines``; return how many of them were refused.

        One bad line makes DuckDB refuse all of them, so the lines are parsed one by one only after an error.
        """
        try:
            self._insert(table, lines)
        except duckdb.Error as error:
            if not is_about_values(error):
                raise
        else:
            return 0
        readable = [line for line in lines if _is_record(line)]
        return len(lines) - len(readable) + self._load_halves(table, readable)

    def _load_halves(self, table: Table, lines: list[bytes]) -> int:
        """Insert ``lines``, halved until only single lines are refused; return how many were refused."""
        if not lines:
            return 0
        try:
            self._insert(table, Lines.of(lines))
        except duckdb.Error as error:
            if not is_about_values(error):
                raise
            if len(lines) == 1:
                return 1
            middle = len(lines) // 2
            return self._load_halves(table, lines[:middle]) + self._load_halves(table, lines[middle:])
        return 0

    def _insert(self, table: Table, lines: Lines) -> None:
        with LineFile(self._directory) as file:
            file.write(lines)
            file.insert(self._con, table, SPACE)

    def _drop_known(self, table: Table, against: str | None) -> None:
        staged = f"{SPACE}.{table.name}"
        keys = key_columns(table)
        # of an attempt that was taken for lost, its end is kept
        first = (
            "coalesce(min(rowid) FILTER (WHERE ending <> 'lost'), min(rowid))" if table is ATTEMPTS else "min(rowid)"
        )
        self._con.execute(
            f"DELETE FROM {staged} WHERE rowid NOT IN (SELECT {first} FROM {staged} GROUP BY {', '.join(keys)})"
        )
        if against is None:
            return
        first, last = self._con.execute(
            f"SELECT min({quote_identifier(table.time)}), max({quote_identifier(table.time)}) FROM {staged}"
        ).fetchone() or (None, None)
        is_same = " AND ".join(f"known.{key} IS NOT DISTINCT FROM staged.{key}" for key in keys)
        if table is ATTEMPTS:
            is_same += " AND (known.ending <> 'lost' OR staged.ending = 'lost')"
        self._con.execute(  # the range lets DuckDB skip the row groups of other times
            f"DELETE FROM {staged} AS staged USING {against}.{table.name} AS known "
            f"WHERE known.{quote_identifier(table.time)} BETWEEN ? AND ? AND {is_same}",
            [first, last],
        )


def key_columns(table: Table) -> list[str]:
    """Return the columns, quoted, by which a row of ``table`` is known: the span id, else all of them."""
    names = ["span_id"] if table in (ATTEMPTS, SPANS, BEGUN) else table.names
    return [quote_identifier(name) for name in names]


def insert_losses(con: DuckDBPyConnection, space: str, losses: Sequence[Loss]) -> None:
    """Insert ``losses`` into the table of the schema or database ``space``."""
    if losses:
        placeholders = ", ".join("?" for _ in LOSSES.names)
        names = ", ".join(quote_identifier(name) for name in LOSSES.names)
        rows = [_row(loss) for loss in losses]
        con.executemany(f"INSERT INTO {space}.{LOSSES.name} ({names}) VALUES ({placeholders})", rows)


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
