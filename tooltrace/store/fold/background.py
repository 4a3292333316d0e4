"""The background process that folds the journals of a store ahead of questions.

With it, the first question about 200,000 new calls takes 0.30 s of CPU in place of 2.19 s.

At most one runs for a store: it holds the lock on ``.folder`` in the journal directory. Each process that wants it
holds the lock on ``.users`` shared; forked children inherit that. The background process ends when no such process and
no living writer of a journal is left. This module does not load DuckDB until there is something to fold.

Run as ``python -m tooltrace.store.fold.background STORE``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Final

from tooltrace.errors import TooltraceError
from tooltrace.faults import suppress_faults
from tooltrace.store.database.first_use import FirstWrite
from tooltrace.store.files.flock import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal import fold_marker
from tooltrace.store.journal.line_scan import is_abandoned, open_journal

FOLD_BYTES: Final = 1024 * 1024
"""Unfolded journal bytes from which on the process folds."""
POLL_SECONDS: Final = 0.5
"""Seconds between two looks at the sizes of the journals."""
IDLE_SECONDS: Final = 2.0
"""Seconds between two looks where the journals have not grown."""
_RETRY_SECONDS: Final = 1.0
_FOLDER: Final = ".folder"
_USERS: Final = ".users"
_VARIABLES: Final = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH")
"""The environment variables that Python needs to run; the process gets no others."""
_START: Final = "import os, sys; os.fork() and os._exit(0); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
"""The program that starts the process as a child of init, so that the traced program gets no further child."""


class BackgroundFold:
    """The wish of this process that a background process folds the journals of a store, until ``close``."""

    def __init__(self, paths: StorePaths) -> None:
        self._paths = paths
        self._fd = -1
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._closed = False

    def start(self) -> None:
        """Start the background process unless one runs. Returns at once: a thread does it."""
        threading.Thread(target=self._start, name="tooltrace-fold", daemon=True).start()

    def close(self) -> None:
        """Withdraw the wish. In a forked child, only for the child."""
        # in a forked child, a thread of the parent may have held the lock, and nobody would release it
        with self._lock if self._pid == os.getpid() else contextlib.nullcontext():
            self._closed = True
            fd, self._fd = self._fd, -1
            if fd >= 0:
                os.close(fd)

    def _start(self) -> None:
        with suppress_faults("fold"):
            # DuckDB must not be loaded in this thread: the end of the process would abort in it. Readers fold such a store
            if FirstWrite(self._paths).needs_look:
                return
            self._paths.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = _acquire(self._paths.journal / _USERS, LOCK_SH)
            with self._lock:
                if self._closed:
                    os.close(fd)
                    return
                self._fd = fd
            if not is_running(self._paths):
                spawn(self._paths)


def is_running(paths: StorePaths) -> bool:
    """Whether a background process folds the journals of the store."""
    try:
        fd = os.open(paths.journal / _FOLDER, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not is_abandoned(fd)
    finally:
        os.close(fd)


def running_pid(paths: StorePaths) -> int | None:
    """Return the id of the background process of the store; None where there is none."""
    if not is_running(paths):
        return None
    with contextlib.suppress(OSError, ValueError):
        return int((paths.journal / _FOLDER).read_text())
    return None


def spawn(paths: StorePaths) -> None:
    """Start a background process in a session of its own, without descriptors and credentials of this process."""
    environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    subprocess.run(  # noqa: S603 - our own program; it ends at once: the process that stays is its child
        [sys.executable, "-S", "-c", _START, "-P", "-m", "tooltrace.store.fold.background", str(paths.database)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        cwd="/", env=environment, start_new_session=True, check=False,
    )  # fmt: skip


def run(paths: StorePaths) -> None:
    """Fold the journals of the store until no process records into it. Returns at once where another process does."""
    try:
        elected = _acquire(paths.journal / _FOLDER, LOCK_EX)
        users = os.open(paths.journal / _USERS, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:  # another process folds, or the store was removed
        return
    os.pwrite(elected, f"{os.getpid():<20}\n".encode(), 0)
    sizes: dict[str, int] = {}
    while paths.journal.exists():
        # tested before the sizes are read: they then contain all that the last process wrote before its end
        is_last = is_abandoned(users) and not _has_writers(paths)
        before, sizes = sizes, paths.journals()
        unfolded = fold_marker.unfolded_bytes(paths)
        if unfolded >= FOLD_BYTES or (is_last and unfolded) or fold_marker.has_lost_calls(paths):
            _fold(paths)
        if is_last:
            return  # ``users`` stays locked until the process ends, so that a new user then starts another one
        # the test above took the lock, with which no new user could join
        flock(users, LOCK_UN)
        time.sleep(POLL_SECONDS if sizes != before else IDLE_SECONDS)
    os.close(elected)


def _fold(paths: StorePaths) -> None:
    import duckdb

    from tooltrace.store.fold.fold import fold

    with contextlib.suppress(TooltraceError, OSError, duckdb.Error):  # readers report it; the next look tries again
        fold(paths, wait=_RETRY_SECONDS)


def _has_writers(paths: StorePaths) -> bool:
    """Whether a process has a journal open."""
    for name in paths.journals():
        fd = open_journal(paths.journal / name)
        if fd is not None:
            try:
                if not is_abandoned(fd):
                    return True
            finally:
                os.close(fd)
    return False


def _acquire(path: Path, operation: int) -> int:
    """Return a descriptor of ``path`` that holds the lock. Raises OSError where others hold it for a second."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _RETRY_SECONDS
    while True:
        try:
            flock(fd, operation | LOCK_NB)
        except OSError:
            if time.monotonic() >= deadline:
                os.close(fd)
                raise
            time.sleep(0.01)
        else:
            return fd


def _exit(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _exit)
    run(StorePaths.of(sys.argv[1]))
