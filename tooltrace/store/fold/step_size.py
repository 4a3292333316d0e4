"""The size of the steps of a fold: large where nobody else reads the store, else as much as takes a quarter of a second."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from tooltrace.store.files.file_lock import READING, Lock
from tooltrace.store.journal.line_scan import PIECE_BYTES

HOLD_SECONDS: Final = 0.25
"""Seconds for which a step should hold the lock where other processes read the store."""
READER_SECONDS: Final = 30.0
"""Seconds after the last lease of another process for which steps stay short."""

_last_read: dict[Path, float] = {}
"""Monotonic time at which a fold of this process last found another reader, by database."""


class StepSize:
    """The maximum bytes of the next step of a fold.

    A reader that comes while a step commits has to wait for its end, which takes longer the more rows the step has, and
    the busier the machine is. Short steps cost more CPU time, so they are short only where somebody may wait.
    """

    def __init__(self, lock: Lock, maximum: int) -> None:
        self.bytes = maximum
        self.is_short = False
        """Whether another process reads the store, so that the next step should be short."""
        self._lock = lock
        self._maximum = maximum
        self._short = PIECE_BYTES

    def update(self) -> None:
        """Choose the size of a step that begins now. To be called before the lock is acquired."""
        holder = self._lock.holder()
        if (holder.activity == READING and holder.pid != os.getpid()) or self._lock.has_waiters():
            _last_read[self._lock.store] = time.monotonic()
        last_read = _last_read.get(self._lock.store)
        self.is_short = last_read is not None and time.monotonic() - last_read < READER_SECONDS
        self.bytes = min(self._short, self._maximum) if self.is_short else self._maximum

    def learn(self, moved: int, seconds: float) -> None:
        """Adapt the size of short steps to a step that moved ``moved`` bytes and held the lock for ``seconds``."""
        if moved >= PIECE_BYTES // 2 and seconds > 0:  # fixed costs make up most of the time of smaller ones
            self._short = max(PIECE_BYTES, int(moved * HOLD_SECONDS / seconds))
