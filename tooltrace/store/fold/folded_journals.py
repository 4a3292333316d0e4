"""The journals of a fold: how far each is in the database, and the removal of those that are wholly in it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tooltrace.core.records import Loss
from tooltrace.store.database.connection import checkpoint
from tooltrace.store.database.schema import STORE
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.syncing import sync_directory
from tooltrace.store.journal import delivery_cursors
from tooltrace.store.journal.line_scan import FoldedJournal, JournalBatch, is_abandoned, open_journal, valid_offsets

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def known_offsets(con: DuckDBPyConnection, paths: StorePaths) -> dict[str, int]:
    """Return the byte offset to which each journal is folded into the database attached as ``store``.

    The offset of a journal with other content than was folded is 0.
    """
    rows = con.execute(f"SELECT name, folded_bytes, fingerprint FROM {STORE}.journals ORDER BY folded_bytes").fetchall()
    return valid_offsets(paths, {name: FoldedJournal(offset, mark) for name, offset, mark in rows})


def store_offsets(con: DuckDBPyConnection, batch: JournalBatch) -> None:
    """Store the offsets that ``batch`` reaches, in the caller's transaction."""
    if batch.offsets:
        names = list(batch.offsets)
        con.execute(f"DELETE FROM {STORE}.journals WHERE list_contains(?, name)", [names])
        con.execute(
            f"INSERT INTO {STORE}.journals (name, folded_bytes, fingerprint) "
            "SELECT unnest(CAST(? AS VARCHAR[])), unnest(CAST(? AS BIGINT[])), unnest(CAST(? AS BIGINT[]))",
            [names, list(batch.offsets.values()), [batch.fingerprints[name] for name in names]],
        )


def remove_folded(paths: StorePaths, offsets: dict[str, int]) -> dict[str, list[Loss]]:
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
            # the size again, under the lock: the writer may have added lines before it ended
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


def drop_stale_offsets(con: DuckDBPyConnection, paths: StorePaths, offsets: dict[str, int]) -> None:
    """Delete the offsets of journals that no longer exist, in the database and in ``offsets``."""
    present = paths.journals()
    stale = [name for name in offsets if name not in present]
    if stale:
        sync_directory(paths.journal)  # a removed journal that a power cut brings back is known to be folded
        con.execute(f"DELETE FROM {STORE}.journals WHERE list_contains(?, name)", [stale])
        checkpoint(con)
    for name in stale:
        del offsets[name]


def _undelivered_loss(fd: int, destination: str, name: str, start: int) -> Loss:
    """Return the loss of the records that ``destination`` did not get from the journal open as ``fd``.

    Counts the lines from offset ``start`` on. The store itself has these records.
    """
    lines = 0
    while data := os.pread(fd, 1 << 20, start):
        lines += data.count(b"\n")
        start += len(data)
    return Loss(reason="export_overflow", count=lines, at=datetime.now(UTC), detail=f"{destination}: {name}")
