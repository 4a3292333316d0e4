"""Spans that have ended, until the recorder's thread makes records of them."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock

from opentelemetry.sdk.trace import ReadableSpan

from tooltrace.foreign.assembler import Assembler
from tooltrace.otel.form import SpanForm
from tooltrace.otel.readable import read
from tooltrace.record import Record


class Batch:
    """Spans that are assembled together, when the first of their records is asked for."""

    def __init__(
        self, assembler: Assembler, around: Sequence[SpanForm | ReadableSpan], spans: Sequence[ReadableSpan]
    ) -> None:
        self._assembler = assembler
        self._around = around
        """What needs no record."""
        self._spans = spans
        self._records: Sequence[Record] | None = None
        self._lock = RLock()

    def items(self) -> list[Later]:
        """What the recorder's thread is given: one for each span."""
        return [Later(self, number) for number in range(len(self._spans))]

    def record(self, number: int) -> Record:
        """The record of a span. Raises whatever is wrong with it."""
        with self._lock:
            if self._records is None:
                self._assembler.know([span if isinstance(span, SpanForm) else read(span) for span in self._around])
                self._records = self._assembler.take([read(span) for span in self._spans])
                self._around = self._spans = ()
        return self._records[number]


class Later:
    """One record of a batch, made in the recorder's thread."""

    __slots__ = ("_batch", "_number")

    def __init__(self, batch: Batch, number: int) -> None:
        self._batch = batch
        self._number = number

    def record(self) -> Record:
        """The record."""
        return self._batch.record(self._number)
