"""Checks that the path of a store is not something else: another kind of file, or the database of another program.

A path is checked before anything is created beside it. Beside a store there is a lock file or a folder of journals, so
only a path without both is examined closely. Does not load DuckDB.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path
from typing import Final

from tooltrace.errors import StoreError
from tooltrace.store.files.flock import require_flock
from tooltrace.store.files.paths import StorePaths

_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)
_HEADER_BYTES: Final = 16
_SQLITE_HEADER: Final = b"SQLite format 3\x00"
SQLITE: Final = "a SQLite database"
_DUCKDB: Final = b"DUCK"


def check_location(path: str | os.PathLike[str] | StorePaths) -> None:
    """Raise StoreError where the file at ``path`` is certainly not a store, or where the system cannot lock one.

    Changes and creates nothing.
    """
    require_flock()
    paths = StorePaths.of(path)
    try:
        mode = paths.database.stat().st_mode
    except OSError:  # it does not exist, or cannot be reached: the caller's next step has a clearer error
        return
    kind = next((name for has_kind, name in _KINDS if has_kind(mode)), None)
    if kind is None and is_new(paths):
        kind = foreign_format(paths.database)
    if kind is not None:
        raise foreign(paths.database, kind)


def foreign(location: str | os.PathLike[str], kind: str) -> StoreError:
    """Return the error for a path that is ``kind`` and not a store."""
    return StoreError(
        f"{os.fspath(location)} is {kind}, not a tooltrace store: expected a DuckDB file that tooltrace created, or a "
        "path where no file exists; pass another path (store=, --store, $TOOLTRACE_STORE); nothing was changed"
    )


def foreign_format(database: Path) -> str | None:
    """Return the format of a file that is not a DuckDB file; None for one that is, is empty, or cannot be read.

    The file is not read while this process has it open: closing it would release DuckDB's lock.
    """
    if _is_open_here(database):
        return None
    try:
        with database.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError:
        return None
    if not header or header[8:12] == _DUCKDB:
        return None
    if header == _SQLITE_HEADER:
        return SQLITE
    text = all(byte >= 32 or byte in b"\t\n\r" for byte in header)
    return "a text file" if text else "a file of another format"


def is_new(paths: StorePaths) -> bool:
    """Whether tooltrace has never used the path: every use creates a journal or a lock file."""
    return not paths.journal.exists() and not paths.lock.exists()


def _is_open_here(database: Path) -> bool:
    """Whether this process may have the file open."""
    if "duckdb" not in sys.modules:
        return False
    try:
        found = database.stat()
        names = os.listdir("/proc/self/fd")  # noqa: PTH208 - no need for Path objects
    except OSError:  # a system without /proc
        return True
    for name in names:
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(f"/proc/self/fd/{name}"), found):  # noqa: PTH116 - as above
                return True
    return False
