"""The journal lines beyond some offsets, and what of them waits for each destination and for how long. Takes no lock."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from tooltrace.core.plural import format_count
from tooltrace.core.records import Begun, Correction, Gate, Loss, Outcome, Record, SavedQuery, Span, ToolCall
from tooltrace.errors import StoreError
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.delivery_cursors import DestinationFiles, destinations
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLag:
    """The state of the delivery of one store to one destination, by whatever process."""

    destination: str
    """Name of the destination; each signal of OTLP has one, such as ``otlp-traces``."""
    target: str | None = None
    """Where it sends to, in words; None where it has not sent yet."""
    sent: int = 0
    """Records that it acknowledged, since the delivery began."""
    refused: int = 0
    """Records that it refused for good; ``losses`` counts them as ``export_refused``."""
    pending: int = 0
    """Records that wait for it; estimated above 4 MiB."""
    pending_bytes: int = 0
    """Journal bytes of these records."""
    lag_seconds: float = 0.0
    """Seconds for which the oldest of them waits."""
    sent_at: datetime | None = None
    """Time of its last acknowledgement, UTC."""
    error: str | None = None
    """Why the delivery waits, without secrets of a known form; None where it does not wait."""
    error_at: datetime | None = None
    """Time when it began to wait for this reason, UTC."""

    def __str__(self) -> str:
        text = f"{format_count(self.sent, 'record')} sent, {self.pending:,} pending ({self.pending_bytes / 1e6:,.1f} MB"
        text += f", the oldest for {self.lag_seconds:,.1f} s)" if self.pending else ")"
        text += f", {self.refused:,} refused" if self.refused else ""
        return text + (f"; since {self.error_at:%Y-%m-%d %H:%M:%S} UTC: {self.error}" if self.error_at else "")


def delivery_lags(paths: StorePaths) -> tuple[DeliveryLag, ...]:
    """Return the state of each destination of the store, sorted by name."""
    return tuple(lag for files in destinations(paths) if (lag := _lag(files)) is not None)


def _lag(files: DestinationFiles) -> DeliveryLag | None:
    try:
        cursor = files.load()
    except StoreError as error:
        return DeliveryLag(destination=files.name, error=str(error), error_at=datetime.now(UTC))
    if cursor is None:  # it was removed since the folder was read
        return None
    waiting = pending_lines(files.paths, cursor.journals or {})
    # a record that was imported is older than its wait, which began after the cursor did
    since = None if waiting.oldest_at is None else max(waiting.oldest_at, cursor.begun_at)
    return DeliveryLag(
        destination=files.name,
        target=cursor.target,
        sent=cursor.sent,
        refused=cursor.refused,
        pending=waiting.records,
        pending_bytes=waiting.bytes,
        lag_seconds=0.0 if since is None else max(0.0, (datetime.now(UTC) - since).total_seconds()),
        sent_at=cursor.sent_at,
        error=cursor.error,
        error_at=cursor.error_at,
    )
