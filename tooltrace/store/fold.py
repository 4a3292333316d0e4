"""Folding: the transfer of each journal line into the database, exactly once."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.core.records import Loss
from tooltrace.errors import StoreDamaged, StoreError
from tooltrace.store import corrections, delivery_cursors, erasure, fold_marker, recovery, retention, tombstones
from tooltrace.store.connection import attach, connect, detach, explained
from tooltrace.store.file_lock import Lock
from tooltrace.store.first_use import check_database
from tooltrace.store.journal_scan import FoldedJournal, JournalBatch, batches, is_abandoned, open_journal, valid_offsets
from tooltrace.store.migrations import migrate
from tooltrace.store.paths import StorePaths
from tooltrace.store.schema import RECORDS, ROLLUPS, STORE, quote_literal
from tooltrace.store.staging import SPACE, Staging, remove_leftovers
from tooltrace.store.tombstones import Tombstones

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY_BYTES: Final = 128 * 1024 * 1024
"""DuckDB's limit for the memory of a fold; beyond it, DuckDB writes to temporary files."""
MAX_STEP_BYTES: Final = 64 * 1024 * 1024
MIN_STEP_BYTES: Final = 4 * 1024 * 1024
"""Limits of the journal bytes that a step moves. A checkpoint makes small steps costly."""
HOLD_CPU_SECONDS: Final = 0.5
"""CPU time for which a step is to hold the lock; the bytes of the next step follow from the time of the last."""
WAITED_SECONDS: Final = 0.15
"""Seconds, by the clock, for which a step is to hold the lock where a reader waited during the last step."""


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
    """Records that were not stored, because they were forgotten before; see ``tooltrace.store.tombstones``."""
    removed: int = 0
    """Journals that were removed: wholly folded, without a living writer, and not needed by any destination."""
    salvaged: int = 0
    """Rows recovered from a damaged database that was quarantined."""
    seconds: float = 0.0

    def plus(self, step: FoldReport) -> FoldReport:
        """Return the numbers of this fold and of its next step."""
        return FoldReport(**{each.name: getattr(self, each.name) + getattr(step, each.name) for each in fields(self)})


@dataclass(frozen=True, slots=True)
class FoldProgress:
    """How far a fold is."""

    done: int
    """Journal bytes that this fold has moved."""
    total: int
    """Journal bytes that were to be moved when it began."""


def fold(
    path: str | os.PathLike[str] | StorePaths,
    *,
    wait: float | None = None,
    progress: Callable[[FoldProgress], None] | None = None,
) -> FoldReport:
    """Move the records in the journals of the store ``path`` into its database.

    Folds in steps, and gives the lock back after each, so that a reader waits for one step at most. What a step moved
    stays moved where a later one fails or is killed. ``wait``: seconds to wait, before each step, for readers and other
    folds; None waits without limit. ``progress`` is called after each step.
    Raises StoreBusy where that time was not enough, StoreLocked where another program has the database open, and
    StoreError where the database is newer than this version or cannot be written. A damaged database is quarantined
    and rebuilt.
    """
    paths = StorePaths.of(path)
    check_database(paths)
    total = FoldReport()
    to_do = fold_marker.unfolded_bytes(paths) if progress else 0
    lock = Lock(paths)
    try:
        if not lock.has_file:
            raise StoreError(f"cannot fold the store {paths.database}: its directory does not exist or is not writable")
        with closing(Folding(paths, lock)) as folding:
            while not folding.complete:
                report = folding.step(wait)
                if report is None:
                    raise lock.busy(wait or 0)
                total = total.plus(report)
                if progress:
                    progress(FoldProgress(total.bytes, max(to_do, total.bytes)))
    finally:
        lock.release()
    return total


class Folding:
    """A fold in steps. A step parses lines before it acquires the lock, which it then holds for a short time.

    ``lock``: a lock that is not held. ``close`` ends the fold after any step.
    """

    def __init__(self, paths: StorePaths, lock: Lock) -> None:
        self.complete = False
        """Whether the last step reached the end of the journals."""
        self._paths = paths
        self._lock = lock
        self._size = MAX_STEP_BYTES // 2
        self._offsets: dict[str, int] | None = None
        self._con: DuckDBPyConnection | None = None
        self._staging: Staging | None = None

    def step(self, wait: float | None) -> FoldReport | None:
        """Fold about as many lines as HOLD_SECONDS allow; return None where ``wait`` did not suffice for the lock.

        Raises as ``fold``.
        """
        started = time.monotonic()
        try:
            staged = self._stage()
            if not self._lock.exclusive(wait):
                staged.staging.clear()
                return None
            try:
                report = self._insert(staged)
            finally:
                self._lock.unlock()
        except BaseException as error:
            self.close()
            if isinstance(error, duckdb.Error):
                raise explained(error, self._paths.database) from error
            if isinstance(error, OSError) and not isinstance(error, StoreError):
                raise StoreError(f"cannot fold the store {self._paths.database}: {error}") from error
            raise
        return replace(report, seconds=time.monotonic() - started)

    def close(self) -> None:
        """Close the connection. A further step opens another one."""
        con, self._con, self._staging = self._con, None, None
        if con is not None:
            con.close()

    def _stage(self) -> StagedLines:
        """Parse the next lines; where they start is confirmed under the lock."""
        self._paths.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._con is None or self._staging is None:
            self._con = _connect()
            self._staging = Staging(self._con, self._paths.journal)
        if self._offsets is None:
            self._offsets = fold_marker.folded_offsets(self._paths)
        staged = StagedLines(self._staging, dict(self._offsets), JournalBatch())
        for batch in batches(self._paths, self._offsets):
            self._staging.load(batch)
            staged.add(batch)
            if staged.batch.bytes >= self._size:
                return staged
        staged.is_last = True
        return staged

    def _insert(self, staged: StagedLines) -> FoldReport:
        assert self._con is not None
        before = time.monotonic(), time.thread_time()
        remove_leftovers(self._paths.journal)
        recovery.remove_empty_file(self._paths)
        try:
            report, self._offsets = _fold_attached(self._con, self._paths, FoldDamage(verify=False), staged)
        except StoreDamaged:
            self.close()
            report, self._offsets = fold_locked(self._paths), None
            staged.is_last = staged.is_used = True
        else:
            staged.staging.clear()
            fold_marker.write_marker(self._paths, self._offsets)
        self.complete = staged.is_last and staged.is_used
        if self.complete:
            erasure.complete(self._paths)
            retention.apply_when_due(self._paths)
        if self._lock.has_waiters():
            share = WAITED_SECONDS / (time.monotonic() - before[0])
        else:
            share = HOLD_CPU_SECONDS / max(0.001, time.thread_time() - before[1])
        self._size = round(min(MAX_STEP_BYTES, max(MIN_STEP_BYTES, self._size * share)))
        return report


@dataclass(slots=True)
class StagedLines:
    """Lines that were parsed before the lock was acquired."""

    staging: Staging
    start: dict[str, int]
    """Offsets from which the journals were read."""
    batch: JournalBatch
    """The offsets, losses and bytes of the lines."""
    is_last: bool = False
    """Whether the journals had no further lines."""
    is_used: bool = False
    """Whether the lines were inserted."""

    def add(self, batch: JournalBatch) -> None:
        """Add the offsets, losses and bytes of ``batch``."""
        self.batch.offsets.update(batch.offsets)
        self.batch.fingerprints.update(batch.fingerprints)
        self.batch.losses += batch.losses
        self.batch.bytes += batch.bytes

    def is_next(self, offsets: Mapping[str, int], present: Iterable[str]) -> bool:
        """Whether these are the lines after ``offsets``.

        They are not where another fold has inserted lines or removed a journal, or where a journal was truncated.
        """
        return self.batch.offsets.keys() <= set(present) and all(
            self.start.get(name, 0) == offsets.get(name, 0) for name in present
        )


def fold_locked(paths: StorePaths, *, verify: bool = False) -> FoldReport:
    """Fold everything at once, for a caller that already holds the lock exclusively.

    ``verify``: also read the complete database to find damage.
    """
    started = time.monotonic()
    remove_leftovers(paths.journal)
    damage = FoldDamage(verify=verify)
    while True:
        try:
            report = _fold_once(paths, damage)
        except StoreDamaged as error:
            if len(damage.losses) >= recovery.ATTEMPTS:
                raise
            aside, loss = recovery.quarantine(paths, error, forced=damage.verify)
            damage.losses.append(loss)
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
    con = _connect()
    try:
        paths.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
        recovery.remove_empty_file(paths)
        report, offsets = _fold_attached(con, paths, damage, None)
    except OSError as error:
        raise StoreError(f"cannot fold the store {paths.database}: {error}") from error
    finally:
        con.close()
    fold_marker.write_marker(paths, offsets)
    return report


def _connect() -> DuckDBPyConnection:
    con = connect()
    con.execute("SET threads = 1")  # costs less CPU time, and leaves the other cores to the program that is traced
    con.execute(f"SET memory_limit = '{MEMORY_BYTES} B'")
    con.execute(f"SET wal_autocheckpoint = '{2 * MAX_STEP_BYTES} B'")  # a step has one checkpoint, at its end
    return con


def _fold_attached(
    con: DuckDBPyConnection, paths: StorePaths, damage: FoldDamage, staged: StagedLines | None
) -> tuple[FoldReport, dict[str, int]]:
    """Fold with the database attached to ``con`` for the time of the fold."""
    try:
        attach(con, paths, read_only=False)
        return _fold_into(con, paths, damage, staged)
    except duckdb.Error as error:
        raise explained(error, paths.database) from error
    finally:
        with contextlib.suppress(duckdb.Error):
            detach(con)


def _fold_into(
    con: DuckDBPyConnection, paths: StorePaths, damage: FoldDamage, staged: StagedLines | None
) -> tuple[FoldReport, dict[str, int]]:
    migrate(con, str(paths.database))
    if damage.verify:
        recovery.verify_blocks(con)
    salvaged = _import_salvaged(con, paths, damage.aside) if damage.aside else 0
    report, offsets = _insert_all(con, paths, damage.losses) if staged is None else _insert_staged(con, paths, staged)
    con.execute(f"CHECKPOINT {STORE}")  # before a journal is removed: a bad write-ahead log then loses nothing
    if report.forgotten:
        erasure.update_fingerprints(con, paths, erasure.blank_journals(paths, tombstones.load(paths)))
    removed = _remove_folded(paths, offsets)
    _record_undelivered(con, paths, removed)
    _drop_stale_offsets(con, paths, offsets)
    return replace(report, removed=len(removed), salvaged=salvaged), offsets


def _import_salvaged(con: DuckDBPyConnection, paths: StorePaths, aside: Path) -> int:
    """Insert the readable rows of a damaged database; return their number."""
    staging = Staging(con, paths.journal)
    rows = 0
    forgotten = tombstones.load(paths)
    for table, file in recovery.salvage(aside, paths.journal):
        if table is ROLLUPS:
            con.execute(
                f"INSERT INTO {STORE}.{table.name} BY NAME SELECT * FROM read_parquet({quote_literal(str(file))})"
            )
            continue
        staging.load_rows(table, file)
        _drop_forgotten(staging, paths, forgotten)
        staging.drop_known()
        rows += staging.count(table)
        commit_staged(con, staging, JournalBatch())
        staging.clear()
    return rows


def _insert_all(con: DuckDBPyConnection, paths: StorePaths, found: list[Loss]) -> tuple[FoldReport, dict[str, int]]:
    offsets = known_offsets(con, paths)
    staging = Staging(con, paths.journal)
    forgotten = tombstones.load(paths)
    rows = losses = read = dropped = 0
    for batch in _prepend_losses(found, batches(paths, offsets)):
        staging.load(batch)
        count, forgotten = _drop_forgotten(staging, paths, forgotten)
        dropped += count
        staging.drop_known()
        rows += commit_staged(con, staging, batch)
        losses += sum(loss.count for loss in batch.losses)
        read += batch.bytes
        offsets.update(batch.offsets)
        staging.clear()
    return FoldReport(rows=rows, losses=losses, bytes=read, forgotten=dropped), offsets


def _drop_forgotten(staging: Staging, paths: StorePaths, before: Tombstones) -> tuple[int, Tombstones]:
    """Remove the staged rows that were forgotten; return their number, and all tombstones now."""
    count, after = staging.drop_forgotten(before)
    tombstones.add_late(paths, before, after)
    return count, after


def _insert_staged(
    con: DuckDBPyConnection, paths: StorePaths, staged: StagedLines
) -> tuple[FoldReport, dict[str, int]]:
    """Insert the staged lines, unless another fold has changed the offsets since they were read."""
    offsets, batch = known_offsets(con, paths), staged.batch
    if not staged.is_next(offsets, paths.journals()):
        return FoldReport(), offsets
    staged.is_used = True
    if not batch.offsets:
        return FoldReport(), offsets
    dropped, _ = _drop_forgotten(staged.staging, paths, tombstones.load(paths))
    staged.staging.drop_known()
    rows = commit_staged(con, staged.staging, batch)
    offsets.update(batch.offsets)
    losses = sum(loss.count for loss in batch.losses)
    return FoldReport(rows=rows, losses=losses, bytes=batch.bytes, forgotten=dropped), offsets


def _prepend_losses(found: list[Loss], rest: Iterator[JournalBatch]) -> Iterator[JournalBatch]:
    """Yield a batch with ``found``, losses that are not in any journal, then the batches of ``rest``."""
    if found:
        yield JournalBatch(losses=list(found))
    yield from rest


def commit_staged(con: DuckDBPyConnection, staging: Staging, batch: JournalBatch) -> int:
    """Insert the staged rows and store the batch's offsets in one transaction; return the number of rows.

    One transaction makes the fold exactly-once: after a kill, either both are in the database or neither is.
    The number does not include losses.
    """
    counts = {kind: staging.count(table) for kind, table in RECORDS.items()}
    con.execute("BEGIN")
    try:
        for kind, table in RECORDS.items():
            if counts[kind]:
                con.execute(f"INSERT INTO {STORE}.{table.name} BY NAME SELECT * FROM {SPACE}.{table.name}")
        if (counts["call"] or counts["correction"]) and corrections.is_pending(con, stored=True):
            corrections.apply_stored(con)
        if batch.offsets:
            names = list(batch.offsets)
            con.execute(f"DELETE FROM {STORE}.journals WHERE list_contains(?, name)", [names])
            places = [(name, offset, batch.fingerprints[name]) for name, offset in batch.offsets.items()]
            con.executemany(f"INSERT INTO {STORE}.journals (name, folded_bytes, fingerprint) VALUES (?, ?, ?)", places)
        con.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise
    return sum(count for kind, count in counts.items() if kind != "loss")


def known_offsets(con: DuckDBPyConnection, paths: StorePaths) -> dict[str, int]:
    """Return the byte offset to which each journal is folded into the database attached as ``store``.

    The offset of a journal with other content than was folded is 0.
    """
    rows = con.execute(f"SELECT * FROM {STORE}.journals ORDER BY folded_bytes").fetchall()
    # before schema version 5 the table has no fingerprints
    return valid_offsets(paths, {name: FoldedJournal(offset, *(mark or (None,))) for name, offset, *mark in rows})


def _remove_folded(paths: StorePaths, offsets: dict[str, int]) -> dict[str, list[Loss]]:
    """Remove the journals that are wholly folded, without a living writer, and not retained for a destination.

    Returns the names of the removed journals, each with the losses of destinations that were too far behind.
    """
    removed: dict[str, list[Loss]] = {}
    retained, undelivered = delivery_cursors.retained_journals(paths)
    for name, size in paths.journals().items():
        if size > offsets.get(name, 0) or name in retained:
            continue
        path = paths.journal / name
        fd = open_journal(path)
        if fd is None:
            continue
        try:
            if is_abandoned(fd) and os.fstat(fd).st_size <= offsets.get(name, 0):
                losses = [
                    _undelivered_loss(fd, who, name, starts[name])
                    for who, starts in undelivered.items()
                    if name in starts
                ]
                path.unlink(missing_ok=True)
                removed[name] = losses
        except OSError:  # this user may not be allowed to remove it; it stays, and is known to be folded
            pass
        finally:
            os.close(fd)
    return removed


def _undelivered_loss(fd: int, destination: str, name: str, start: int) -> Loss:
    """Return the loss of the records that ``destination`` did not get from the journal open as ``fd``.

    Counts the lines from offset ``start`` on. The store itself has these records.
    """
    lines = 0
    while data := os.pread(fd, 1 << 20, start):
        lines += data.count(b"\n")
        start += len(data)
    return Loss(reason="export_overflow", count=lines, at=datetime.now(UTC), detail=f"{destination}: {name}")


def _record_undelivered(con: DuckDBPyConnection, paths: StorePaths, removed: dict[str, list[Loss]]) -> None:
    losses = [loss for found in removed.values() for loss in found]
    if losses:
        staging = Staging(con, paths.journal)
        staging.load(JournalBatch(losses=losses))
        commit_staged(con, staging, JournalBatch())
        con.execute(f"CHECKPOINT {STORE}")


def _drop_stale_offsets(con: DuckDBPyConnection, paths: StorePaths, offsets: dict[str, int]) -> None:
    """Delete the offsets of journals that no longer exist, in the database and in ``offsets``."""
    present = paths.journals()
    stale = [name for name in offsets if name not in present]
    if stale:
        con.execute(f"DELETE FROM {STORE}.journals WHERE list_contains(?, name)", [stale])
        con.execute(f"CHECKPOINT {STORE}")
    for name in stale:
        del offsets[name]
