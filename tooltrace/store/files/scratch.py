"""Folders for temporary files: only this user can read them, and they are gone with the process that made them.

A folder is locked as long as its process lives. What a killed process left is found by its name and its free lock, and
removed by the next process that makes such a folder, by each fold, by ``forget`` and by ``doctor --mend``. Files that
DuckDB writes are readable for others under the usual umask, so DuckDB writes new files into such a folder only.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tooltrace.store.files.flock import LOCK_EX, LOCK_NB, LOCK_SH, flock
from tooltrace.store.files.paths import StorePaths

TEMP_SUFFIX: Final = ".tmp"
_SCRATCH: Final = "scratch"
_NAME_LENGTH: Final = 80
"""Characters of the name of a file that the names of its temporary files begin with."""


class PrivateFolder:
    """A new folder ``.<stem>-<random>.tmp`` in ``parent`` with mode 0700, which ``close`` removes. Raises OSError."""

    def __init__(self, parent: Path, stem: str) -> None:
        while True:
            prefix = f".{stem[:_NAME_LENGTH]}-"
            self.path = Path(tempfile.mkdtemp(prefix=prefix, suffix=TEMP_SUFFIX, dir=parent))
            self._fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with contextlib.suppress(OSError):  # a file system without locks
                flock(self._fd, LOCK_SH)
            if self.path.exists():
                return
            os.close(self._fd)  # another process found it unlocked, and removed it

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder with its files."""
        if self._fd >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            self.abandon()

    def abandon(self) -> None:
        """Close the descriptor and leave the folder to the process that made it."""
        os.close(self._fd)
        self._fd = -1


def scratch(paths: StorePaths) -> Path:
    """Return the folder of this process for temporary files about the store, until the process ends.

    It is in the folder of the journals; in the system's folder for temporary files where that is not writable. Raises
    OSError.
    """
    with _own.making:
        folder = _own.folders.get(paths.journal)
        if folder is None or not folder.path.exists():
            parent, stem = _place(paths)
            remove_leftovers(parent, stem)
            folder = _own.folders[paths.journal] = PrivateFolder(parent, stem)
    return folder.path


def outside_folder(name: str) -> PrivateFolder:
    """Return a new folder for what is about no local store, in the system's folder for temporary files. Raises OSError.

    Those that killed processes left under the same ``name`` are removed.
    """
    parent, stem = Path(tempfile.gettempdir()), f"tooltrace-{name}"
    remove_leftovers(parent, stem)
    return PrivateFolder(parent, stem)


def sweep(paths: StorePaths) -> list[Path]:
    """Remove what killed processes left of the store; return the temporary files of other processes that live."""
    own = {folder.path for folder in _own.folders.values()}
    return [path for place in _places(paths) for path in remove_leftovers(*place) if path not in own]


def abandoned(paths: StorePaths) -> list[Path]:
    """Return the temporary files that killed processes left of the store; an empty folder is none."""
    found = []
    for place in _places(paths):
        for path in _leftovers(*place):
            with _claimed(path) as is_free:
                found += [path] * (is_free and has_files(path))
    return found


def has_files(path: Path) -> bool:
    """Whether ``path`` is a file, or a folder that is not empty."""
    return not path.is_dir() or any(path.iterdir())


def remove_own() -> None:
    """Remove the folders of this process, which ends without Python's exit handlers."""
    _own.close()


def sweep_file(file: Path) -> list[Path]:
    """Remove what killed exports or backups to ``file`` left; return the temporary files of running ones."""
    return remove_leftovers(*_beside(file))


def remove_leftovers(parent: Path, stem: str) -> list[Path]:
    """Remove the temporary files ``.<stem>….tmp`` of ended processes in ``parent``; return those of living ones."""
    kept = []
    for path in _leftovers(parent, stem):
        with _claimed(path) as is_free:
            if not is_free:
                kept.append(path)
            elif path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    return kept


def _leftovers(parent: Path, stem: str) -> list[Path]:
    prefix = f".{stem[:_NAME_LENGTH]}"
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        names = (entry.name for entry in entries)
        return [parent / name for name in sorted(names) if name.startswith(prefix) and name.endswith(TEMP_SUFFIX)]
    return []


@contextlib.contextmanager
def _claimed(path: Path) -> Iterator[bool]:
    """Yield whether ``path`` is this user's and no living process has it; none can take it inside the block."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        flock(fd, LOCK_EX | LOCK_NB)
        is_free = os.fstat(fd).st_uid == os.getuid()
    except OSError:  # locked, or on a file system without locks
        is_free = False
    try:
        yield is_free
    finally:
        os.close(fd)


def _place(paths: StorePaths) -> tuple[Path, str]:
    if os.access(paths.journal, os.W_OK | os.X_OK):
        return paths.journal, _SCRATCH
    return Path(tempfile.gettempdir()), _outside(paths)


def _outside(paths: StorePaths) -> str:
    return f"tooltrace-{hashlib.sha256(os.fsencode(paths.database)).hexdigest()[:16]}"


def _places(paths: StorePaths) -> tuple[tuple[Path, str], ...]:
    return (paths.journal, ""), (Path(tempfile.gettempdir()), _outside(paths)), _beside(paths.database)


def _beside(file: Path) -> tuple[Path, str]:
    return file.absolute().parent, f"{file.name[:_NAME_LENGTH]}-"


class _OwnFolders:
    """The folders of this process, by the folder of the store's journals."""

    def __init__(self) -> None:
        self.making = threading.Lock()
        self.folders: dict[Path, PrivateFolder] = {}

    def close(self) -> None:
        for folder in self.folders.values():
            folder.close()
        self.folders.clear()

    def leave_to_parent(self) -> None:
        """Forget the folders in a forked child, which makes its own."""
        for folder in self.folders.values():
            folder.abandon()
        self.making, self.folders = threading.Lock(), {}


_own = _OwnFolders()
atexit.register(_own.close)
if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=_own.leave_to_parent)
