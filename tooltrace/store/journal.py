"""The journal of one process: a file that only this process writes, by appending whole lines."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import socket
import threading
import time
from pathlib import Path

from tooltrace.core import forking

SEGMENT_BYTES = 64 * 1024 * 1024
"""Size at which a journal file is ended and a new one begun, so that folds can remove the old file."""
CHECK_SECONDS = 0.1
"""Minimum seconds between two checks by a writer that its file still exists."""


class Journal:
    """A writer of lines to a file in ``directory``, which the first write creates. Thread-safe.

    While the file is open the writer holds a shared ``flock`` on it: a process that can lock a journal exclusively
    knows that the writer has ended. ``sync``: each write is on the disk before it returns.
    """

    def __init__(
        self, directory: str | os.PathLike[str], *, sync: bool = False, segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        self.directory = Path(directory)
        self._sync = sync
        self._segment_bytes = segment_bytes
        self._reset()
        forking.register(self)

    def _reset(self) -> None:
        self._lock = threading.RLock()  # reentrant: a finalizer that runs during a write may write too
        self._writing = False
        self._fd = -1
        self._size = 0
        self._checked = 0.0
        self._path: Path | None = None

    @property
    def path(self) -> Path | None:
        """The file being written; None where there is none."""
        return self._path

    def write(self, lines: bytes) -> None:
        """Append ``lines``, all of them or none.

        Raises OSError where the disk write fails, and BlockingIOError (an OSError) where this thread is already writing
        further up its stack, because a signal handler or a finalizer interrupted that write.
        """
        with self._lock:
            if self._writing:
                raise BlockingIOError(errno.EAGAIN, "this thread is already writing to the journal")
            self._writing = True
            try:
                self._write(lines)
            finally:
                self._writing = False

    def _write(self, lines: bytes) -> None:
        self._make_ready()
        try:
            self._append(lines)
        except BaseException:
            self._undo()
            raise
        self._size += len(lines)
        if self._size >= self._segment_bytes:
            self._end()

    def close(self) -> None:
        """Close the file; the next write begins another one."""
        with self._lock:
            self._end()

    def reset_after_fork(self) -> None:
        """Close the descriptor in a forked child, which must never write to the parent's file."""
        fd = self._fd
        self._reset()
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)

    def _make_ready(self) -> None:
        now = time.monotonic()
        if self._fd >= 0 and now - self._checked > CHECK_SECONDS:
            self._checked = now
            if os.fstat(self._fd).st_nlink == 0:  # the file was removed: no reader would find what is written to it
                self._end()
        if self._fd < 0:
            self._open()
            self._checked = now

    def _open(self) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        while self._fd < 0:
            path = self.directory / _name()
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with contextlib.suppress(OSError):  # without locks on this file system, no journal counts as abandoned
                fcntl.flock(fd, fcntl.LOCK_SH)
            if os.fstat(fd).st_nlink == 0:  # a fold found it unlocked and empty, and removed it
                os.close(fd)
                continue
            self._fd, self._size, self._path = fd, 0, path
        if self._sync:
            self._sync_directory()

    def _sync_directory(self) -> None:
        fd = os.open(self.directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def _append(self, lines: bytes) -> None:
        written = os.write(self._fd, lines)
        while written < len(lines):  # after a short write, the next one raises the error that caused it
            written += os.write(self._fd, memoryview(lines)[written:])
        if self._sync:
            _sync_data(self._fd)

    def _undo(self) -> None:
        """Remove partly written lines and end the file, because a reader may have read a part of them."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._size)
            if self._size == 0 and self._path is not None:
                self._path.unlink()
        self._end()

    def _end(self) -> None:
        fd, self._fd, self._path = self._fd, -1, None
        if fd >= 0:
            os.close(fd)


_sync_data = getattr(os, "fdatasync", os.fsync)


def _name() -> str:
    host = re.sub(r"[^A-Za-z0-9_.]+", "_", socket.gethostname())[:64] or "host"
    return f"{host}-{os.getpid()}-{secrets.token_hex(6)}.jsonl"
