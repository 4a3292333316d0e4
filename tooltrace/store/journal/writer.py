"""The journal of one process: a file that only this process writes, by appending whole lines."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from array import array
from bisect import bisect_right
from pathlib import Path
from time import monotonic

from tooltrace.core import forking
from tooltrace.core.plural import format_count
from tooltrace.faults import faults
from tooltrace.store.files.flock import LOCK_SH, flock
from tooltrace.store.files.syncing import make_synced, sync_directory
from tooltrace.store.journal.fold_marker import FoldedOffset
from tooltrace.store.journal.journal_names import new_name

SEGMENT_BYTES = 64 * 1024 * 1024
"""Size at which a journal file is ended and a new one begun, so that folds can remove the old file."""
REMOVED, TRUNCATED = "journal_removed", "journal_truncated"
"""Reasons of losses: the file was removed, replaced or moved; the file was truncated."""

_MAX_FILES = 3
"""Files that one write tries before it fails, where each is removed or truncated during the write."""


class Journal:
    """A writer of lines to a file in ``directory``, which the first write creates. Thread-safe.

    While the file is open the writer holds a shared ``flock`` on it: a process that can lock a journal exclusively
    knows that the writer has ended. ``sync``: each write is on the disk before it returns.

    After each write the writer checks that the file is still in its place and has its full size. Otherwise the same
    lines are written to a new file, and earlier lines that no fold is known to have moved into the database are counted
    as a loss, ``journal_removed`` or ``journal_truncated``. ``prefix``: the beginning of the names of its files.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        sync: bool = False,
        segment_bytes: int = SEGMENT_BYTES,
        prefix: str = "",
    ) -> None:
        self.directory = Path(directory)
        self._prefix = prefix
        self._sync = sync
        self._segment_bytes = segment_bytes
        self._reset()
        forking.register(self)

    def _reset(self) -> None:
        self._lock = threading.RLock()  # reentrant: a finalizer that runs during a write may write too
        self._writing = False
        self._fd = -1
        self._path: Path | None = None
        self.written = 0
        """Lines written so far, without those that were lost with a removed or truncated file."""
        self._begin_file()

    def _begin_file(self) -> None:
        self._place = ""
        """The path as text, for ``os.stat``. It stays known after the file has ended, for the message about a loss."""
        self._device = self._inode = 0
        self._size = 0
        self._line_ends = array("I")
        """Offset at which each line ends, to count the lines of a part of the file."""
        self._folded = FoldedOffset(self.directory, "")

    @property
    def path(self) -> Path | None:
        """The file being written; None where there is none."""
        return self._path

    @property
    def size(self) -> int:
        """Bytes of the file being written; 0 where there is none."""
        return self._size if self._fd >= 0 else 0

    def write(self, lines: bytes) -> None:
        """Append ``lines``, all of them or none.

        Raises OSError where the disk write fails, and BlockingIOError (an OSError) where this thread is already writing
        further up its stack, because a signal handler or a finalizer interrupted that write.
        """
        with self._lock:
            # the lock is reentrant, so it does not stop a finalizer from writing into the middle of these lines
            if self._writing:
                raise BlockingIOError(errno.EAGAIN, "this thread is already writing to the journal")
            self._writing = True
            try:
                # a write to a file that was removed succeeds: only the look at its place afterwards shows that it is lost
                for _ in range(_MAX_FILES):
                    if self._fd < 0:
                        self._open()
                    change = self._append(lines)
                    if change is None:
                        break
                    self._abandon_file(change, lines)
                else:
                    message = f"the journal in {self.directory} is removed or truncated while it is written"
                    raise OSError(errno.ESTALE, message)
            finally:
                self._writing = False

    def _append(self, lines: bytes) -> str | None:
        """Append ``lines`` to the file. Returns the change of a file that was removed or truncated before or meanwhile."""
        length = len(lines)
        try:
            written = os.write(self._fd, lines)
            # after a short write, the next one raises the error that caused it
            while written < length:
                written += os.write(self._fd, memoryview(lines)[written:])
            if self._sync:
                _sync_data(self._fd)
        except BaseException:
            # also for the exception of a signal handler: a part of a line must not stay
            self._undo()
            raise
        size, change = self._inspect(self._size + length)
        if change is not None:
            return change
        start = size - length
        before = len(self._line_ends)
        end = lines.find(b"\n") + 1
        while end:
            self._line_ends.append(start + end)
            end = 0 if end == length else lines.find(b"\n", end) + 1
        self.written += len(self._line_ends) - before
        self._size = size
        if size >= self._segment_bytes:
            self._begin_segment()
        elif monotonic() >= self._folded.due_at:
            self._folded.refresh()
        return None

    def check(self) -> None:
        """Count the lines of a file that was removed or truncated since the last write, and end that file.

        Does nothing where the directory of the store no longer exists: the counts could not be stored there without
        creating it again. The next write counts them.
        """
        with self._lock:
            if self._writing or self._fd < 0 or not self.directory.parent.exists():
                return
            _, change = self._inspect(self._size)
            if change is not None:
                self._abandon_file(change, b"")

    def close(self) -> None:
        """Close the file; the next write begins another one."""
        with self._lock:
            self._end()

    def reset_after_fork(self) -> None:
        """Close the descriptor in a forked child, which must never write to the parent's file."""
        fd = self._fd
        self._reset()
        # the parent's lock stays: it ends when the last descriptor of that open file is closed
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)

    def _inspect(self, expected: int) -> tuple[int, str | None]:
        """Return the size of the file in its place, and its change where it was removed or is below ``expected``."""
        # by its path: the descriptor would find a removed file unchanged
        try:
            found = os.stat(self._place)  # noqa: PTH116 - half the time of Path.stat
        except (FileNotFoundError, NotADirectoryError):
            return 0, REMOVED
        except OSError:  # the directory may not be searched at present
            return expected, None
        if found.st_ino != self._inode or found.st_dev != self._device:
            return 0, REMOVED
        size = found.st_size
        return size, TRUNCATED if size < expected else None

    def _abandon_file(self, reason: str, lines: bytes) -> None:
        """End a file that was removed or truncated, and count the lines that are lost with it.

        ``lines``: lines at its end that are written to another file instead. A truncated file keeps its whole lines.
        """
        kept = 0
        with contextlib.suppress(OSError):
            if reason == TRUNCATED:
                kept = self._cut_to_whole_lines(lines)
        folded = self._folded.read()
        # lines that remain in the file are folded later, lines before the folded offset are in the database already
        lost = len(self._line_ends) - bisect_right(self._line_ends, max(kept, folded))
        self._end()
        if lost:
            self.written -= lost
            faults.count(reason, lost)
            action = "removed, replaced or moved" if reason == REMOVED else "truncated"
            faults.warn_once(
                reason,
                f"the journal {self._place} was {action} while it was written: {format_count(lost, 'record')} lost",
            )

    def _cut_to_whole_lines(self, lines: bytes) -> int:
        """Remove ``lines`` from the end of the truncated file, and a line that the truncation cut; return its size."""
        size = os.fstat(self._fd).st_size
        # lines that were written after the truncation go to the next file, and must not be in this one too
        if lines and os.pread(self._fd, len(lines), max(0, size - len(lines))) == lines:
            size -= len(lines)
        before = bisect_right(self._line_ends, size)
        kept = self._line_ends[before - 1] if before else 0
        os.ftruncate(self._fd, kept)
        return kept

    def _open(self) -> None:
        if self._sync:
            make_synced(self.directory)
        else:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        while self._fd < 0:
            path = self.directory / f"{self._prefix}{new_name()}"
            fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            # without locks on this file system, no journal counts as abandoned
            with contextlib.suppress(OSError):
                flock(fd, LOCK_SH)
            found = os.fstat(fd)
            # between the two calls above a fold may find the file unlocked and empty, and remove it
            if found.st_nlink == 0:
                os.close(fd)
                continue
            self._begin_file()
            self._fd, self._path, self._place = fd, path, str(path)
            self._device, self._inode = found.st_dev, found.st_ino
            self._folded = FoldedOffset(self.directory, path.name)
        if self._sync:
            sync_directory(self.directory)

    def _undo(self) -> None:
        """Remove partly written lines and end the file, because a reader may have read a part of them."""
        with contextlib.suppress(OSError):
            if os.fstat(self._fd).st_size > self._size:  # a truncated file must not grow
                os.ftruncate(self._fd, self._size)
            if self._size == 0 and self._path is not None and self._inspect(0)[1] is None:
                self._path.unlink()
        self._end()

    def _begin_segment(self) -> None:
        """Begin another file before the full one is ended: as long as the writer lives, one of its files is locked."""
        full, self._fd = self._fd, -1
        with contextlib.suppress(OSError):  # the next write tries again
            self._open()
        os.close(full)

    def _end(self) -> None:
        fd, self._fd, self._path = self._fd, -1, None
        if fd >= 0:
            os.close(fd)


_sync_data = getattr(os, "fdatasync", os.fsync)
