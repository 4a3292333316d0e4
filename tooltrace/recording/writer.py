"""The writer of this process's journal: records, and the counts of losses."""

from __future__ import annotations

import errno
import os
from collections import Counter, deque
from datetime import UTC, datetime

from tooltrace.core import forking
from tooltrace.core.plural import format_count
from tooltrace.core.records import Loss, Record
from tooltrace.faults import faults
from tooltrace.recording.settings import Settings
from tooltrace.store.database.first_use import FirstWrite
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

MAX_WAITING_BYTES = 16 * 1024 * 1024
"""Maximum bytes of lines held in memory while the disk refuses writes; beyond it the oldest are lost."""


class Writer:
    """The journal access of a worker. Only ``write_line_now`` and ``abandon`` are thread-safe."""

    def __init__(self, settings: Settings, *, prefix: str = "") -> None:
        self._settings = settings
        self._journal: Journal | None = None
        if settings.store is not None:
            paths = StorePaths.of(settings.store)
            self._journal = Journal(paths.journal, sync=settings.durability == "fsync", prefix=prefix)
            self._first = FirstWrite(paths)
        self._lines: list[bytes] = []
        self._added_bytes = 0
        self.pending = 0
        """Number of encoded records that are not in the journal. A record is in ``written`` before it leaves this count."""
        self.pending_bytes = 0
        """Bytes of these records."""
        self._waiting: deque[tuple[bytes, int]] = deque()
        self._waiting_bytes = 0
        self.waiting = 0
        """Number of records that wait because the disk refused them."""
        self._losses: Counter[str] = Counter()
        """Counts of losses that no journal has yet, by reason."""
        self.uncounted = 0
        """Number of lost records that no journal counts, because the disk refuses writes."""
        self._written_losses = 0
        """Number of lines that are counts of losses."""
        self.refusal: str | None = None
        """Why the disk refused the last write; None where it accepted it."""
        forking.register(self)

    @property
    def added_bytes(self) -> int:
        """Bytes of the lines added since the last ``write``."""
        return self._added_bytes

    @property
    def written(self) -> int:
        """Number of records in the journal, without those that were lost with a removed or truncated file."""
        return 0 if self._journal is None else max(0, self._journal.written - self._written_losses)

    @property
    def journal_bytes(self) -> int:
        """Bytes of the journal file that is being written."""
        return 0 if self._journal is None else self._journal.size

    @property
    def has_journal(self) -> bool:
        """Whether there is a journal to write to."""
        return self._journal is not None

    def add(self, record: Record) -> None:
        """Encode ``record`` for the next ``write``."""
        if self._journal is not None:
            self.add_line(encode(record))

    def add_line(self, line: bytes) -> None:
        """Add the ``line`` of a record to the next ``write``, where there is a journal."""
        self._lines.append(line)
        self._added_bytes += len(line)
        self.pending += 1
        self.pending_bytes += len(line)

    def write_line_now(self, line: bytes) -> None:
        """Write the ``line`` of a record before returning, where there is a journal.

        Raises OSError where the write fails, and where the worker's own thread must look at the store first.
        """
        if not self._first.is_passed and self._first.needs_look:
            raise BlockingIOError(errno.EAGAIN, "there is a database that tooltrace has not used yet")
        self._write_to_journal(line)

    def write(self) -> None:
        """Write the added records; those that the disk refuses wait for the next write."""
        if self._lines:
            lines, self._lines, self._added_bytes = self._lines, [], 0
            self._retain(b"".join(lines), len(lines))
        self._write_waiting()

    def flush_losses(self) -> dict[str, int]:
        """Write the waiting records and the counts of losses. Returns the new losses by reason."""
        self.write()
        # a journal that was removed while nothing is written is noticed here, before the losses are counted
        if self._journal is not None:
            self._journal.check()
        new = faults.drain()
        self._losses.update(new)
        self._losses.update(faults.reclaim())
        # while records wait, the disk refuses writes: the counts are tried after the records
        if self._losses and not self._waiting and self._write_losses(self._losses):
            self._losses.clear()
        self.uncounted = self._losses.total()
        return new

    def close(self) -> dict[str, int]:
        """Try a last time to write, and close the journal. Returns the new losses by reason.

        Records that still wait are counted as lost. Logs the losses that the table ``losses`` will not have, and those
        of a disk that refuses writes.
        """
        new = Counter(self.flush_losses())
        if self.waiting:
            faults.count("write_failed", self.waiting)
        self._discard_waiting()
        new.update(self._settle_losses())
        if self._journal is not None:
            self._journal.close()
        return dict(new)

    def abandon(self) -> dict[str, int]:
        """Write the encoded records and the counts of losses while another thread may be stuck in a write.

        A line may be written twice as a result; a fold keeps one of them. Returns the new losses by reason.
        """
        lines, self._lines = self._lines, []
        data, count = b"".join(lines), len(lines)
        try:
            if self._journal is not None and count:
                self._write_to_journal(data)
        except OSError:
            faults.count("write_failed", count)
        self.pending -= count
        self.pending_bytes -= len(data)
        return self._settle_losses()

    def _settle_losses(self) -> dict[str, int]:
        """Write the counts of losses for the last time, and log them where that fails. Returns the new ones."""
        new = faults.drain()
        losses = self._losses + Counter(new) + Counter(faults.reclaim())
        self._losses = Counter()
        stored = self._write_losses(losses)
        self.uncounted = 0 if stored else losses.total()
        if not stored:  # another recorder of this process may write the counts later
            faults.restore(losses)
        if losses and (not stored or losses["write_failed"]):
            reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(losses.items()))
            where = "the table `losses` has the counts" if stored else "no table has the counts"
            why = f" ({self.refusal})" if self.refusal else ""
            message = f"tooltrace lost {format_count(losses.total(), 'record')} ({reasons}): the journal could not be written{why}; {where}"
            faults.warn_once(message, message, counted=False)
        return new

    def reset_after_fork(self) -> None:
        """Discard all waiting records and losses in a forked child, because the parent writes them."""
        self._discard_waiting()
        self._losses.clear()
        self._written_losses = self.uncounted = 0
        self.refusal = None

    def _discard_waiting(self) -> None:
        self._lines = []
        self._added_bytes = 0
        self._waiting.clear()
        self._waiting_bytes = self.waiting = 0
        self.pending = self.pending_bytes = 0

    def _retain(self, data: bytes, count: int) -> None:
        self._waiting.append((data, count))
        self._waiting_bytes += len(data)
        self.waiting += count
        # the last piece stays even where it is larger than the limit
        while self._waiting_bytes > MAX_WAITING_BYTES and len(self._waiting) > 1:
            faults.count("write_failed", self._waiting[0][1])
            self._forget_oldest()

    def _write_waiting(self) -> None:
        if self._journal is None:
            return
        while self._waiting:
            try:
                self._write_to_journal(self._waiting[0][0])
            except OSError as error:
                message = f"tooltrace cannot write its journal ({error}); calls wait in memory"
                faults.warn_once("disk", message, counted=False)
                return
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        """Remove the oldest waiting lines, which are written or counted as lost."""
        data, count = self._waiting.popleft()
        self._waiting_bytes -= len(data)
        self.waiting -= count
        self.pending -= count
        self.pending_bytes -= len(data)

    def _write_to_journal(self, lines: bytes) -> None:
        """Write ``lines`` to the journal. Raises OSError, also where the file in place of the store is not one."""
        assert self._journal is not None
        try:
            if not self._first.is_passed:
                self._first.check()
            self._journal.write(lines)
        except BlockingIOError:  # this thread is writing further up its stack
            raise
        except OSError as error:
            self.refusal = error.strerror or type(error).__name__
            faults.note_error(f"cannot write the journal in {self._journal.directory}: {self.refusal}")
            raise
        self.refusal = None

    def _write_losses(self, losses: Counter[str]) -> bool:
        """Write the counts of losses. Returns False where the disk refuses them.

        Refused counts stay with the caller instead of waiting as lines, because waiting lines can be lost.
        """
        if self._journal is None or not losses:
            return True
        service, host, now, pid = self._settings.service_name, self._settings.host, datetime.now(UTC), os.getpid()
        lines = [
            encode(Loss(reason=reason, count=count, at=now, service=service, host=host, pid=pid))
            for reason, count in losses.items()
        ]
        try:
            self._write_to_journal(b"".join(lines))
        except OSError:
            return False
        self._written_losses += len(lines)
        return True
