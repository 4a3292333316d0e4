"""``TooltraceSpanProcessor``: record the tool calls that other instrumentations show, as their spans end."""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Sequence
from threading import RLock
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from tooltrace.core.records import Record
from tooltrace.faults import suppress_faults
from tooltrace.ingest.spans.assembler import Assembler
from tooltrace.ingest.spans.conventions.detect import ENCLOSING, is_tool_span
from tooltrace.ingest.spans.span_records import SpanOrigin
from tooltrace.otel.sdk_spans import from_sdk
from tooltrace.otel.span_data import SpanData
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.recording import config
from tooltrace.recording.settings import Settings


class SpanBatch:
    """Spans that are assembled together, when the first of their records is asked for."""

    def __init__(
        self, assembler: Assembler, around: Sequence[SpanData | ReadableSpan], spans: Sequence[ReadableSpan]
    ) -> None:
        self._assembler = assembler
        self._around = around
        """What needs no record."""
        self._spans = spans
        self._records: Sequence[Record] | None = None
        self._lock = RLock()

    def items(self) -> list[DeferredSpanRecord]:
        """What the recorder's thread is given: one for each span."""
        return [DeferredSpanRecord(self, number) for number in range(len(self._spans))]

    def record(self, number: int) -> Record:
        """The record of a span. Raises whatever is wrong with it."""
        with self._lock:
            if self._records is None:
                self._assembler.know([span if isinstance(span, SpanData) else from_sdk(span) for span in self._around])
                self._records = self._assembler.take([from_sdk(span) for span in self._spans])
                self._around = self._spans = ()
        return self._records[number]


class DeferredSpanRecord:
    """One record of a batch, made in the recorder's thread."""

    __slots__ = ("_batch", "_number")

    def __init__(self, batch: SpanBatch, number: int) -> None:
        self._batch = batch
        self._number = number

    def record(self) -> Record:
        """The record."""
        return self._batch.record(self._number)


_MOST_OPEN = 10_000
"""Spans that may be open at once; the oldest are forgotten, they may never end."""
_MOST_HELD = 1_000
"""Tool calls that may wait for one around them."""
_DEEPEST = 64
_AROUND = frozenset(ENCLOSING)


class TooltraceSpanProcessor(SpanProcessor):
    """Records the tool calls of every instrumentation of a ``TracerProvider`` that it is added to::

        provider.add_span_processor(tt.TooltraceSpanProcessor())

    They go where ``configure`` says. A call that several spans show is one row: what stands inside a tool call that has
    not ended waits for it. ``spans``: also keep the spans that are no tool calls, in the table ``spans``.
    Add it to the provider that tooltrace itself uses, else calls that both see are recorded twice.
    """

    def __init__(self, *, spans: bool = False) -> None:
        self._all = spans
        self._settings: Settings | None = None
        self._closed = False
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = RLock()
        self._open: OrderedDict[int, ReadableSpan] = OrderedDict()
        self._held: dict[int, list[ReadableSpan]] = {}
        """By the span that they wait for."""
        self._around: deque[SpanData | ReadableSpan] = deque(maxlen=_MOST_OPEN)
        """What has ended since the last batch and needs no record."""
        self._assembler: Assembler | None = None

    # in the threads of the application

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's signature
        """The span has begun."""
        with suppress_faults("record"):
            if self._pid != os.getpid():  # what the parent process began is the parent's to record
                self._reset()
            ids = span.get_span_context()
            if ids is not None:
                self._open[ids.span_id] = span
            if len(self._open) > _MOST_OPEN:
                self._release(self._open.popitem(last=False)[0])

    def on_end(self, span: ReadableSpan) -> None:
        """The span has ended."""
        if self._closed:
            return
        with suppress_faults("record", lost=1):
            self._ended(span)

    def shutdown(self) -> None:
        """Records what still waits, and nothing any more."""
        self.force_flush()
        self._closed = True

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Write every call that has ended. False where the time did not do."""
        with suppress_faults("record"):
            for waited_for in list(self._held):
                self._release(waited_for)
            return config.flush(timeout_millis / 1000)
        return False

    def _ended(self, span: ReadableSpan) -> None:
        ids = span.get_span_context()
        if ids is None or self._pid != os.getpid():
            return
        mine = ids.span_id
        self._open.pop(mine, None)
        if isinstance(span, ToolSpan):  # the recorder has it
            self._around.append(span)
            self._release(mine)
        elif is_tool_span(span.name, span.attributes or {}):
            self._tool_ended(mine, span)
        elif self._all:
            self._give([*self._waited_for(mine), span])
        else:
            self._around.append(_outline(span))
            self._release(mine)

    def _tool_above(self, span: ReadableSpan) -> int | None:
        """The outermost tool call around ``span`` that has not ended, with nothing but transport between."""
        found = None
        parent = span.parent
        for _ in range(_DEEPEST):
            above = None if parent is None else self._open.get(parent.span_id)
            if above is None or parent is None:
                break
            attributes = above.attributes or {}
            if isinstance(above, ToolSpan) or is_tool_span(above.name, attributes):
                found = parent.span_id
            elif not _AROUND.isdisjoint(attributes):
                break
            parent = above.parent
        return found

    def _tool_ended(self, mine: int, span: ReadableSpan) -> None:
        """A tool call, and those that waited for it, wait for the one around it, or for nothing any more."""
        above = self._tool_above(span)
        spans = [*self._waited_for(mine), span]
        with self._lock:
            if above is not None and above in self._open and len(self._held.get(above, ())) < _MOST_HELD:
                self._held.setdefault(above, []).extend(spans)
                return
        self._give(spans)

    def _waited_for(self, mine: int) -> list[ReadableSpan]:
        """What waited for a span that is over."""
        with self._lock:
            return self._held.pop(mine, [])

    def _release(self, mine: int) -> None:
        """Give on what waited for a span that is over."""
        spans = self._waited_for(mine)
        if spans:
            self._give(spans)

    def _give(self, spans: list[ReadableSpan]) -> None:
        recorder = config.get_recorder()
        if self._assembler is None or self._settings is not recorder.settings:
            self._assembler, self._settings = (
                Assembler(recorder.settings, local_origin(recorder.settings)),
                recorder.settings,
            )
        around = []
        while self._around:
            around.append(self._around.popleft())
        for item in SpanBatch(self._assembler, around, spans).items():
            recorder.put(item)


def local_origin(settings: Settings) -> SpanOrigin:
    """This process."""
    return SpanOrigin(settings.service_name, settings.host, os.getpid())


def _outline(span: ReadableSpan) -> SpanData:
    """As much of a span as tells what stands around what."""
    ids, parent = span.get_span_context(), span.parent
    assert ids is not None
    attributes: dict[str, Any] = dict.fromkeys(_AROUND.intersection(span.attributes or ()), True)
    return SpanData(
        name="",
        trace_id=f"{ids.trace_id:032x}",
        span_id=f"{ids.span_id:016x}",
        parent_span_id=None if parent is None else f"{parent.span_id:016x}",
        start_ns=0,
        end_ns=0,
        attributes=attributes,
    )
