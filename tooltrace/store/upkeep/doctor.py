"""Inspection and repair of a store. Problems of a broken store are reported, never raised."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.core.plural import format_count
from tooltrace.errors import StoreBusy, StoreDamaged, StoreError, StoreLocked
from tooltrace.store.database import recovery
from tooltrace.store.database.connection import opened
from tooltrace.store.database.first_use import check_database
from tooltrace.store.database.migrations import checked_schema, schema_of
from tooltrace.store.database.schema import RECORDS, STORE
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.file_system import network_problem
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import abandoned
from tooltrace.store.fold.fold import fold
from tooltrace.store.fold.fold_step import FoldReport, fold_locked
from tooltrace.store.fold.folded_journals import known_offsets
from tooltrace.store.journal.line_scan import batches, is_abandoned, open_journal, unreadable_journals
from tooltrace.store.journal.pending_lines import DeliveryLag, delivery_lags

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MAX_WAIT_SECONDS: Final = 10.0
"""Maximum seconds that ``mend`` waits for readers and folds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReport:
    """The state of a store. ``problems`` is empty where there is nothing to repair."""

    path: Path
    exists: bool = False
    """Whether there is a database or a journal."""
    database_bytes: int = 0
    journal_bytes: int = 0
    schema: str | None = None
    """Fingerprint of the schema; None where there is no database, or an empty one."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Rows in the database by table, without records that are not folded yet."""
    live_journals: int = 0
    """Journals that a process is writing."""
    dead_journals: int = 0
    """Journals whose writer has ended."""
    unfolded_files: int = 0
    unfolded_lines: int = 0
    """Whole lines that are not in the database yet."""
    unfolded_bytes: int = 0
    damaged: tuple[str, ...] = ()
    """Reason and place of each damaged line that is not counted in ``losses`` yet."""
    losses: Mapping[str, int] = field(default_factory=dict)
    """Number of records that could not be stored, by reason."""
    held_by: int | None = None
    """Id of a process outside tooltrace that has the database open; None where there is none or it is unknown."""
    deliveries: tuple[DeliveryLag, ...] = ()
    """State of each destination: what it has, what waits for it and why."""
    leftovers: tuple[str, ...] = ()
    """Temporary files that killed folds, readers, exports and backups left."""
    asides: tuple[str, ...] = ()
    """Damaged databases and write-ahead logs that were quarantined by renaming."""
    problems: tuple[str, ...] = ()
    """One sentence for each problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """The steps that ``mend`` took, and the state of the store afterwards."""

    done: tuple[str, ...]
    fold: FoldReport | None
    after: StoreReport


def examine(path: str | os.PathLike[str] | StorePaths) -> StoreReport:
    """Inspect the whole store at ``path`` without changing it."""
    paths = StorePaths.of(path)
    if not paths.database.exists() and not paths.journal.exists():
        return StoreReport(path=paths.database, asides=_asides(paths))
    try:
        check_database(paths)
        lock = Lock(paths)
        try:
            lock.shared()
            return _examine(paths)
        finally:
            lock.release()
    except (StoreError, OSError) as error:
        return StoreReport(path=paths.database, exists=True, asides=_asides(paths), problems=(str(error),))


def mend(path: str | os.PathLike[str] | StorePaths) -> RepairReport:
    """Repair a store: fold its journals, rebuild a damaged database, and remove temporary files.

    A damaged database or write-ahead log is renamed, never deleted. Errors are reported in ``after.problems``.
    """
    paths = StorePaths.of(path)
    before = examine(paths)
    if not before.exists:
        return RepairReport(done=(), fold=None, after=before)
    try:
        check_database(paths)
        report = _mend(paths)
    except (StoreError, OSError, duckdb.Error) as error:
        after = examine(paths)
        problems = tuple(dict.fromkeys((*after.problems, str(error))))
        return RepairReport(done=(), fold=None, after=replace(after, problems=problems))
    after = examine(paths)
    return RepairReport(done=_done(before, report, after), fold=report, after=after)


def _mend(paths: StorePaths) -> FoldReport:
    folded = FoldReport()
    try:
        folded = fold(paths, wait=MAX_WAIT_SECONDS)  # in steps, between which readers have their turn
    except StoreBusy:
        raise
    except StoreError:  # the repair has the better error
        pass
    lock = Lock(paths, activity="repairing")
    try:
        if not lock.has_file:
            raise StoreError(f"the store {paths.database} is not writable: it was not repaired")
        if not lock.exclusive(MAX_WAIT_SECONDS):
            raise lock.busy(MAX_WAIT_SECONDS)
        return folded.plus(fold_locked(paths, verify=True))
    finally:
        lock.release()


def _examine(paths: StorePaths) -> StoreReport:
    sizes = paths.journals()
    live = sum(1 for name in sizes if _is_live(paths.journal / name))
    state = StoreReport(
        path=paths.database,
        exists=paths.database.exists() or bool(sizes),
        database_bytes=paths.database.stat().st_size if paths.database.exists() else 0,
        journal_bytes=sum(sizes.values()),
        live_journals=live,
        dead_journals=len(sizes) - live,
        deliveries=delivery_lags(paths),
        leftovers=tuple(path.name for path in abandoned(paths)),
        asides=_asides(paths),
        problems=_blocking_files(paths),
    )
    state, offsets = _read_database(state, paths)
    return _with_journal_problems(_read_journals(state, paths, sizes, offsets))


def _read_database(state: StoreReport, paths: StorePaths) -> tuple[StoreReport, dict[str, int]]:
    """Return ``state`` with the content of the database, and the offset to which each journal is folded."""
    if not paths.database.exists():
        return state, {}
    try:
        with opened(paths, read_only=True) as con:
            state = replace(state, schema=schema_of(con))
            if checked_schema(con, paths.database) is None:
                return state, {}
            state = replace(state, rows=_rows(con), losses=_losses(con))
            offsets = known_offsets(con, paths)
            recovery.verify_blocks(con)
    except StoreError as error:
        return _with_problem(state, error), {}
    return state, offsets


def _with_problem(state: StoreReport, error: StoreError) -> StoreReport:
    hint = "; run tooltrace doctor --mend to move it aside and rebuild it" if isinstance(error, StoreDamaged) else ""
    held_by = error.pid if isinstance(error, StoreLocked) else None
    return replace(state, held_by=held_by, problems=(*state.problems, f"{error}{hint}"))


def _read_journals(
    state: StoreReport, paths: StorePaths, sizes: Mapping[str, int], offsets: Mapping[str, int]
) -> StoreReport:
    unfolded = [size - offsets.get(name, 0) for name, size in sizes.items() if size > offsets.get(name, 0)]
    lines = 0
    damaged: list[str] = []
    for batch in batches(paths, offsets):
        lines += sum(map(len, batch.lines.values()))
        damaged += [f"{loss.reason} in {loss.detail}" for loss in batch.losses]
    return replace(
        state,
        unfolded_files=len(unfolded),
        unfolded_bytes=sum(unfolded),
        unfolded_lines=lines,
        damaged=tuple(damaged),
    )


def _with_journal_problems(state: StoreReport) -> StoreReport:
    problems = list(state.problems)
    if state.damaged:
        problems.append(f"{len(state.damaged)} journal lines are torn or damaged: {state.damaged[0]}")
    if unreadable := unreadable_journals(StorePaths.of(state.path)):
        problems.append(
            f"this user may not read the records of other users in {', '.join(unreadable[:3])}"
            f"{f' and {len(unreadable) - 3} more' if len(unreadable) > 3 else ''}: run tooltrace doctor as a user who may"
        )
    if network := network_problem(StorePaths.of(state.path)):
        problems.append(network)
    if state.leftovers:
        problems.append(f"{len(state.leftovers)} temporary files remain from killed processes")
    return replace(state, problems=tuple(problems))


def _done(before: StoreReport, report: FoldReport, after: StoreReport) -> tuple[str, ...]:
    aside = [name for name in after.asides if name not in before.asides]
    steps = (
        (report.rows, f"folded {format_count(report.rows, 'record')} into the database"),
        (report.losses, f"counted {format_count(report.losses, 'line')} that could not be read"),
        (report.removed, f"removed {report.removed} completely folded journals"),
        (before.leftovers, f"removed {len(before.leftovers)} temporary files"),
        (aside, f"moved damaged files aside: {', '.join(aside)}"),
        (report.salvaged, f"recovered {format_count(report.salvaged, 'row')} from damaged files"),
    )
    return tuple(sentence for happened, sentence in steps if happened)


def _rows(con: DuckDBPyConnection) -> dict[str, int]:
    return {table.public: _number(con, f"SELECT count(*) FROM {STORE}.{table.name}") for table in RECORDS.values()}


def _number(con: DuckDBPyConnection, sql: str) -> int:
    row = con.execute(sql).fetchone()
    return int(row[0]) if row else 0


def _losses(con: DuckDBPyConnection) -> dict[str, int]:
    found = con.execute(f'SELECT reason, sum("count") FROM {STORE}.losses GROUP BY reason ORDER BY reason').fetchall()
    return {reason: int(count) for reason, count in found}


def _blocking_files(paths: StorePaths) -> tuple[str, ...]:
    if paths.journal.exists() and not paths.journal.is_dir():
        return (f"{paths.journal} is not a directory, so no process can record: move the file away",)
    return ()


def _is_live(path: Path) -> bool:
    fd = open_journal(path)
    if fd is None:
        return False
    try:
        return not is_abandoned(fd)
    finally:
        os.close(fd)


def _asides(paths: StorePaths) -> tuple[str, ...]:
    return tuple(path.name for path in recovery.quarantined_files(paths))
