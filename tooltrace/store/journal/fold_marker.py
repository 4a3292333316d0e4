"""A marker file with what was folded of each journal, to find out without DuckDB whether a fold is due.

It also has the beginnings of the names of the journals of this machine's processes that run a call: a fold is due once one
of them is gone.

The marker is only a hint: the table ``journals`` is authoritative. A marker that is missing, unreadable or of another
database is ignored.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from tooltrace.redact.plain_data import json_of
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.journal_names import runs_since

MARKER: Final = ".folded"
REFRESH_SECONDS: Final = 1.0
"""Minimum seconds between two looks of a writer at the marker."""


def has_unfolded(paths: StorePaths) -> bool:
    """Whether a journal may have lines that are not in the database, or a call was lost with its process."""
    sizes = {name: size for name, size in paths.journals().items() if size}
    folded = folded_offsets(paths)
    return any(size != folded.get(name, 0) for name, size in sizes.items()) or has_lost_calls(paths)


def has_lost_calls(paths: StorePaths) -> bool:
    """Whether a process that ran a call at the last fold is gone."""
    running = _values(paths, "running", dict)
    return any(began < runs_since(paths, prefix) for prefix, began in running.items())


def unfolded_bytes(paths: StorePaths, until: Mapping[str, int] | None = None) -> int:
    """Return the number of journal bytes that are not folded yet. Without a marker, all bytes of the journals count.

    ``until``: sizes of the journals at an earlier time; bytes that were written later are not counted.
    """
    folded = folded_offsets(paths)
    return sum(
        _bytes_beyond(folded.get(name, 0), size, size if until is None else until.get(name, 0))
        for name, size in paths.journals().items()
    )


def _bytes_beyond(offset: int, size: int, until: int) -> int:
    """Return the bytes to fold of a journal; one that is shorter than its offset was truncated and is read anew."""
    return max(0, min(size, until) - (offset if size >= offset else 0))


class FoldedOffset:
    """The folded offset of the journal ``name``, as far as its writer knows it: it never decreases."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        self._offset = 0
        self.due_at = 0.0
        """Monotonic time from which ``refresh`` should be called."""
        self._marker_time = 0

    def refresh(self) -> None:
        """Read the marker where it has changed. To be called about once a second.

        The marker is read before it is needed, because it may be removed together with the journal.
        """
        self.due_at = time.monotonic() + REFRESH_SECONDS
        with contextlib.suppress(OSError):
            changed = os.stat(self._directory / MARKER).st_mtime_ns  # noqa: PTH116 - half the time of Path.stat
            if changed != self._marker_time:
                self._marker_time = changed
                self.read()

    def read(self) -> int:
        """Read the marker, and return the offset that is known."""
        paths = StorePaths.of(self._directory.with_name(self._directory.name.removesuffix(".journal")))
        self._offset = max(self._offset, folded_offsets(paths).get(self._name, 0))
        return self._offset


def write_marker(paths: StorePaths, offsets: Mapping[str, int], running: Mapping[str, float] | None = None) -> None:
    """Write the folded offsets, and what ``Running`` says of the calls that run. The caller must have closed the database and hold the lock exclusively."""
    identity = _identity(paths)
    if identity is None:
        return
    path = paths.journal / MARKER
    temporary = path.with_name(f"{MARKER}.tmp")  # not synced: a marker that cannot be read is ignored
    with contextlib.suppress(OSError):
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(json_of({"database": identity, "offsets": dict(offsets), "running": dict(running or {})}))
        temporary.replace(path)


def folded_offsets(paths: StorePaths) -> dict[str, int]:
    """Return the byte offset to which each journal is folded, as far as the marker has it."""
    try:
        return {str(name): int(offset) for name, offset in _values(paths, "offsets", dict).items()}
    except (ValueError, TypeError):
        return {}


def _values(paths: StorePaths, name: str, kind: type[Any]) -> Any:
    """Return a member of the marker, of this ``kind``; an empty one where there is no marker of this database."""
    try:
        marker = orjson.loads((paths.journal / MARKER).read_bytes())
        found = marker[name] if marker["database"] == _identity(paths) else kind()
    except (OSError, ValueError, TypeError, KeyError):
        return kind()
    return found if isinstance(found, kind) else kind()


def _identity(paths: StorePaths) -> list[int] | None:
    """Return the inode, size and time of the database file; None where it cannot be found.

    The file is not opened, because DuckDB alone may open it.
    """
    try:
        found = paths.database.stat()
    except OSError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns]
