"""Exclusive use of an existing store, for commands that change it as a whole."""

from __future__ import annotations

import os

from tooltrace.errors import StoreError, StoreMissing
from tooltrace.store.database.first_use import check_database
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths


def existing(path: str | os.PathLike[str] | StorePaths) -> StorePaths:
    """Return the paths of the store ``path``. Raises StoreMissing where nothing was recorded there.

    Raises StoreError where the file there is not a store, before a lock or a journal is created beside it.
    """
    paths = StorePaths.of(path)
    check_database(paths)
    if not paths.database.exists() and not paths.journals():
        raise StoreMissing(f"found no store at {paths.database}: nothing was recorded there yet")
    return paths


def locked(paths: StorePaths, wait: float | None, activity: str) -> Lock:
    """Return the lock of a store, held exclusively for ``activity``. Raises StoreBusy after ``wait`` seconds, and StoreError."""
    lock = Lock(paths, activity)
    if not lock.has_file:
        error: StoreError = lock.no_file("lock the store")
        lock.release()
        raise error
    if not lock.exclusive(wait):
        error = lock.busy(wait or 0)
        lock.release()
        raise error
    return lock
