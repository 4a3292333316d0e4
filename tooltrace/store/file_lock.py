"""The lock between folds and readers: ``flock`` on a file next to the database.

``flock`` is not fair: readers that overlap would block a fold forever. Therefore each reader first passes a turnstile
(a ``flock`` on the journal directory), which a waiting fold locks exclusively so that no new reader can pass.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable

from tooltrace.errors import StoreError
from tooltrace.store.paths import StorePaths

MAX_BLOCK_SECONDS = 1.0
"""Maximum seconds for which a waiting fold blocks new readers."""

_guard = threading.RLock()
_open: set[int] = set()


class Lock:
    """One holder's lock on a store, initially not held.

    Each Lock has its own file descriptor, so that threads of one process exclude each other too.
    """

    def __init__(self, paths: StorePaths) -> None:
        self._paths = paths
        self._fd = _opened(lambda: _open_file(paths))
        self._pid = os.getpid()

    @property
    def has_file(self) -> bool:
        """Whether there is a lock file. Where none exists or can be created, all locking is skipped."""
        return self._fd is not None

    def try_exclusive(self) -> bool:
        """Acquire the lock exclusively if that is possible at once; return whether it was."""
        return self._fd is not None and _try(self._fd, fcntl.LOCK_EX)

    def exclusive(self, wait: float | None) -> bool:
        """Acquire the lock exclusively within ``wait`` seconds (None: without limit); return False on failure."""
        deadline = None if wait is None else time.monotonic() + wait
        while not self.try_exclusive():
            left = MAX_BLOCK_SECONDS if deadline is None else deadline - time.monotonic()
            if self._fd is None or left <= 0:
                return False
            if self._wait_in_turn(min(left, MAX_BLOCK_SECONDS)):
                return True
            time.sleep(0.01)
        return True

    def shared(self) -> None:
        """Acquire the lock shared, after any waiting fold; waits without limit."""
        self._pass_turnstile()
        if self._fd is not None:
            fcntl.flock(self._fd, fcntl.LOCK_SH)

    def downgrade(self) -> None:
        """Change an exclusive lock into a shared one; another fold may run in between."""
        if self._fd is not None:
            fcntl.flock(self._fd, fcntl.LOCK_SH)

    def release(self) -> None:
        """Release the lock. In a forked child the descriptor is already closed."""
        fd, self._fd = self._fd, None
        if fd is not None and self._pid == os.getpid():
            _close(fd)

    def _wait_in_turn(self, seconds: float) -> bool:
        """Try for ``seconds`` to acquire the lock exclusively, with the turnstile locked against new readers."""
        deadline = time.monotonic() + seconds
        turnstile = _opened(lambda: _open_directory(self._paths))
        try:
            is_closed = False
            while time.monotonic() < deadline:
                is_closed = is_closed or turnstile is None or _try(turnstile, fcntl.LOCK_EX)
                if self.try_exclusive():
                    return True
                time.sleep(0.002)
            return False
        finally:
            if turnstile is not None:
                _close(turnstile)

    def _pass_turnstile(self) -> None:
        """Wait until no fold has the turnstile, and release the turnstile at once: only the lock itself is held."""
        turnstile = _opened(lambda: _open_directory(self._paths))
        if turnstile is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(turnstile, fcntl.LOCK_SH)
            _close(turnstile)


def _try(fd: int, operation: int) -> bool:
    try:
        fcntl.flock(fd, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StoreError(f"cannot lock the store: {error}; move it to a file system that supports flock") from error
    return True


def _open_file(paths: StorePaths) -> int | None:
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(paths.lock, os.O_RDWR | os.O_CREAT | flags, 0o600)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT):
            raise StoreError(f"cannot open the lock file {paths.lock}: {error.strerror}") from error
    try:
        return os.open(paths.lock, os.O_RDONLY | flags)
    except OSError:
        return None


def _open_directory(paths: StorePaths) -> int | None:
    try:
        return os.open(paths.journal, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None


# A forked child must close the inherited descriptors: they would hold the lock for as long as the child lives.
# ``_guard`` is held across each fork, so that ``_open`` lists every descriptor that the child inherits.


def _opened(opening: Callable[[], int | None]) -> int | None:
    with _guard:
        fd = opening()
        if fd is not None:
            _open.add(fd)
        return fd


def _close(fd: int) -> None:
    with _guard:
        if fd in _open:
            _open.discard(fd)
            os.close(fd)


def _close_in_child() -> None:
    for fd in _open:
        with contextlib.suppress(OSError):
            os.close(fd)
    _open.clear()
    _guard.release()


os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_close_in_child)
