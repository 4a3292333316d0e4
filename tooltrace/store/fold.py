"""Folding: the transfer of each journal line into the database, exactly once."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.core.records import Loss
from tooltrace.errors import StoreDamaged, StoreError, StoreLocked
from tooltrace.store import corrections, delivery_cursors, erasure, fold_marker, recovery, tombstones
from tooltrace.store.connection import attach, connect, detach, explained
from tooltrace.store.file_lock import Lock
from tooltrace.store.first_use import check_database
from tooltrace.store.journal_scan import FoldedJournal, JournalBatch, batches, is_abandoned, open_journal, valid_offsets
from tooltrace.store.migrations import migrate
from tooltrace.store.paths import StorePaths
from tooltrace.store.schema import RECORDS, STORE
from tooltrace.store.staging import SPACE, TEMP_SUFFIX, Staging
from tooltrace.store.tombstones import Tombstones

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_THREADS: Final = 4


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


def fold(path: str | os.PathLike[str] | StorePaths, *, wait: float | None = None) -> FoldReport:
    """Move the records in the journals of the store ``path`` into its database.

    ``wait``: seconds to wait for readers and other folds; None waits without limit.
    Raises StoreLocked where that time was not enough or another program has the database open, and StoreError where
    the database is newer than this version or cannot be written. A damaged database is quarantined and rebuilt.
    """
    paths = StorePaths.of(path)
    check_database(paths)
    lock = Lock(paths)
    try:
        if not lock.has_file:
            raise StoreError(f"cannot fold the store {paths.database}: its directory does not exist or is not writable")
        if not lock.exclusive(wait):
            raise StoreLocked(f"the store {paths.database} is being read or folded by another process: try again")
        return fold_locked(paths)
    finally:
        lock.release()


def fold_locked(paths: StorePaths, *, verify: bool = False) -> FoldReport:
    """Fold as ``fold`` does, for a caller that already holds the lock exclusively.

    ``verify``: also read the complete database to find damage.
    """
    started = time.monotonic()
    _remove_leftovers(paths)
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
    con = connect()
    try:
        paths.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
        recovery.remove_empty_file(paths)
        attach(con, paths, read_only=False)
        report, offsets = _fold_into(con, paths, damage)
    except duckdb.Error as error:
        raise explained(error, paths.database) from error
    except OSError as error:
        raise StoreError(f"cannot fold the store {paths.database}: {error}") from error
    finally:
        with contextlib.suppress(duckdb.Error):
            detach(con)
        con.close()
    fold_marker.write_marker(paths, offsets)
    return report


def _fold_into(con: DuckDBPyConnection, paths: StorePaths, damage: FoldDamage) -> tuple[FoldReport, dict[str, int]]:
    con.execute(f"SET threads = {min(_THREADS, os.cpu_count() or 1)}")
    migrate(con, str(paths.database))
    if damage.verify:
        recovery.verify_blocks(con)
    salvaged = _import_salvaged(con, paths, damage.aside) if damage.aside else 0
    report, offsets = _insert_all(con, paths, damage.losses)
    con.execute(f"CHECKPOINT {STORE}")  # before a journal is removed: a bad write-ahead log then loses nothing
    if report.forgotten:
        erasure.blank_journals(paths, tombstones.load(paths))
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


def _remove_leftovers(paths: StorePaths) -> None:
    """Remove temporary files of killed folds and readers.

    The exclusive lock guarantees that no live process uses such a file.
    """
    with contextlib.suppress(OSError):
        for path in paths.journal.glob(f".*{TEMP_SUFFIX}"):
            path.unlink(missing_ok=True)
