"""The places of the files that exports and backups wrote, so that forgetting and redaction find these copies."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tooltrace.store.database.connection import opened
from tooltrace.store.database.schema import EXPORTS, STORE
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import sweep_file
from tooltrace.store.fold.fold_step import fold_locked
from tooltrace.store.upkeep.exclusive import existing, locked

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BACKUP: Final = "duckdb"
"""The format of a backup."""
WAIT_SECONDS: Final = 10.0
"""Seconds that a note waits for readers and folds."""
_TABLE: Final = f"{STORE}.{EXPORTS.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    """A file or folder that an export or a backup wrote."""

    path: Path
    format: str
    """The destination's name, such as ``parquet``; ``duckdb`` for a backup."""
    written_at: datetime
    """Time when the latest export to this path began, UTC."""


def note_export(
    path: str | os.PathLike[str] | StorePaths, file: Path, form: str, *, wait: float | None = WAIT_SECONDS
) -> None:
    """Note in the store ``path`` that ``file`` is about to be written as ``form``; the content is not noted.

    A note before the export is there even if the export is killed. ``wait``: seconds to wait for readers and folds.
    Raises StoreMissing, StoreBusy, StoreError.
    """
    paths = existing(path)
    lock = locked(paths, wait, "noting an export")
    try:
        fold_locked(paths)
        note_locked(paths, file, form)
    finally:
        lock.release()


def note_locked(paths: StorePaths, file: Path, form: str) -> None:
    """Do as ``note_export`` for a caller that holds the lock exclusively and has folded. Raises StoreError.

    Earlier notes whose files are gone from their folders are dropped.
    """
    place = file.resolve()
    with opened(paths, read_only=False) as con:
        gone = [str(each.path) for each in load_exports(con) if each.path == place or _is_gone(each.path)]
        con.execute("BEGIN")
        con.execute(f"DELETE FROM {_TABLE} WHERE list_contains(CAST(? AS VARCHAR[]), path)", [gone])
        con.execute(
            f"INSERT INTO {_TABLE} VALUES (?, ?, ?)", [str(place), form, datetime.now(UTC).replace(tzinfo=None)]
        )
        con.execute("COMMIT")


def exported_files(paths: StorePaths, *, wait: float | None = WAIT_SECONDS) -> list[ExportedFile]:
    """Return the noted files of the store, oldest first, whether they exist or not. Raises StoreBusy and StoreError."""
    lock = locked(paths, wait, "listing exports")
    try:
        fold_locked(paths)
        with opened(paths, read_only=True) as con:
            return load_exports(con)
    finally:
        lock.release()


def load_exports(con: DuckDBPyConnection) -> list[ExportedFile]:
    """Return the noted files of the database attached as ``store``, oldest first, whether they exist or not."""
    rows = con.execute(f"SELECT path, format, written_at FROM {_TABLE} ORDER BY written_at, path").fetchall()
    return [ExportedFile(path=Path(path), format=form, written_at=at.replace(tzinfo=UTC)) for path, form, at in rows]


def _is_gone(path: Path) -> bool:
    """Whether ``path`` was deleted; a path whose folder is missing too may be on a disk that is not mounted now."""
    return path.parent.is_dir() and not path.exists() and not sweep_file(path)
