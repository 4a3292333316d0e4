"""Streams of tools that pass on the events of an agent's run."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tooltrace.faults import pass_on_signal, suppress_faults
from tooltrace.normalize.exceptions import reader
from tooltrace.normalize.exceptions.custom_readers import safe_getattr
from tooltrace.recording.cancellation import CANCELLED
from tooltrace.recording.generators import StreamRecorder
from tooltrace.recording.recorder import Recorder
from tooltrace.redact.inspection import bases, name_of

_RUNS = "agno.run."
_CONTENT = frozenset({"RunContentEvent", "WorkflowCompletedEvent"})
_ITEMS = frozenset({"CustomEvent"})
"""Events that contain the tool's own output."""


class EventStreamRecorder(StreamRecorder):
    """Recorder of the parts of a stream that the model reads: items, and the content of a run's events."""

    __slots__ = ()

    def add_object(self, item: Any, room: int) -> int:
        """Add ``item``, which is not a text, and return the remaining room."""
        kind: Any = type(item)
        if not _looks_like_event(kind):
            return super().add_object(item, room)
        self.last = None
        content = safe_getattr(item, "content") if _has_content(kind) else None
        if type(content) is not str:
            return room if content is None else super().add_object(content, room)
        if room > 0:
            self.parts.append(content)
        return room - len(content)

    def raised(self, error: BaseException) -> None:
        """Record that ``error`` left the tool, or that the consumer dropped the stream."""
        if not is_cancellation(error):
            super().raised(error)
            return
        with suppress_faults("record"):
            self.save(with_items=self.count > 0)
            cancelled(self.recorder, self.attempt, error)


def is_cancellation(error: BaseException) -> bool:
    """Whether ``error`` means that the run was cancelled.

    Agno's error is an ``Exception``, but the tool did not fail.
    """
    return any(name_of(kind) == "RunCancelledException" for kind in bases(type(error)))


def cancelled(recorder: Recorder, attempt: Any, error: BaseException) -> None:
    """Record that the run of ``attempt`` was cancelled."""
    with suppress_faults("record", lost=1):
        attempt.error = reader.summarize(error)._replace(code=CANCELLED)
        attempt.ending = "cancelled"
        recorder.finish_unknown(attempt)


def _looks_like_event(kind: Any) -> bool:
    try:
        return _is_event(kind)
    except BaseException as error:  # raised by the metaclass's own comparison
        pass_on_signal(error)
        return False


@lru_cache(maxsize=256)
def _is_event(kind: Any) -> bool:
    bases = [base for base in kind.__mro__ if base.__module__.startswith(_RUNS) and base.__name__.endswith("Event")]
    return bool(bases) and not any(base.__name__ in _ITEMS for base in bases)


@lru_cache(maxsize=256)
def _has_content(kind: Any) -> bool:
    return any(base.__name__ in _CONTENT for base in kind.__mro__)
