"""The writer of this process's journal: records, and the counts of losses."""

from __future__ import annotations

import errno
import os
from collections import Counter, deque
from datetime import UTC, datetime

from tooltrace.core import forking
from tooltrace.core.records import Loss, Record
from tooltrace.faults import faults
from tooltrace.recording.settings import Settings
from tooltrace.store.first_use import FirstWrite
from tooltrace.store.journal import Journal
from tooltrace.store.journal_format import encode
from tooltrace.store.paths import StorePaths

MAX_WAITING_BYTES = 16 * 1024 * 1024
"""Maximum bytes of lines held in memory while the disk refuses writes; beyond it the oldest are lost."""


class Writer:
    """The journal access of a worker. Only ``write_now`` and ``abandon`` are thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._journal: Journal | None = None
        if settings.store is not None:
            paths = StorePaths.of(settings.store)
            self._journal = Journal(paths.journal, sync=settings.durability == "fsync")
            self._first = FirstWrite(paths)
        self._lines: list[bytes] = []
        self._added_bytes = 0
        self._waiting: deque[tuple[bytes, int]] = deque()
        self._waiting_bytes = 0
        self._losses: Counter[str] = Counter()
        """Counts of losses that no journal has yet, by reason."""
        forking.register(self)

    @property
    def added_bytes(self) -> int:
        """Bytes of the lines added since the last ``write``."""
        return self._added_bytes

    @property
    def waiting(self) -> int:
        """Number of records that wait because the disk refused them."""
        return sum(count for _, count in self._waiting)

    def add(self, record: Record) -> None:
        """Encode ``record`` for the next ``write``."""
        if self._journal is not None:
            line = encode(record)
            self._lines.append(line)
            self._added_bytes += len(line)

    def write_now(self, record: Record) -> None:
        """Write ``record`` before returning.

        Raises OSError where the write fails, and where the worker's own thread must look at the store first.
        """
        if self._journal is not None:
            if self._first.needs_duckdb:
                raise BlockingIOError(errno.EAGAIN, "there is a database that tooltrace has not used yet")
            self._write_lines(encode(record))

    def write(self) -> None:
        """Write the added records; those that the disk refuses wait for the next write."""
        if self._lines:
            lines, self._lines, self._added_bytes = self._lines, [], 0
            self._retain(b"".join(lines), len(lines))
        self._write_waiting()

    def flush_losses(self) -> int:
        """Write the waiting records and the counts of losses. Returns the number of new losses."""
        self.write()
        if self._journal is not None:
            self._journal.check()
        new = faults.drain()
        self._losses.update(new)
        if self._losses and not self._waiting and self._write_losses(self._losses):
            self._losses.clear()
        return sum(new.values())

    def close(self) -> None:
        """Try a last time to write, and close the journal. Records that still wait are counted as lost and logged."""
        self.flush_losses()
        lost = self.waiting
        if lost:
            faults.count("write_failed", lost)
            message = f"tooltrace lost {lost} records: the journal could not be written"
            faults.warn_once("write_failed", message, counted=False)
        self._discard_waiting()
        if self._losses or lost:
            self._losses.update(faults.drain())
            if not self._write_losses(self._losses):  # another recorder of this process may write the counts later
                for reason, count in self._losses.items():
                    faults.count(reason, count)
            self._losses.clear()
        if self._journal is not None:
            self._journal.close()

    def abandon(self) -> None:
        """Write the encoded records and the counts of losses while another thread may be stuck in a write.

        A line may be written twice as a result; a fold keeps one of them.
        """
        lines, self._lines = self._lines, []
        losses = faults.drain()
        try:
            if self._journal is not None and lines:
                self._write_lines(b"".join(lines))
        except OSError:
            losses["write_failed"] = losses.get("write_failed", 0) + len(lines)
        self._write_losses(Counter(losses) + self._losses)

    def reset_after_fork(self) -> None:
        """Discard all waiting records and losses in a forked child, because the parent writes them."""
        self._discard_waiting()
        self._losses.clear()

    def _discard_waiting(self) -> None:
        self._lines = []
        self._added_bytes = 0
        self._waiting.clear()
        self._waiting_bytes = 0

    def _retain(self, data: bytes, count: int) -> None:
        self._waiting.append((data, count))
        self._waiting_bytes += len(data)
        while self._waiting_bytes > MAX_WAITING_BYTES and len(self._waiting) > 1:
            oldest, lost = self._waiting.popleft()
            self._waiting_bytes -= len(oldest)
            faults.count("write_failed", lost)

    def _write_waiting(self) -> None:
        if self._journal is None:
            return
        while self._waiting:
            data, _ = self._waiting[0]
            try:
                self._write_lines(data)
            except OSError as error:
                message = f"tooltrace cannot write its journal ({error}); calls wait in memory"
                faults.warn_once("disk", message, counted=False)
                return
            self._waiting.popleft()
            self._waiting_bytes -= len(data)

    def _write_lines(self, lines: bytes) -> None:
        """Write ``lines`` to the journal. Raises OSError, also where the file in place of the store is not one."""
        assert self._journal is not None
        self._first.check()
        self._journal.write(lines)

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
            self._write_lines(b"".join(lines))
        except OSError:
            return False
        return True
