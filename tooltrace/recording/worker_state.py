"""The state of a worker at one moment, a wait for it, and the result of a flush."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import queue

ThreadState = Literal["not started", "waiting", "writing", "ended", "closed"]
FlushAction = Literal["flush", "shutdown"]


class Ticket(NamedTuple):
    """A caller's wait for the items that were queued before the ticket was made."""

    position: int
    reply: queue.SimpleQueue[bool]


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


def flush_reasons(state: WorkerState, lost: Counter[str], timeout: float | None, *, written: bool) -> tuple[str, ...]:
    """Return why a flush is not complete: what still waits, and what was lost since the flush before.

    ``written``: whether the queue was written within ``timeout`` seconds.
    """
    reasons = []
    if not written:
        left = state.unwritten - state.refused
        limit = "" if timeout is None else f" within {timeout:g} s"
        busy = f"; the thread has processed one record for {state.busy_seconds:.1f} s" if state.busy_seconds > 1 else ""
        reasons.append(f"the queue was not written{limit}: {left} records remain{busy}")
    if state.refused:
        reasons.append(f"the disk refuses {state.refused} records, which wait in memory: {state.refusal}")
    if state.uncounted:
        reasons.append(f"the disk refuses the counts of {state.uncounted} lost records: {state.refusal}")
    if lost:
        counts = ", ".join(f"{reason} {count}" for reason, count in sorted(lost.items()))
        reasons.append(f"{lost.total()} records were lost since the flush before: {counts}")
    return tuple(reasons)
