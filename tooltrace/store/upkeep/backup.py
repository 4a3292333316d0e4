"""Backup and restoration of a store, and its compaction: each step replaces one complete file by another."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tooltrace.errors import StoreError
from tooltrace.store.database.connection import opened
from tooltrace.store.database.migrations import checked_schema
from tooltrace.store.database.rewrite import RewriteReport, rewrite
from tooltrace.store.erase import erasure, tombstones
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import PrivateFolder
from tooltrace.store.files.syncing import sync_directory
from tooltrace.store.fold.fold_step import FoldReport, fold_locked
from tooltrace.store.upkeep.exclusive import existing, locked
from tooltrace.store.upkeep.exports import BACKUP, note_locked

WAIT_SECONDS: Final = 30.0
"""Seconds that a command waits for readers and folds by default."""


def compact(path: str | os.PathLike[str] | StorePaths, *, wait: float | None = WAIT_SECONDS) -> RewriteReport:
    """Fold the journals of the store ``path`` and rewrite its database without unused space.

    ``wait``: seconds to wait for readers and folds; None waits without limit. A kill leaves the old or the new file.
    Raises StoreMissing, StoreBusy, StoreError.
    """
    paths = existing(path)
    lock = locked(paths, wait, "compacting")
    try:
        fold_locked(paths)
        return rewrite(paths)
    finally:
        lock.release()


def backup(
    path: str | os.PathLike[str] | StorePaths,
    file: str | os.PathLike[str],
    *,
    force: bool = False,
    wait: float | None = WAIT_SECONDS,
) -> RewriteReport:
    """Copy the store ``path`` into ``file``, a database that is a complete store by itself.

    The copy has every record that was in a journal when it began; others may write meanwhile. It appears under its
    name only when it is complete and on the disk. Tombstones are copied to ``<file>.journal``, if there are any.

    ``force``: replace an existing file. Raises StoreMissing, StoreBusy, StoreError.
    """
    paths, copy = existing(path), StorePaths.of(file)
    if copy.database == paths.database:
        raise StoreError(f"{copy.database} is the store itself: name another file for the backup")
    if copy.journals():
        raise StoreError(f"{copy.database} has journals, so it is a store that is in use: name another file")
    if copy.database.exists() and not force:
        raise StoreError(f"{copy.database} exists: name another file, or replace it with --force")
    if not copy.database.parent.is_dir():
        raise StoreError(f"cannot write {copy.database}: its directory does not exist")
    lock = locked(paths, wait, "backing up")
    try:
        fold_locked(paths)
        note_locked(paths, copy.database, BACKUP)
        report = rewrite(paths, to=copy)
        copy_tombstones(paths, copy)
        return report
    finally:
        lock.release()


def restore(
    file: str | os.PathLike[str],
    path: str | os.PathLike[str] | StorePaths,
    *,
    force: bool = False,
    wait: float | None = WAIT_SECONDS,
) -> tuple[FoldReport, Path | None]:
    """Put the backup ``file`` in the place of the store ``path``; return the fold after it, and where the old file is.

    The old database is kept beside the new one as ``<store>.replaced-<time>``. Records in the journals of the store
    are folded into the restored one. What was forgotten since the backup stays forgotten.

    ``force``: replace an existing store. Raises StoreMissing, StoreBusy, StoreError.
    """
    source, paths = existing(file), StorePaths.of(path)
    _require_store(source)
    if source.database == paths.database:
        raise StoreError(f"{source.database} is the store itself: name a backup of it")
    if paths.database.exists() and not force:
        raise StoreError(f"the store {paths.database} exists: replace it with --force; the old file is kept")
    lock = locked(paths, wait, "restoring")
    try:
        # the journals are not folded into the old database: they would be removed, and the new one would lack their records
        if paths.database.exists():
            with contextlib.suppress(StoreError):  # a store that cannot be changed is replaced as it is
                erasure.complete(paths)
        copy_tombstones(source, paths)
        with PrivateFolder(paths.database.parent, paths.database.name) as folder:
            copy = folder.path / paths.database.name
            # without the records that are forgotten: no kill and no power cut brings them back
            forgotten = tombstones.load(paths)
            rewrite(source, keep=erasure.kept(forgotten), prepare=forgotten.prepare, to=StorePaths.of(copy))
            aside = _keep_aside(paths)
            copy.replace(paths.database)
        sync_directory(
            paths.database.parent
        )  # before the journals of records that only the new database has are removed
        return fold_locked(paths), aside
    except OSError as error:
        raise StoreError(f"cannot restore {paths.database}: {error}; the store was not replaced") from error
    finally:
        lock.release()


def copy_tombstones(source: StorePaths, target: StorePaths) -> None:
    """Append to ``target`` the tombstones of ``source`` that it lacks; their records are then to be removed there."""
    known = tombstones.load(target).entries
    tombstones.add(target, *(one for name, one in tombstones.load(source).entries.items() if name not in known))


def _require_store(paths: StorePaths) -> None:
    """Raise StoreError unless the database of ``paths`` is one of tooltrace, and of a known schema."""
    with opened(paths, read_only=True) as con:
        if checked_schema(con, paths.database) is None:
            raise StoreError(f"{paths.database} is a database, but not a store of tooltrace; nothing was changed")


def _keep_aside(paths: StorePaths) -> Path | None:
    """Give the old database a second name, so that a kill never leaves the store without a database."""
    if not paths.database.exists():
        return None
    aside = paths.database.with_name(f"{paths.database.name}.replaced-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
    os.link(paths.database, aside)
    if paths.wal.exists():  # of a killed process: the log belongs to the old database
        paths.wal.rename(aside.with_name(f"{aside.name}.wal"))
    return aside
