"""Records into this process's journal, with the losses beside them."""

from __future__ import annotations

import os
from collections import deque
from datetime import UTC, datetime

from tooltrace.guard import faults
from tooltrace.record import Loss, Record
from tooltrace.settings import Settings
from tooltrace.store.journal import Journal
from tooltrace.store.lines import encode
from tooltrace.store.paths import StorePaths

KEPT_BYTES = 16 * 1024 * 1024
"""How much is held in memory while the disk takes nothing."""


class Writer:
    """Not thread-safe but for ``write_now``; the worker's lock guards the rest."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._journal: Journal | None = None
        if settings.store is not None:
            directory = StorePaths.of(settings.store).journal
            self._journal = Journal(directory, sync=settings.durability == "fsync")
        self._lines: list[bytes] = []
        self._waiting: deque[tuple[bytes, int]] = deque()
        self._waiting_bytes = 0

    @property
    def waiting(self) -> bool:
        """Whether records wait for a disk that took none."""
        return bool(self._waiting)

    def add(self, record: Record) -> None:
        """Take ``record`` for the next ``write``."""
        if self._journal is not None:
            self._lines.append(encode(record))

    def write_now(self, record: Record) -> None:
        """Write ``record`` before returning. Raises OSError where the disk does not take it."""
        if self._journal is not None:
            self._journal.write(encode(record))

    def write(self) -> None:
        """Write what was added; what the disk does not take waits."""
        if self._lines:
            lines, self._lines = self._lines, []
            self._hold(b"".join(lines), len(lines))
        self._write_waiting()

    def settle(self) -> None:
        """Write down what was lost, and what still waits."""
        for reason, count in faults.take().items():
            now = datetime.now(UTC)
            settings = self._settings
            loss = Loss(
                reason=reason, count=count, at=now, service=settings.service_name, host=settings.host, pid=os.getpid()
            )
            self.add(loss)
        self.write()

    def close(self) -> None:
        """Last attempt to write; what still waits is lost, and said so."""
        self.settle()
        lost = sum(count for _, count in self._waiting)
        if lost:
            faults.say_once(
                "write_failed", f"tooltrace lost {lost} records: the journal could not be written", counted=False
            )
        self._let_go()
        if self._journal is not None:
            self._journal.close()

    def forget(self) -> None:
        """In a forked child: the parent's journal is not ours."""
        self._let_go()
        if self._journal is not None:
            self._journal.forget()

    def _let_go(self) -> None:
        self._lines = []
        self._waiting.clear()
        self._waiting_bytes = 0

    def _hold(self, data: bytes, count: int) -> None:
        self._waiting.append((data, count))
        self._waiting_bytes += len(data)
        while self._waiting_bytes > KEPT_BYTES and len(self._waiting) > 1:
            oldest, lost = self._waiting.popleft()
            self._waiting_bytes -= len(oldest)
            faults.count("write_failed", lost)

    def _write_waiting(self) -> None:
        if self._journal is None:
            return
        while self._waiting:
            data, _ = self._waiting[0]
            try:
                self._journal.write(data)
            except OSError as error:
                message = f"tooltrace cannot write its journal ({error}); calls wait in memory"
                faults.say_once("disk", message, counted=False)
                return
            self._waiting.popleft()
            self._waiting_bytes -= len(data)
