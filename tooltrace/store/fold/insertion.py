"""The insertion of journal lines into the attached database: each record once, together with the offsets.

New lines are inserted into the tables themselves, in one transaction, and compared with the other rows before it is
committed. Where a line is not a record, or a record is already there, the transaction is rolled back, and the lines are
staged in memory, where such a line or row is left out. A store with tombstones always stages: no forgotten record may
reach the file of the database.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.core.records import Loss
from tooltrace.store.database import corrections, hashes
from tooltrace.store.database.schema import (
    ATTEMPTS,
    BEGUN,
    CORRECTIONS,
    LOSSES,
    RECORDS,
    STORE,
    Table,
    quote_identifier,
)
from tooltrace.store.erase import tombstones
from tooltrace.store.erase.tombstones import Tombstones
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import scratch
from tooltrace.store.fold.begun_calls import (
    Running,
    drop_ended,
    gone_processes,
    lost_attempts,
    replaced_by_end,
)
from tooltrace.store.fold.folded_journals import store_offsets
from tooltrace.store.fold.line_files import LineFile, is_about_values
from tooltrace.store.fold.staging import SPACE, Staging, insert_losses, key_columns
from tooltrace.store.journal.line_scan import JournalBatch, batches

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STEP_CALLS: Final = 400_000
"""Calls after which a transaction ends: three of DuckDB's row groups and a part of one.

A checkpoint merges the parts that several transactions left, and then writes up to three row groups anew. It cannot
where three full ones lie between two parts.
"""
MAX_STEP_BYTES: Final = 256 * 1024 * 1024
"""Maximum journal bytes that one transaction inserts."""
ROW_GROUP_ROWS: Final = 122_880
"""Rows that DuckDB compresses together."""
FILE_BYTES: Final = 8 * 1024 * 1024
"""Bytes of lines that one statement inserts; a statement has a fixed cost of milliseconds."""
STAGED_BYTES: Final = 32 * 1024 * 1024
"""Maximum bytes of lines that are staged at once."""


@dataclass(slots=True)
class Insertion:
    """The lines of one transaction."""

    batch: JournalBatch = field(default_factory=JournalBatch)
    """The offsets, losses and bytes of the lines; not the lines themselves."""
    rows: int = 0
    """New rows in the database, not counting losses."""
    forgotten: int = 0
    """Records that were left out, because they were forgotten before."""
    is_last: bool = False
    """Whether the journals had no further lines."""

    def add(self, batch: JournalBatch) -> None:
        """Add the offsets, losses and bytes of ``batch``."""
        self.batch.offsets.update(batch.offsets)
        self.batch.fingerprints.update(batch.fingerprints)
        self.batch.losses += batch.losses
        self.batch.bytes += batch.bytes


def insert_lines(
    con: DuckDBPyConnection,
    paths: StorePaths,
    offsets: dict[str, int],
    is_enough: Callable[[int], bool],
    losses: Sequence[Loss] = (),
    until: Mapping[str, int] | None = None,
) -> Insertion:
    """Insert the lines beyond ``offsets``, until ``is_enough`` of the bytes that were read, and advance ``offsets``.

    ``losses``: further losses to store. ``until``: as for ``journal_scan.batches``. One transaction makes this
    exactly-once: after a kill, either the rows and the offsets are in the database, or none of them. Raises duckdb.Error
    and OSError.
    """
    forgotten = tombstones.load(paths)
    done = Insertion(JournalBatch(losses=list(losses)))
    if forgotten or not _insert_directly(con, paths, batches(paths, offsets, until), is_enough, done):
        # as many bytes as were read in vain: staged rows are in memory, and the cause is among these lines
        limit = min(STAGED_BYTES, done.batch.bytes or STAGED_BYTES)
        done = Insertion(JournalBatch(losses=list(losses)))
        lines = batches(paths, offsets, until)
        _insert_staged(con, paths, lines, lambda read: read >= limit or is_enough(read), done, forgotten)
    offsets.update(done.batch.offsets)
    return done


def commit_staged(con: DuckDBPyConnection, staging: Staging, batch: JournalBatch) -> int:
    """Insert the staged rows and store the batch's offsets in one transaction; return the number of rows.

    The number does not include losses.
    """
    counts = {kind: staging.count(table) for kind, table in RECORDS.items()}
    con.execute("BEGIN")
    try:
        if counts["call"]:
            if replaced := replaced_by_end(con, f"{SPACE}.{ATTEMPTS.name}"):
                con.execute(f"DELETE FROM {STORE}.{ATTEMPTS.name} WHERE list_contains(?, span_id)", [replaced])
            hashes.add_repeated(con, new=f"{SPACE}.{ATTEMPTS.name}", old=f"{STORE}.{ATTEMPTS.name}")
        for kind, table in RECORDS.items():
            if counts[kind]:
                con.execute(f"INSERT INTO {STORE}.{table.name} BY NAME SELECT * FROM {SPACE}.{table.name}")
        if counts["call"] or counts["correction"]:
            corrections.apply_stored(con, _staged)
        if counts["call"] or counts["begun"]:
            drop_ended(con, f"{STORE}.{BEGUN.name}", f"{STORE}.{ATTEMPTS.name}", _staged)
        store_offsets(con, batch)
        con.execute("COMMIT")
    except BaseException:
        _roll_back(con)
        raise
    return sum(count for kind, count in counts.items() if kind != "loss")


def _staged(table: Table) -> str:
    return f"{SPACE}.{table.name}"


def settle_begun(con: DuckDBPyConnection, paths: StorePaths, offsets: Mapping[str, int]) -> tuple[int, Running]:
    """Make lost attempts of the calls whose process is gone and whose end never came; see ``tooltrace.store.fold.begun_calls``.

    ``offsets``: how far each journal is folded. Returns the number of lost attempts, and the calls that still run. Does nothing after a fold that did the same.
    """
    gone, running = gone_processes(con, paths, offsets)
    rows = 0
    if gone:
        staging = Staging(con, scratch(paths))
        staging.load_query(ATTEMPTS, lost_attempts(gone))
        staging.drop_known()
        rows = commit_staged(con, staging, JournalBatch())
        staging.clear()
    return rows, running


def drop_forgotten(staging: Staging, paths: StorePaths, before: Tombstones) -> tuple[int, Tombstones]:
    """Remove the staged rows that were forgotten; return their number, and all tombstones now."""
    count, after = staging.drop_forgotten(before)
    tombstones.add_late(paths, before, after)
    return count, after


def _insert_staged(
    con: DuckDBPyConnection,
    paths: StorePaths,
    lines: Iterator[JournalBatch],
    is_enough: Callable[[int], bool],
    done: Insertion,
    forgotten: Tombstones,
) -> None:
    staging = Staging(con, scratch(paths))
    staging.load(done.batch)
    for batch in lines:
        staging.load(batch)
        done.add(batch)
        if is_enough(done.batch.bytes):
            break
    else:
        done.is_last = True
    done.forgotten, _ = drop_forgotten(staging, paths, forgotten)
    staging.drop_known()
    done.rows = commit_staged(con, staging, done.batch)
    staging.clear()


def _insert_directly(
    con: DuckDBPyConnection,
    paths: StorePaths,
    lines: Generator[JournalBatch, None, None],
    is_enough: Callable[[int], bool],
    done: Insertion,
) -> bool:
    """Insert the lines into the tables themselves; return False where they must be staged."""
    con.execute("BEGIN")
    try:
        with closing(_NewRows(con, scratch(paths))) as new, closing(lines):
            for batch in lines:
                new.insert(batch)
                done.add(batch)
                if new.calls >= STEP_CALLS or is_enough(done.batch.bytes):
                    break
            else:
                done.is_last = True
            new.insert_rest()
        # after the insertion: nearly always every line is new, and to stage all of them first would cost more
        if new.has_known():
            _roll_back(con)
            return False
        done.rows = new.rows
        insert_losses(con, STORE, done.batch.losses)
        if new.has(ATTEMPTS):
            hashes.add_repeated(con, new=new.source(ATTEMPTS), old=new.earlier(ATTEMPTS))
        if new.has(ATTEMPTS) or new.has(CORRECTIONS):
            corrections.apply_stored(con, new.source)
        if new.has(ATTEMPTS) or new.has(BEGUN):
            drop_ended(con, f"{STORE}.{BEGUN.name}", f"{STORE}.{ATTEMPTS.name}", new.source)
        store_offsets(con, done.batch)
        if done.rows >= ROW_GROUP_ROWS:  # leaves row groups as they are; smaller transactions merge what they can
            con.execute("SET max_vacuum_tasks = 0")
        con.execute("COMMIT")
    except BaseException as error:
        _roll_back(con)
        if isinstance(error, duckdb.Error) and is_about_values(error):
            return False
        raise
    return True


class _NewRows:
    """The rows that the current transaction adds to the store. ``close`` removes the temporary files."""

    def __init__(self, con: DuckDBPyConnection, directory: Path) -> None:
        self.rows = 0
        """Number of the rows, not counting losses."""
        self.calls = 0
        """Number of the calls, with those that are not inserted yet."""
        self._con = con
        self._directory = directory
        self._files: dict[str, LineFile] = {}
        """Lines that are not inserted yet, by kind."""
        self._last: dict[str, int] = {}
        """Greatest row id of each table before the insertion, by the table's name."""

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def insert(self, batch: JournalBatch) -> None:
        """Insert the lines of ``batch``, now or with later ones. Raises duckdb.Error and OSError."""
        for kind, lines in batch.lines.items():
            if lines:
                file = self._files.get(kind) or self._files.setdefault(kind, LineFile(self._directory))
                file.write(lines)
                self.calls += len(lines) if RECORDS[kind] is ATTEMPTS else 0
                if file.bytes >= FILE_BYTES:
                    self._insert(RECORDS[kind], file)

    def insert_rest(self) -> None:
        """Insert all lines that are not inserted yet. Raises duckdb.Error."""
        for kind, file in self._files.items():
            if file.bytes:
                self._insert(RECORDS[kind], file)

    def _insert(self, table: Table, file: LineFile) -> None:
        # DuckDB numbers rows in the order of their insertion: the new ones are those beyond the greatest id
        if table.name not in self._last:
            found = self._con.execute(f"SELECT coalesce(max(rowid), -1) FROM {STORE}.{table.name}").fetchone()
            self._last[table.name] = found[0] if found else -1
        count = file.insert(self._con, table, STORE)
        self.rows += count if table is not LOSSES else 0

    def has(self, table: Table) -> bool:
        """Whether there are new rows of ``table``."""
        return table.name in self._last

    def source(self, table: Table) -> str:
        """Return the new rows of ``table`` in SQL."""
        limit = f"WHERE rowid > {self._last[table.name]}" if self.has(table) else "LIMIT 0"
        return f"(SELECT * FROM {STORE}.{table.name} {limit})"

    def earlier(self, table: Table) -> str:
        """Return the rows of ``table`` from before the insertion in SQL; there are new ones."""
        return f"(SELECT * FROM {STORE}.{table.name} WHERE rowid <= {self._last[table.name]})"

    def has_known(self) -> bool:
        """Whether a new row is there twice, or was in the store before."""
        return any(self._has_known(table) for table in RECORDS.values() if self.has(table))

    def _has_known(self, table: Table) -> bool:
        time, keys = quote_identifier(table.time), key_columns(table)
        stored, new = f"{STORE}.{table.name}", f"rowid > {self._last[table.name]}"
        twice = f"SELECT 1 FROM {stored} WHERE {new} GROUP BY {', '.join(keys)} HAVING count(*) > 1 LIMIT 1"
        if self._con.execute(twice).fetchone():
            return True
        range_ = self._con.execute(f"SELECT min({time}), max({time}) FROM {stored} WHERE {new}").fetchone()
        is_same = " AND ".join(f"known.{key} IS NOT DISTINCT FROM new.{key}" for key in keys)
        known = (  # the range lets DuckDB skip the row groups of other times
            f"SELECT 1 FROM {stored} AS known JOIN {self.source(table)} AS new ON {is_same} "
            f"WHERE NOT known.{new} AND known.{time} BETWEEN ? AND ? LIMIT 1"
        )
        return self._con.execute(known, range_).fetchone() is not None


def _roll_back(con: DuckDBPyConnection) -> None:
    with contextlib.suppress(duckdb.Error):
        con.execute("ROLLBACK")
