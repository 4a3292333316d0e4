"""Files and names on the disk.

A new, renamed or removed name survives a power cut only once its directory is synced, and the bytes of a file only once
the file is.
"""

from __future__ import annotations

import os
from pathlib import Path


def sync_directory(directory: Path) -> None:
    """Write the names in ``directory`` to the disk, so that a power cut does not undo a change. Raises OSError."""
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_synced(directory: Path) -> None:
    """Create ``directory`` and its missing parents for this user alone, and write their names to the disk.

    The name of a directory that exists is written too: its maker may not have done so. Raises OSError.
    """
    parents = [*directory.parents]
    first = next(index for index, parent in enumerate(parents) if parent.exists())
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for parent in parents[: first + 1]:
        sync_directory(parent)


def replace_file(path: Path, data: bytes) -> None:
    """Replace the content of the file ``path``, which only this user can read. Raises OSError.

    A kill or a power cut at any moment leaves the old or the new content; after a power cut, the new one may be lost.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)  # before the renaming: the name must not lead to a file without content
    temporary.replace(path)
