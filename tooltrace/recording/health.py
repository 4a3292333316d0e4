"""The health of the recorder of a process: what waits, what was lost, and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tooltrace.core.plural import format_count
from tooltrace.faults import LastError, faults
from tooltrace.recording.worker_state import FlushAction, FlushResult, ThreadState
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.pending_lines import DeliveryLag, delivery_lags

if TYPE_CHECKING:
    from tooltrace.recording.worker import Worker

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecorderError:
    """An error of the recorder. The text has nothing of a recorded call."""

    text: str
    at: datetime
    """UTC."""

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} UTC: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushReport:
    """The result of the last ``tt.flush()`` or ``tt.shutdown()``."""

    action: FlushAction
    at: datetime
    """Time when it ended, UTC."""
    complete: bool
    """Whether it returned True."""
    reasons: tuple[str, ...] = ()
    """Why it returned False."""

    def __str__(self) -> str:
        result = "complete" if self.complete else f"not complete: {'; '.join(self.reasons)}"
        return f"{self.action} at {self.at:%Y-%m-%d %H:%M:%S} UTC, {result}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The health of the recorder of this process at one moment: :func:`tooltrace.health` returns it.

    Counts begin with the process, and anew in a forked child. ``print`` shows one line for each figure.
    """

    pid: int = field(default_factory=os.getpid)
    store: str | None = None
    """Path of the store; None where this process has recorded nothing yet, or records no history."""
    thread: ThreadState = "not started"
    """State of the recorder's thread.

    ``not started``: no record has needed it. ``waiting``: for records. ``writing``. ``closed``: after ``tt.shutdown()``;
    each call is written by its own thread. ``ended``: unexpectedly.
    """
    busy_seconds: float = 0.0
    """Seconds for which the thread has processed the same record; long where a ``redact=`` or a sink does not return."""
    queued: int = 0
    """Records that have ended and are not in the journal."""
    queued_bytes: int = 0
    """About the memory of these records."""
    refused_by_disk: int = 0
    """Records among them that the disk refused; the recorder tries again every second."""
    running: Mapping[str, float] = field(default_factory=dict)
    """Seconds for which the calls of each tool run, of the longest one, by tool; empty with ``begun_after=None``."""
    written: int = 0
    """Records in the journal, without those that were lost with a removed or truncated file."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """Lost records by reason. The table ``losses`` has them as soon as the disk accepts a write."""
    last_error: RecorderError | None = None
    last_flush: FlushReport | None = None
    journal_bytes: int = 0
    """Size of the journal file that this process writes."""
    store_journal_bytes: int = 0
    """Size of the journals of all processes, folded or not."""
    deliveries: tuple[DeliveryLag, ...] = ()
    """State of each destination of the store, by whatever process delivers to it."""

    @property
    def complete(self) -> bool:
        """Whether nothing waits, and nothing was lost since the process began."""
        return not self.queued and not self.lost

    def __str__(self) -> str:
        waits = f", {self.refused_by_disk:,} of them refused by the disk" if self.refused_by_disk else ""
        busy = f", with one record for {self.busy_seconds:,.1f} s" if self.busy_seconds >= 1 else ""
        lost = ", ".join(f"{reason} {count:,}" for reason, count in sorted(self.lost.items()))
        running = sorted(self.running.items(), key=lambda item: -item[1])
        lines = {
            "process": str(self.pid),
            "store": self.store or "none",
            "thread": f"{self.thread}{busy}",
            "running": ", ".join(f"{tool} {seconds:,.1f} s" for tool, seconds in running) or "nothing",
            "queued": f"{format_count(self.queued, 'record')}, {format_count(self.queued_bytes, 'byte')}{waits}",
            "written": f"{format_count(self.written, 'record')}",
            "lost": lost or "nothing",
            "last error": str(self.last_error or "none"),
            "last flush": str(self.last_flush or "none"),
            "journal": f"{self.journal_bytes:,} bytes of {self.store_journal_bytes:,} of all processes",
        }
        lines |= {lag.destination: str(lag) for lag in self.deliveries}
        width = max(map(len, lines))
        return "\n".join(f"{name:<{width}}  {text}" for name, text in lines.items())


def health_of(worker: Worker | None, store: Path | None) -> Health:
    """Return the health of ``worker``, which writes to ``store``. Takes no lock and raises nothing of its own."""
    # in the order in which a record passes them, so that a record is in one figure at least
    state = None if worker is None else worker.state()
    lost, error = faults.totals(), _error(faults.last_error)
    if worker is None or state is None:
        return Health(lost=lost, last_error=error)
    paths = None if store is None else _read(lambda: StorePaths.of(store), None)
    return Health(
        store=None if store is None else str(store),
        thread=state.thread,
        busy_seconds=state.busy_seconds,
        queued=state.unwritten,
        queued_bytes=state.unwritten_bytes,
        refused_by_disk=state.refused,
        running=_read(worker.running.longest, {}),
        written=state.written,
        lost=lost,
        last_error=error,
        last_flush=_flush(worker.flushes.last),
        journal_bytes=state.journal_bytes,
        store_journal_bytes=0 if paths is None else _read(lambda: sum(paths.journals().values()), 0),
        deliveries=() if paths is None else _read(lambda: delivery_lags(paths), ()),
    )


def _read(read: Callable[[], _T], default: _T) -> _T:
    """Return the result of ``read``, or ``default`` where the files of the store cannot be read."""
    try:
        return read()
    except Exception:
        return default


def _error(error: LastError | None) -> RecorderError | None:
    return None if error is None else RecorderError(text=error.text, at=_time(error.at))


def _flush(result: FlushResult | None) -> FlushReport | None:
    if result is None:
        return None
    return FlushReport(action=result.action, at=_time(result.at), complete=not result.reasons, reasons=result.reasons)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
