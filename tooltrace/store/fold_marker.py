"""A marker file with the folded offset of each journal, to find out without DuckDB whether a fold is due.

The marker is only a hint: the table ``journals`` is authoritative. A marker that is missing, unreadable or of another
database is ignored.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Final

import orjson

from tooltrace.store.paths import StorePaths

MARKER: Final = ".folded"


def has_unfolded(paths: StorePaths) -> bool:
    """Whether a journal may have lines that are not in the database, or a killed fold left a write-ahead log."""
    sizes = {name: size for name, size in paths.journals().items() if size}
    if paths.wal.exists():
        return True
    if not sizes:
        return False
    folded = _read(paths)
    return any(size > folded.get(name, 0) for name, size in sizes.items())


def unfolded_bytes(paths: StorePaths) -> int:
    """Return the number of journal bytes that are not in the database; an upper bound where there is no marker."""
    folded = _read(paths)
    return sum(max(0, size - folded.get(name, 0)) for name, size in paths.journals().items())


def write_marker(paths: StorePaths, offsets: Mapping[str, int]) -> None:
    """Write the folded offsets. The caller must have closed the database and hold the lock exclusively."""
    identity = _identity(paths)
    if identity is None:
        return
    path = paths.journal / MARKER
    temporary = path.with_name(f"{MARKER}.tmp")
    with contextlib.suppress(OSError):
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(orjson.dumps({"database": identity, "offsets": dict(offsets)}))
        temporary.replace(path)


def _read(paths: StorePaths) -> dict[str, int]:
    try:
        marker = orjson.loads((paths.journal / MARKER).read_bytes())
        offsets = marker["offsets"]
        if marker["database"] != _identity(paths):
            return {}
        return {str(name): int(offset) for name, offset in offsets.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _identity(paths: StorePaths) -> list[int] | None:
    """Return the inode, size and time of the database file; None where it cannot be found.

    The file is not opened, because DuckDB alone may open it.
    """
    try:
        found = paths.database.stat()
    except OSError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns]
