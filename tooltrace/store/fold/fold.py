"""Folding: the transfer of each journal line into the database, in steps between which readers have their turn."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.errors import StoreDamaged, StoreError
from tooltrace.store.database import recovery
from tooltrace.store.database.connection import explained
from tooltrace.store.database.first_use import check_database
from tooltrace.store.erase import erasure
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import remove_leftovers
from tooltrace.store.fold.fold_step import (
    FoldReport,
    attached,
    connect_to_fold,
    fold_locked,
    fold_step,
    merge_row_groups,
)
from tooltrace.store.fold.insertion import MAX_STEP_BYTES
from tooltrace.store.journal import fold_marker
from tooltrace.store.upkeep import retention

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WAITED_SECONDS: Final = 0.1
"""Seconds after which a step ends where a reader waits. Shorter steps would mostly open and write the database."""


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

    Folds in steps, and gives the lock back after each, so that a reader waits for the rest of one step at most, which
    then ends soon. What a step moved stays moved where a later one fails or is killed. ``wait``: seconds to wait, before
    each step, for readers and other folds; None waits without limit. ``progress`` is called after each step.
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
            raise lock.no_file("fold the store")
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
    """A fold in steps. A step holds the lock until it has moved MAX_STEP_BYTES, or until a reader waits for the lock.

    ``lock``: a lock that is not held. ``until``: sizes of the journals at an earlier time; the fold ends there, so that
    it ends where others write faster than it folds. ``close`` ends the fold after any step.
    """

    def __init__(self, paths: StorePaths, lock: Lock, until: Mapping[str, int] | None = None) -> None:
        self.complete = False
        """Whether the last step reached the end of the journals, or ``until``."""
        self._until = until
        self._paths = paths
        self._lock = lock
        self._con: DuckDBPyConnection | None = None

    def step(self, wait: float | None) -> FoldReport | None:
        """Fold the next lines; return None where ``wait`` did not suffice for the lock. Raises as ``fold``."""
        started = time.monotonic()
        if not self._lock.exclusive(wait):
            return None
        try:
            report = self._fold(time.monotonic())
        except BaseException as error:
            # the connection may have a transaction open or the database attached: the next step begins with another one
            self.close()
            if isinstance(error, duckdb.Error):
                raise explained(error, self._paths.database) from error
            if isinstance(error, OSError) and not isinstance(error, StoreError):
                raise StoreError(f"cannot fold the store {self._paths.database}: {error}") from error
            raise
        finally:
            self._lock.unlock()
        self._lock.give_way()
        return replace(report, seconds=time.monotonic() - started)

    def close(self) -> None:
        """Close the connection. A further step opens another one."""
        con, self._con = self._con, None
        if con is not None:
            con.close()

    def _fold(self, since: float) -> FoldReport:
        paths = self._paths
        paths.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_leftovers(paths.journal, "")
        recovery.remove_empty_file(paths)
        self._con = self._con or connect_to_fold(paths)
        merge_row_groups(self._con, allowed=True)
        try:
            with attached(self._con, paths):
                report, offsets, self.complete, running = fold_step(
                    self._con, paths, lambda read: self._is_enough(since, read), until=self._until
                )
        except StoreDamaged:
            self.close()
            report, self.complete = fold_locked(paths), True
        else:
            # after the detachment, which may still change the size and the time of the file: the marker has both
            fold_marker.write_marker(paths, offsets, running)
        if self.complete:
            erasure.complete(paths)
            retention.apply_when_due(paths)
        return report

    def _is_enough(self, since: float, read: int) -> bool:
        """Whether a step that holds the lock ``since`` that time ends after ``read`` bytes."""
        is_waited_for = self._lock.has_waiters()
        if is_waited_for and self._con is not None:
            merge_row_groups(self._con, allowed=False)  # the reader waits for the commit
        return read >= MAX_STEP_BYTES or (is_waited_for and time.monotonic() - since >= WAITED_SECONDS)
