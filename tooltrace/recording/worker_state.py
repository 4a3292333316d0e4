"""The state of a worker at one moment, waits for it, the result of a flush, and a slot for one value."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

from tooltrace.core.plural import format_count

if TYPE_CHECKING:
    import queue


T = TypeVar("T")


class Slot(Generic[T]):
    """Holds one value or none. Of all threads that take the value, one gets it.

    Used instead of a lock: popping an element is atomic and never blocks, so that a signal handler cannot deadlock with
    the thread that it interrupts.
    """

    __slots__ = ("_values",)

    def __init__(self, *value: T) -> None:
        self._values = deque(value)

    def put(self, value: T) -> None:
        """Put ``value`` into the slot, which is empty."""
        self._values.append(value)

    def take(self) -> T | None:
        """Empty the slot and return its value; return None where another thread has taken it."""
        try:
            return self._values.pop()
        except IndexError:
            return None


ThreadState = Literal["not started", "waiting", "writing", "ended", "closed"]
FlushAction = Literal["flush", "shutdown"]


class QueueWait(NamedTuple):
    """A caller's wait for the items that were queued before it."""

    position: int
    """Number of items that have left the queue once those are written."""
    reply: queue.SimpleQueue[bool]
    """Where the thread answers: true for written, false where it ended."""


class WorkerState(NamedTuple):
    """The figures of one worker. They are read one after the other while its thread goes on."""

    unwritten: int
    """Records that are queued, in processing, or refused by the disk."""
    unwritten_bytes: int
    """About their memory."""
    refused: int
    """The unwritten records that the disk refused."""
    uncounted: int
    """Lost records that no journal counts, because the disk refuses writes."""
    refusal: str | None
    """Why the disk refused the last write; None where it accepted it."""
    written: int
    """Records that this process has written, without those that were lost with a removed or truncated journal."""
    journal_bytes: int
    """Size of the journal file that is being written."""
    thread: ThreadState
    busy_seconds: float
    """Seconds for which the thread has processed the same record; 0 where it processes none."""


class FlushResult(NamedTuple):
    """The result of a flush."""

    action: FlushAction
    at: float
    """Seconds since the epoch."""
    reasons: tuple[str, ...]
    """Why the flush was not complete; empty where it was."""


def _reasons(state: WorkerState, lost: Counter[str], timeout: float | None, *, written: bool) -> tuple[str, ...]:
    """Return why a flush is not complete: what still waits, and what was lost since the flush before.

    ``written``: whether the queue was written within ``timeout`` seconds.
    """
    reasons = []
    if not written:
        left = state.unwritten - state.refused
        limit = "" if timeout is None else f" within {timeout:g} s"
        busy = f"; the thread has processed one record for {state.busy_seconds:.1f} s" if state.busy_seconds > 1 else ""
        reasons.append(
            f"the queue was not written{limit}: {format_count(left, 'record')} remain{'s' if left == 1 else ''}{busy}"
        )
    if state.refused:
        reasons.append(
            f"the disk refuses {format_count(state.refused, 'record')}, in memory until it accepts them: {state.refusal}"
        )
    if state.uncounted:
        reasons.append(f"the disk refuses the counts of {state.uncounted} lost records: {state.refusal}")
    if lost:
        counts = ", ".join(f"{reason} {count}" for reason, count in sorted(lost.items()))
        reasons.append(f"{format_count(lost.total(), 'record')} lost since the flush before: {counts}")
    return tuple(reasons)


class Flushes:
    """The results of the flushes of one worker, and the losses between them. Its methods take no lock."""

    def __init__(self) -> None:
        self._lost: Counter[str] = Counter()
        """Records lost so far by reason. Replaced, never changed, by the one thread that writes: readers keep a reference."""
        self._reported: Counter[str] = Counter()
        """Value of ``_lost`` at the end of the last flush."""
        self.last: FlushResult | None = None

    def add_losses(self, new: Mapping[str, int]) -> None:
        """Add ``new`` losses by reason, in the thread that writes."""
        if new:
            self._lost = self._lost + Counter(new)

    def end(
        self, action: FlushAction, state: Callable[[], WorkerState], timeout: float | None, *, written: bool
    ) -> bool:
        """Note the result of a flush, and return whether it was complete. ``written``: the queue was written in time."""
        lost, reported = self._lost, self._reported
        self._reported = lost  # before the state is read: what is lost meanwhile is left to the next flush
        return self._note(action, _reasons(state(), lost - reported, timeout, written=written))

    def end_in_own_thread(self, action: FlushAction) -> bool:
        """Note that a flush in the worker's own thread could not wait; return False. Losses are left to the next one."""
        return self._note(action, ("it was called in the recorder's own thread, by a redaction or a sink",))

    def _note(self, action: FlushAction, reasons: tuple[str, ...]) -> bool:
        self.last = FlushResult(action, time.time(), reasons)
        return not reasons
