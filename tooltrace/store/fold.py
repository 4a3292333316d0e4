"""Folding: journal lines into the database, exactly once."""

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
from tooltrace.store import delivery_cursors, fold_marker, recovery
from tooltrace.store.columns import RECORDS
from tooltrace.store.connection import attach, connect, detach, explained
from tooltrace.store.file_lock import Lock
from tooltrace.store.journal_scan import JournalBatch, batches, is_abandoned, open_journal
from tooltrace.store.migrations import migrate
from tooltrace.store.paths import StorePaths
from tooltrace.store.schema import STORE
from tooltrace.store.staging import SPACE, TEMP_SUFFIX, Staging

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_THREADS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldReport:
    """What a fold did."""

    rows: int = 0
    """Rows that are new in the database, losses not counted."""
    losses: int = 0
    """Lines that this fold found torn, damaged or unreadable."""
    bytes: int = 0
    """Bytes of journal that were read."""
    removed: int = 0
    """Journals that were removed because all of them is in the database, nobody writes them, and every destination has
    what is in them."""
    salvaged: int = 0
    """Rows taken over from a damaged database that was put aside."""
    seconds: float = 0.0


def fold(path: str | os.PathLike[str] | StorePaths, *, wait: float | None = None) -> FoldReport:
    """Move what the journals of the store ``path`` hold into its database.

    ``wait``: seconds to wait for readers and other folds; None: however long it takes.
    Raises StoreLocked where that did not do or a foreign program holds the database, StoreError where the
    database is newer than this version or cannot be written. A damaged database is put aside and rebuilt.
    """
    paths = StorePaths.of(path)
    lock = Lock(paths)
    try:
        if not lock.real:
            raise StoreError(f"the store {paths.database} cannot be folded: its directory is not there or not writable")
        if not lock.exclusive(wait):
            raise StoreLocked(f"the store {paths.database} is being read or folded by others; try again")
        return fold_locked(paths)
    finally:
        lock.release()


def fold_locked(paths: StorePaths, *, whole: bool = False) -> FoldReport:
    """As ``fold``, for who holds the lock exclusively already. ``whole``: read the whole database for damage."""
    started = time.monotonic()
    _remove_leftovers(paths)
    harm = FoldDamage(whole=whole)
    while True:
        try:
            report = _fold_once(paths, harm)
        except StoreDamaged as error:
            if len(harm.losses) >= recovery.ATTEMPTS:
                raise
            aside, loss = recovery.quarantine(paths, error, asked=harm.whole)
            harm.losses.append(loss)
            harm.aside = None if aside.suffix == ".wal" else aside
        else:
            return replace(report, seconds=time.monotonic() - started)


@dataclass(slots=True)
class FoldDamage:
    """What a fold met with so far, beside the journals."""

    whole: bool
    losses: list[Loss] = field(default_factory=list)
    aside: Path | None = None
    """The damaged database whose rows are wanted."""


def _fold_once(paths: StorePaths, harm: FoldDamage) -> FoldReport:
    con = connect()
    try:
        paths.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
        recovery.remove_empty_file(paths)
        attach(con, paths, read_only=False)
        report, offsets = _fold_into(con, paths, harm)
    except duckdb.Error as error:
        raise explained(error, paths.database) from error
    except OSError as error:
        raise StoreError(f"the store {paths.database} cannot be folded: {error}") from error
    finally:
        with contextlib.suppress(duckdb.Error):
            detach(con)
        con.close()
    fold_marker.write_marker(paths, offsets)
    return report


def _fold_into(con: DuckDBPyConnection, paths: StorePaths, harm: FoldDamage) -> tuple[FoldReport, dict[str, int]]:
    con.execute(f"SET threads = {min(_THREADS, os.cpu_count() or 1)}")
    migrate(con, str(paths.database))
    if harm.whole:
        recovery.verify_blocks(con)
    salvaged = _import_salvaged(con, paths, harm.aside) if harm.aside else 0
    report, offsets = _insert_all(con, paths, harm.losses)
    con.execute(f"CHECKPOINT {STORE}")  # before a journal goes: a bad write-ahead log then loses nothing
    removed = _remove_folded(paths, offsets)
    _count_missed(con, paths, removed)
    _drop_stale_offsets(con, paths, offsets)
    return replace(report, removed=len(removed), salvaged=salvaged), offsets


def _import_salvaged(con: DuckDBPyConnection, paths: StorePaths, aside: Path) -> int:
    """Insert what can be read of a damaged database; rows."""
    staging = Staging(con, paths.journal)
    rows = 0
    for table, file in recovery.salvage(aside, paths.journal):
        staging.load_rows(table, file)
        staging.drop_known()
        rows += staging.count(table)
        _commit(con, staging, JournalBatch())
        staging.clear()
    return rows


def _insert_all(con: DuckDBPyConnection, paths: StorePaths, found: list[Loss]) -> tuple[FoldReport, dict[str, int]]:
    offsets = known_offsets(con)
    staging = Staging(con, paths.journal)
    rows = losses = read = 0
    for batch in _prepend_losses(found, batches(paths, offsets)):
        staging.load(batch)
        staging.drop_known()
        rows += _commit(con, staging, batch)
        losses += sum(loss.count for loss in batch.losses)
        read += batch.bytes
        offsets.update(batch.offsets)
        staging.clear()
    return FoldReport(rows=rows, losses=losses, bytes=read), offsets


def _prepend_losses(found: list[Loss], rest: Iterator[JournalBatch]) -> Iterator[JournalBatch]:
    """``found``, losses that no journal tells of, and then the rest."""
    if found:
        yield JournalBatch(losses=list(found))
    yield from rest


def _commit(con: DuckDBPyConnection, staging: Staging, batch: JournalBatch) -> int:
    """What is staged and how far the journals are read, in one transaction; rows inserted."""
    counts = {kind: staging.count(table) for kind, table in RECORDS.items()}
    con.execute("BEGIN")
    try:
        for kind, table in RECORDS.items():
            if counts[kind]:
                con.execute(f"INSERT INTO {STORE}.{table.name} BY NAME SELECT * FROM {SPACE}.{table.name}")
        if batch.offsets:
            names = list(batch.offsets)
            con.execute(f"DELETE FROM {STORE}.journals WHERE list_contains(?, name)", [names])
            con.executemany(f"INSERT INTO {STORE}.journals VALUES (?, ?)", list(batch.offsets.items()))
        con.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise
    return sum(count for kind, count in counts.items() if kind != "loss")


def known_offsets(con: DuckDBPyConnection) -> dict[str, int]:
    """How far each journal is in the database attached as ``store``."""
    return dict(con.execute(f"SELECT name, max(folded_bytes) FROM {STORE}.journals GROUP BY name").fetchall())


def _remove_folded(paths: StorePaths, offsets: dict[str, int]) -> dict[str, list[Loss]]:
    """Remove the journals that are folded whole, whose owner is gone, and that no destination waits for; with what
    destinations missed that are too far behind."""
    removed: dict[str, list[Loss]] = {}
    wanted, missed = delivery_cursors.retained_journals(paths)
    for name, size in paths.journals().items():
        if size > offsets.get(name, 0) or name in wanted:
            continue
        path = paths.journal / name
        fd = open_journal(path)
        if fd is None:
            continue
        try:
            if is_abandoned(fd) and os.fstat(fd).st_size <= offsets.get(name, 0):
                losses = [_missed(fd, who, name, starts[name]) for who, starts in missed.items() if name in starts]
                path.unlink(missing_ok=True)
                removed[name] = losses
        except OSError:  # it may not be ours to remove; it stays folded
            pass
        finally:
            os.close(fd)
    return removed


def _missed(fd: int, destination: str, name: str, start: int) -> Loss:
    """The records of the journal open as ``fd`` that ``destination`` was not given; the store has them."""
    lines = 0
    while data := os.pread(fd, 1 << 20, start):
        lines += data.count(b"\n")
        start += len(data)
    return Loss(reason="export_overflow", count=lines, at=datetime.now(UTC), detail=f"{destination}: {name}")


def _count_missed(con: DuckDBPyConnection, paths: StorePaths, removed: dict[str, list[Loss]]) -> None:
    losses = [loss for found in removed.values() for loss in found]
    if losses:
        staging = Staging(con, paths.journal)
        staging.load(JournalBatch(losses=losses))
        _commit(con, staging, JournalBatch())
        con.execute(f"CHECKPOINT {STORE}")


def _drop_stale_offsets(con: DuckDBPyConnection, paths: StorePaths, offsets: dict[str, int]) -> None:
    """Drop the offsets of journals that are gone, from ``offsets`` too."""
    present = paths.journals()
    gone = [name for name in offsets if name not in present]
    if gone:
        con.execute(f"DELETE FROM {STORE}.journals WHERE list_contains(?, name)", [gone])
        con.execute(f"CHECKPOINT {STORE}")
    for name in gone:
        del offsets[name]


def _remove_leftovers(paths: StorePaths) -> None:
    """Temporary files of folds and readers that were killed: nobody else is at work while we hold the lock."""
    with contextlib.suppress(OSError):
        for path in paths.journal.glob(f".*{TEMP_SUFFIX}"):
            path.unlink(missing_ok=True)
