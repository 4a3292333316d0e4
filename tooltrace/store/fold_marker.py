"""A note of how far each journal was folded: tells without opening DuckDB whether there is anything to fold.

Only a hint: the truth is the table ``journals``, and a note that is missing, unreadable or not of this very
database says nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Final

import orjson

from tooltrace.store.paths import StorePaths

NOTE: Final = ".folded"


def has_unfolded(paths: StorePaths) -> bool:
    """Whether a journal may have lines that are not in the database, or a killed fold left something."""
    sizes = {name: size for name, size in paths.journals().items() if size}
    if paths.wal.exists():
        return True
    if not sizes:
        return False
    folded = _read(paths)
    return any(size > folded.get(name, 0) for name, size in sizes.items())


def unfolded_bytes(paths: StorePaths) -> int:
    """Bytes in the journals that are not in the database; at most that many where nothing is known."""
    folded = _read(paths)
    return sum(max(0, size - folded.get(name, 0)) for name, size in paths.journals().items())


def write_marker(paths: StorePaths, offsets: Mapping[str, int]) -> None:
    """Write down how far the fold came. Whoever calls has closed the database and holds the lock exclusively."""
    identity = _identity(paths)
    if identity is None:
        return
    path = paths.journal / NOTE
    temporary = path.with_name(f"{NOTE}.tmp")
    with contextlib.suppress(OSError):
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(orjson.dumps({"database": identity, "offsets": dict(offsets)}))
        temporary.replace(path)


def _read(paths: StorePaths) -> dict[str, int]:
    try:
        written = orjson.loads((paths.journal / NOTE).read_bytes())
        offsets = written["offsets"]
        if written["database"] != _identity(paths):
            return {}
        return {str(name): int(offset) for name, offset in offsets.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _identity(paths: StorePaths) -> list[int] | None:
    """Of the database file as it is now, by its directory entry: it must not be opened."""
    try:
        found = paths.database.stat()
    except OSError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns]
