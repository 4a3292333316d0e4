"""The journal lines beyond some offsets: their number and bytes, and for how long the oldest waits. Takes no lock."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from tooltrace.core.records import Begun, Correction, Gate, Loss, Outcome, Record, SavedQuery, Span, ToolCall
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import LineError, decode
from tooltrace.store.journal.line_scan import open_journal

MAX_COUNTED_BYTES: Final = 4 * 1024 * 1024
"""Bytes whose lines are counted at most; above them, the number of lines is estimated from their mean length."""
_CHUNK_BYTES: Final = 1024 * 1024
_LONGEST_FIRST_LINE: Final = 256 * 1024
_LOSS: Final = b'"kind":"loss"'


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingLines:
    """The journal lines beyond some offsets."""

    records: int = 0
    """Their number; estimated where they have more than ``MAX_COUNTED_BYTES``."""
    bytes: int = 0
    oldest_at: datetime | None = None
    """Time of the oldest of the records that come first in each journal; None where there is none or it is unknown."""
    losses: Mapping[str, int] = field(default_factory=dict)
    """Lost records by reason, of the lines that were counted."""


def pending_lines(paths: StorePaths, offsets: Mapping[str, int]) -> PendingLines:
    """Return the lines of the journals of ``paths`` beyond ``offsets``, by the journal's name; reads at most 4 MiB."""
    starts = {}
    total = 0
    for name, size in paths.journals().items():
        start = offsets.get(name, 0)
        start = start if start <= size else 0  # a journal that is shorter than its offset was truncated
        if start < size:
            starts[name] = start
            total += size - start
    counted = lines = 0
    times: list[datetime | None] = []
    losses: Counter[str] = Counter()
    for name, start in starts.items():
        with suppress(OSError):
            fd = open_journal(paths.journal / name)
            if fd is None:
                continue
            try:
                times.append(_first_time(fd, start))
                if counted < MAX_COUNTED_BYTES:
                    found, read = _count(fd, start, MAX_COUNTED_BYTES - counted, losses)
                    lines, counted = lines + found, counted + read
            finally:
                os.close(fd)
    if counted and total > counted >= MAX_COUNTED_BYTES:
        lines = round(lines * total / counted)
    return PendingLines(
        records=lines, bytes=total, oldest_at=min(filter(None, times), default=None), losses=dict(losses)
    )


def _count(fd: int, start: int, limit: int, losses: Counter[str]) -> tuple[int, int]:
    """Return the number of lines and of bytes from ``start`` on, and add the counts of losses among them."""
    lines = read = 0
    rest = b""
    while read < limit and (data := os.pread(fd, min(_CHUNK_BYTES, limit - read), start + read)):
        read += len(data)
        whole, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            lines += whole.count(b"\n") + 1
        if _LOSS in whole:
            for line in whole.split(b"\n"):
                record = _decoded(line) if _LOSS in line else None
                if isinstance(record, Loss):
                    losses[record.reason] += record.count
    return lines, read


def _first_time(fd: int, start: int) -> datetime | None:
    """Return the time of the first record from ``start`` on; None where it cannot be read."""
    line, newline, _ = os.pread(fd, _LONGEST_FIRST_LINE, start).partition(b"\n")
    record = _decoded(line) if newline else None
    return None if record is None else _time_of(record)


def _decoded(line: bytes) -> Record | None:
    try:
        return decode(line)
    except LineError:
        return None


def _time_of(record: Record) -> datetime:
    """Return the time when ``record`` was complete."""
    if isinstance(record, ToolCall | Span):
        with suppress(OverflowError):
            return record.started_at + timedelta(milliseconds=record.duration_ms or 0.0)
        return record.started_at
    if isinstance(record, Outcome):
        return record.labeled_at
    if isinstance(record, Correction):
        return record.corrected_at
    if isinstance(record, Gate):
        return record.answered_at or record.asked_at
    if isinstance(record, SavedQuery):
        return record.saved_at
    if isinstance(record, Begun):
        return record.started_at
    return record.at
