"""One step of a fold, or all steps at once, for a caller that holds the lock: lines become rows, folded journals are removed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import duckdb

from tooltrace.core.records import Loss
from tooltrace.errors import StoreDamaged, StoreError
from tooltrace.store.database import recovery
from tooltrace.store.database.connection import attach, checkpoint, connect, detach, explained
from tooltrace.store.database.migrations import migrate
from tooltrace.store.database.schema import EXPORTS, STORE, quote_literal
from tooltrace.store.erase import erasure, tombstones
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import scratch, sweep
from tooltrace.store.fold.begun_calls import Running
from tooltrace.store.fold.folded_journals import drop_stale_offsets, known_offsets, remove_folded
from tooltrace.store.fold.insertion import MAX_STEP_BYTES, commit_staged, drop_forgotten, insert_lines, settle_begun
from tooltrace.store.fold.staging import Staging, insert_losses
from tooltrace.store.journal import fold_marker
from tooltrace.store.journal.line_scan import JournalBatch

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


MEMORY_BYTES: Final = 112 * 1024 * 1024
"""DuckDB's limit for the memory of a fold; beyond it, DuckDB writes to temporary files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldReport:
    """The result of a fold, in numbers."""

    rows: int = 0
    """New rows in the database, not counting losses."""
    losses: int = 0
    """Lines that this fold found torn, damaged or unreadable."""
    bytes: int = 0
    """Journal bytes that were read."""
    forgotten: int = 0
    """Records that were not stored, because they were forgotten before; see ``tooltrace.store.erase.tombstones``."""
    removed: int = 0
    """Journals that were removed: wholly folded, without a living writer, and not needed by any destination."""
    salvaged: int = 0
    """Rows recovered from a damaged database that was quarantined."""
    seconds: float = 0.0

    def plus(self, step: FoldReport) -> FoldReport:
        """Return the numbers of this fold and of its next step."""
        return FoldReport(**{each.name: getattr(self, each.name) + getattr(step, each.name) for each in fields(self)})


class FoldStep(NamedTuple):
    """The result of one step."""

    report: FoldReport
    offsets: dict[str, int]
    """Byte offset to which each journal is folded now."""
    is_last: bool
    """Whether the step reached the end of the journals."""
    running: Running
    """The calls that run on this machine."""


def connect_to_fold(paths: StorePaths) -> DuckDBPyConnection:
    """Return a connection with the settings of a fold of the store ``paths``."""
    con = connect(paths)
    con.execute("SET threads = 1")  # costs less CPU time, and leaves the other cores to the program that is traced
    con.execute(f"SET memory_limit = '{MEMORY_BYTES} B'")
    return con


def merge_row_groups(con: DuckDBPyConnection, *, allowed: bool) -> None:
    """Choose whether a commit of ``con`` merges small row groups, which takes up to a second of CPU time now and then."""
    con.execute("RESET max_vacuum_tasks" if allowed else "SET max_vacuum_tasks = 0")


@contextmanager
def attached(con: DuckDBPyConnection, paths: StorePaths) -> Iterator[None]:
    """Attach the database to ``con``, migrated to the current schema, until the block ends. Raises StoreError."""
    try:
        attach(con, paths, read_only=False)
        migrate(con, paths.database)
        yield
        checkpoint(con)
    except duckdb.Error as error:
        raise explained(error, paths.database) from error
    finally:
        with contextlib.suppress(duckdb.Error):
            detach(con)


def fold_step(
    con: DuckDBPyConnection,
    paths: StorePaths,
    is_enough: Callable[[int], bool],
    losses: Sequence[Loss] = (),
    until: Mapping[str, int] | None = None,
) -> FoldStep:
    """Fold lines until ``is_enough`` of the bytes that were read. ``losses``: further losses to store.

    ``until``: sizes of the journals at an earlier time; lines that were written later are left to a later fold.
    Raises duckdb.Error and OSError.
    """
    offsets = known_offsets(con, paths)
    inserted = insert_lines(con, paths, offsets, is_enough, losses, until)
    lost, running = settle_begun(con, paths, offsets)
    # before a journal is removed: a commit alone writes nothing to the file
    checkpoint(con)
    # a forgotten line must not stay on the disk until its journal is removed, which may be long after
    if inserted.forgotten:
        erasure.update_fingerprints(con, paths, erasure.blank_journals(paths, tombstones.load(paths)))
    removed = remove_folded(paths, offsets)
    if undelivered := [loss for found in removed.values() for loss in found]:
        insert_losses(con, STORE, undelivered)
        checkpoint(con)
    # the files go before their offsets: a journal without an offset would be read again after a kill in between
    drop_stale_offsets(con, paths, offsets)
    report = FoldReport(
        rows=inserted.rows + lost,
        losses=sum(loss.count for loss in inserted.batch.losses),
        bytes=inserted.batch.bytes,
        forgotten=inserted.forgotten,
        removed=len(removed),
    )
    return FoldStep(report, offsets, inserted.is_last, running)


def fold_locked(paths: StorePaths, *, verify: bool = False) -> FoldReport:
    """Fold everything at once, for a caller that already holds the lock exclusively.

    ``verify``: also read the complete database to find damage.
    """
    started = time.monotonic()
    sweep(paths)
    damage = FoldDamage(verify=verify)
    while True:
        try:
            report = _fold_once(paths, damage)
        except StoreDamaged as error:
            if len(damage.losses) >= recovery.ATTEMPTS:
                raise
            aside, loss = recovery.quarantine(paths, error, forced=damage.verify)
            damage.losses.append(loss)
            # the rows of a write-ahead log are not salvaged: their lines are still in the journals
            damage.aside = None if aside.suffix == ".wal" else aside
        else:
            erasure.complete(paths)
            return replace(report, seconds=time.monotonic() - started)


@dataclass(slots=True)
class FoldDamage:
    """The damage to the database that a fold has found so far."""

    verify: bool
    losses: list[Loss] = field(default_factory=list)
    aside: Path | None = None
    """The quarantined database whose rows are to be recovered."""


def _fold_once(paths: StorePaths, damage: FoldDamage) -> FoldReport:
    con = connect_to_fold(paths)
    try:
        paths.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
        recovery.remove_empty_file(paths)
        with attached(con, paths):
            if damage.verify:
                recovery.verify_blocks(con)
            report = FoldReport(salvaged=_import_salvaged(con, paths, damage.aside) if damage.aside else 0)
            losses, is_last = damage.losses, False
            while not is_last:
                step, offsets, is_last, running = fold_step(con, paths, lambda read: read >= MAX_STEP_BYTES, losses)
                report, losses = report.plus(step), []
    except OSError as error:
        raise StoreError(f"cannot fold the store {paths.database}: {error}") from error
    finally:
        con.close()
    fold_marker.write_marker(paths, offsets, running)
    return report


def _import_salvaged(con: DuckDBPyConnection, paths: StorePaths, aside: Path) -> int:
    """Insert the readable rows of a damaged database; return their number."""
    staging = Staging(con, scratch(paths))
    rows = 0
    forgotten = tombstones.load(paths)
    for table, file in recovery.salvage(aside, scratch(paths)):
        if table is EXPORTS:  # no journal has it
            con.execute(
                f"INSERT INTO {STORE}.{table.name} BY NAME SELECT * FROM read_parquet({quote_literal(str(file))})"
            )
            continue
        # a transaction for each piece: the new database has no offsets, so the fold after this reads all journals from
        # their beginning, and leaves out what is here already
        staging.load_rows(table, file)
        drop_forgotten(staging, paths, forgotten)
        staging.drop_known()
        rows += staging.count(table)
        commit_staged(con, staging, JournalBatch())
        staging.clear()
    return rows
