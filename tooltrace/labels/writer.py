"""Writing of outcomes to the journal of a store."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from tooltrace.core.records import Outcome
from tooltrace.errors import StoreError
from tooltrace.faults import suppress_faults
from tooltrace.recording.settings import Settings
from tooltrace.recording.sinks import evaluation
from tooltrace.recording.writer import Writer
from tooltrace.store.base import StoreBackend

BATCH = 512
"""Outcomes written at once."""


def write_label(outcome: Outcome, store: StoreBackend) -> str | None:
    """Write ``outcome`` to ``store``; return where it was sent, None if it is in the store. Raises StoreError."""
    sent = store.write([outcome])
    if sent is None and evaluation.is_wanted():  # a sent outcome already is such an event
        with suppress_faults("log"):
            evaluation.emit(outcome)
    return sent


class LabelWriter:
    """Context manager that writes outcomes to the journal in batches.

    All outcomes are in the journal when the block ends; otherwise it raises StoreError.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._writer = Writer(settings)
        self._events = evaluation.is_wanted()
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._write()
        finally:
            self._writer.close()

    def add(self, outcome: Outcome, *, trace_id: str | None = None, span_id: str | None = None) -> None:
        """Add ``outcome``; ``trace_id`` and ``span_id`` name the judged attempt, if known. Raises StoreError."""
        self._writer.add(outcome)
        self.count += 1
        if self._events:
            with suppress_faults("log"):
                evaluation.emit(outcome, trace_id=trace_id, span_id=span_id)
        if self.count % BATCH == 0:
            self._write()

    def _write(self) -> None:
        self._writer.write()
        if self._writer.waiting:
            raise StoreError(
                f"cannot write the journal of {self._settings.store}: label again; of several labels "
                "by one labeler the latest counts"
            )
