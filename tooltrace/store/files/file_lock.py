"""The lock between folds and readers: ``flock`` on a file next to the database.

``flock`` is not fair: readers that overlap would block a fold forever. Therefore a reader waits with a turnstile (a ``flock``
on the journal directory) locked shared, which a waiting fold locks exclusively so that no new reader can wait. The
holder of the lock finds out by the turnstile whether a reader waits. Beside a fold of 200,000 calls on a busy machine,
readers waited 2.9 s at most, and 10.9 s without the turnstile: longer than ``WAIT_SECONDS``.

The holder writes its process id and its activity into the file. The text of a killed holder stays there, so it is read
only while the lock cannot be had, and only believed where the process exists.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tooltrace.errors import ConfigError, StoreBusy, StoreError
from tooltrace.store.files.flock import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock
from tooltrace.store.files.paths import StorePaths

FOLDING: Final = "folding journals"
READING: Final = "reading"
MAX_BLOCK_SECONDS: Final = 0.25
"""Maximum seconds for which a waiting fold blocks new readers, each time."""
TURNSTILE_SECONDS: Final = 0.3
"""Seconds after which a reader ignores a turnstile that stays locked: its holder is stopped, or the machine is busy."""
NOTICE_SECONDS: Final = 1.0
"""Seconds of waiting after which a log message names the holder of the lock."""
WAIT_SECONDS: Final = 10.0
"""Default of the seconds that a reader waits for the lock."""
_POLL_SECONDS: Final = 0.002
_TEXT_BYTES: Final = 200

# A forked child must close the inherited descriptors: they would hold the lock for as long as the child lives.
_descriptors: set[int] = set()
"""The open descriptors of this process that a lock may be held by."""
_descriptors_guard = threading.RLock()
"""Held while ``_descriptors`` changes, and across each fork, so that the child knows every descriptor that it inherits."""
_log = logging.getLogger("tooltrace")
_wait: float | None = None


def set_wait(seconds: float | None) -> None:
    """Set the seconds that readers of this process wait for a lock; None: ``$TOOLTRACE_WAIT``, else 10."""
    global _wait  # noqa: PLW0603 - one limit per process
    _wait = seconds


def wait_seconds() -> float:
    """Return the seconds that a reader waits for a lock. Raises ConfigError for a bad ``$TOOLTRACE_WAIT``."""
    if _wait is not None:
        return _wait
    text = os.environ.get("TOOLTRACE_WAIT", "")
    try:
        seconds = float(text) if text else WAIT_SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < math.inf:
        raise ConfigError(
            f"$TOOLTRACE_WAIT must be a number of seconds of at least 0, got {text!r}: correct or unset it"
        )
    return seconds


class Holder(NamedTuple):
    """The process that holds a lock. Both values are None where they are unknown."""

    pid: int | None = None
    activity: str | None = None

    def __str__(self) -> str:
        process = "another process" if self.pid is None else "this process" if self.pid == os.getpid() else "process"
        number = f" {self.pid}" if self.pid is not None and self.pid != os.getpid() else ""
        return f"{process}{number}{f' ({self.activity})' if self.activity else ''}"


class Lock:
    """One holder's lock on a store, initially not held.

    Each Lock has its own file descriptor, so that threads of one process exclude each other too. ``activity``: what the
    holder does while it has the lock exclusively, for the message to those that wait.
    """

    def __init__(self, paths: StorePaths, activity: str = FOLDING) -> None:
        self._paths = paths
        self._activity = activity
        self._fd = _open_registered(lambda: _open_file(paths))
        self._pid = os.getpid()

    @property
    def store(self) -> Path:
        """The database of the store."""
        return self._paths.database

    @property
    def has_file(self) -> bool:
        """Whether there is a lock file. Where none exists or can be created, all locking is skipped."""
        return self._fd is not None

    def try_exclusive(self) -> bool:
        """Acquire the lock exclusively if that is possible at once; return whether it was."""
        return self._try(LOCK_EX, self._activity)

    def exclusive(self, wait: float | None) -> bool:
        """Acquire the lock exclusively within ``wait`` seconds (None: without limit); return False on failure."""
        notice = _Notice(self)
        deadline = None if wait is None else time.monotonic() + wait
        while not self.try_exclusive():
            left = MAX_BLOCK_SECONDS if deadline is None else deadline - time.monotonic()
            if self._fd is None or left <= 0:
                return False
            if self._wait_in_turn(min(left, MAX_BLOCK_SECONDS)):
                return True
            notice.check()
            # the turnstile is open meanwhile: readers that it kept out have their turn
            time.sleep(0.01)
        return True

    def shared(self, wait: float | None = None) -> None:
        """Acquire the lock shared within ``wait`` seconds (None: ``wait_seconds()``), after any waiting fold.

        Raises StoreBusy, with the process that holds the lock and what it does.
        """
        if self._fd is None:
            return
        wait = wait_seconds() if wait is None else wait
        deadline = time.monotonic() + wait
        notice = _Notice(self)
        # held until the lock is had: by the shared turnstile, the holder sees that a reader waits
        with self._turnstile(min(wait, TURNSTILE_SECONDS)):
            while not self._try(LOCK_SH, READING):
                notice.check()
                if time.monotonic() >= deadline:
                    raise self.busy(wait)
                time.sleep(_POLL_SECONDS)

    def has_waiters(self) -> bool:
        """Whether a reader or a fold waits for the lock."""
        turnstile = _open_registered(lambda: _open_directory(self._paths))
        if turnstile is None:
            return False
        try:
            return not _try_flock(turnstile, LOCK_EX)
        finally:
            _close_registered(turnstile)

    def give_way(self) -> None:
        """Wait until the readers that wait for the lock have had it, after ``unlock``; at most MAX_BLOCK_SECONDS.

        ``flock`` is not fair: a holder that asks for the lock again at once would mostly get it.
        """
        deadline = time.monotonic() + MAX_BLOCK_SECONDS
        while self.has_waiters() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)

    def unlock(self) -> None:
        """Give the lock back; it can be acquired again."""
        if self._fd is not None and self._pid == os.getpid():
            flock(self._fd, LOCK_UN)

    def release(self) -> None:
        """Release the lock for good. In a forked child the descriptor is already closed."""
        fd, self._fd = self._fd, None
        if fd is not None and self._pid == os.getpid():
            _close_registered(fd)

    def holder(self) -> Holder:
        """Return the process that holds the lock, for a caller that could not acquire it.

        With several readers, it is the reader that came last.
        """
        if self._fd is None:
            return Holder()
        pid, _, activity = os.pread(self._fd, _TEXT_BYTES, 0).decode("utf-8", "replace").strip().partition(" ")
        if not pid.isascii() or not pid.isdecimal() or not _exists(int(pid)):
            return Holder()
        return Holder(int(pid), activity or None)

    def busy(self, wait: float) -> StoreBusy:
        """Return the error for a lock that could not be acquired within ``wait`` seconds."""
        holder = self.holder()
        return StoreBusy(
            f"the store {self._paths.database} is in use by {holder}, and did not become free within {wait:g} s: try again, "
            "wait longer (configure(wait=…), $TOOLTRACE_WAIT), or read the journals alone (journals_only=True, "
            "--journals-only)",
            *holder,
        )

    def no_file(self, action: str) -> StoreError:
        """Return the error that the store cannot be changed, for ``action``: the lock has no file."""
        folder = self._paths.database.parent
        if not folder.is_dir():
            return StoreError(f"cannot {action} {self._paths.database}: the folder {folder} does not exist")
        return StoreError(
            f"cannot {action} {self._paths.database}: the folder {folder} cannot be written; copy the store into a folder "
            "that this user may write"
        )

    def _try(self, operation: int, activity: str) -> bool:
        if self._fd is None or not _try_flock(self._fd, operation):
            return False
        self._write_holder(activity)
        return True

    def _write_holder(self, activity: str) -> None:
        assert self._fd is not None
        # of one length, so that a short text covers a long one; truncating first would show readers an empty file
        text = f"{os.getpid()} {activity}\n".encode()
        with contextlib.suppress(OSError):  # a file that is open to read only, or a full disk
            os.pwrite(self._fd, text.ljust(_TEXT_BYTES)[:_TEXT_BYTES], 0)

    def _wait_in_turn(self, seconds: float) -> bool:
        """Try for ``seconds`` to acquire the lock exclusively, with the turnstile locked against new readers."""
        deadline = time.monotonic() + seconds
        turnstile = _open_registered(lambda: _open_directory(self._paths))
        try:
            is_closed = False
            while time.monotonic() < deadline:
                # readers that wait hold the turnstile shared: it closes once they have had the lock
                is_closed = is_closed or turnstile is None or _try_flock(turnstile, LOCK_EX)
                if self.try_exclusive():
                    return True
                time.sleep(_POLL_SECONDS)
            return False
        finally:
            if turnstile is not None:
                _close_registered(turnstile)

    @contextlib.contextmanager
    def _turnstile(self, seconds: float) -> Iterator[None]:
        """Wait up to ``seconds`` until no fold has the turnstile, then hold it shared until the block ends."""
        turnstile = _open_registered(lambda: _open_directory(self._paths))
        try:
            deadline = time.monotonic() + seconds
            with contextlib.suppress(StoreError):  # a file system without locks on directories
                while turnstile is not None and not _try_flock(turnstile, LOCK_SH) and time.monotonic() < deadline:
                    time.sleep(_POLL_SECONDS)
            yield
        finally:
            if turnstile is not None:
                _close_registered(turnstile)


class _Notice:
    """A message, once for each wait, that names the holder of the lock."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._at: float | None = time.monotonic() + NOTICE_SECONDS

    def check(self) -> None:
        """Log the message if the wait is long enough."""
        if self._at is not None and time.monotonic() >= self._at:
            self._at = None
            _log.warning("waiting for the store %s, in use by %s", self._lock.store, self._lock.holder())


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # a process of another user
        return True
    return pid > 0


def _try_flock(fd: int, operation: int) -> bool:
    try:
        flock(fd, operation | LOCK_NB)
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
    # flock works on a file that is open for reading too: a user who may only read can wait for folds
    try:
        return os.open(paths.lock, os.O_RDONLY | flags)
    except OSError:
        return None


def _open_directory(paths: StorePaths) -> int | None:
    try:
        return os.open(paths.journal, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None


def _open_registered(opening: Callable[[], int | None]) -> int | None:
    """Return the descriptor that ``opening`` opens, which a forked child will close; None where it opens none."""
    with _descriptors_guard:
        fd = opening()
        if fd is not None:
            _descriptors.add(fd)
        return fd


def _close_registered(fd: int) -> None:
    with _descriptors_guard:
        if fd in _descriptors:
            _descriptors.discard(fd)
            os.close(fd)


def _close_in_child() -> None:
    for fd in _descriptors:
        with contextlib.suppress(OSError):
            os.close(fd)
    _descriptors.clear()
    _descriptors_guard.release()


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(
        before=_descriptors_guard.acquire, after_in_parent=_descriptors_guard.release, after_in_child=_close_in_child
    )
