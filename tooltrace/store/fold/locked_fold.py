"""A fold of everything at once, for a caller that holds the lock; it rebuilds a damaged database."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tooltrace.core.records import Loss
from tooltrace.errors import StoreDamaged, StoreError
from tooltrace.store.database import recovery
from tooltrace.store.database.schema import EXPORTS, STORE, quote_literal
from tooltrace.store.erase import erasure, tombstones
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import scratch, sweep
from tooltrace.store.fold.fold_step import FoldReport, attached, connect_to_fold, fold_step
from tooltrace.store.fold.insertion import MAX_STEP_BYTES, commit_staged, drop_forgotten
from tooltrace.store.fold.staging import Staging
from tooltrace.store.journal import fold_marker
from tooltrace.store.journal.line_scan import JournalBatch

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


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
