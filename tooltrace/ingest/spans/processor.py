"""``TooltraceSpanProcessor``: records the tool calls that other instrumentations' spans show, as they end."""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Sequence
from threading import RLock
from typing import Any, NamedTuple

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from tooltrace.core.records import Record
from tooltrace.faults import suppress_faults
from tooltrace.ingest.spans.assembler import Assembler
from tooltrace.ingest.spans.conventions.detect import ENCLOSING, is_tool_span
from tooltrace.ingest.spans.conventions.enclosing import CONTEXT
from tooltrace.ingest.spans.span_records import SpanOrigin
from tooltrace.otel.sdk_spans import from_sdk
from tooltrace.otel.span_data import SpanData
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.recording import config
from tooltrace.recording.settings import Settings


class OpenSpan(NamedTuple):
    """A span that has not ended, around a tool call that has. Its outline is made in the recorder's thread."""

    span: ReadableSpan


Around = SpanData | ReadableSpan | OpenSpan
"""A span that needs no record: an outline, a span of tooltrace's own, or an open one."""


class SpanBatch:
    """Spans that are converted together, when their first record is requested."""

    def __init__(self, assembler: Assembler, around: Sequence[Around], spans: Sequence[ReadableSpan]) -> None:
        self._assembler = assembler
        self._around = around
        """Spans that need no record, but may connect those that do."""
        self._spans = spans
        self._records: Sequence[Record] | None = None
        self._lock = RLock()

    def items(self) -> list[DeferredSpanRecord]:
        """Return one item for the recorder's thread for each span."""
        return [DeferredSpanRecord(self, number) for number in range(len(self._spans))]

    def record(self, number: int) -> Record:
        """Return the record of span ``number``. Raises the exception of a failed conversion."""
        with self._lock:
            if self._records is None:
                self._assembler.know([data for span in self._around if (data := _known_data(span)) is not None])
                self._records = self._assembler.take([from_sdk(span) for span in self._spans])
                self._around = self._spans = ()
        return self._records[number]


class DeferredSpanRecord:
    """One record of a batch, made in the recorder's thread so that the application does not wait."""

    __slots__ = ("_batch", "_number")

    def __init__(self, batch: SpanBatch, number: int) -> None:
        self._batch = batch
        self._number = number

    def record(self) -> Record:
        """Make and return the record."""
        return self._batch.record(self._number)


_MOST_OPEN = 10_000
"""Maximum number of open spans tracked; the oldest are dropped, because they may never end."""
_MAX_WAITING = 1_000
"""Maximum number of spans that wait for one enclosing tool call."""
_DEEPEST = 64
_ENCLOSING_KEYS = frozenset(ENCLOSING)
_OUTLINED = _ENCLOSING_KEYS | CONTEXT


class TooltraceSpanProcessor(SpanProcessor):
    """Span processor that records the tool calls of all instrumentations of its ``TracerProvider``.

    ::

        provider.add_span_processor(tt.TooltraceSpanProcessor())

    Records go to the store set by ``configure``. A call that several spans show is one row: spans inside a tool call
    that has not ended wait for it. ``spans=True`` also stores spans that are not tool calls, in the table ``spans``.
    Add the processor to the provider that tooltrace itself uses; otherwise calls that both record are stored twice.
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
        self._waiting: dict[int, list[ReadableSpan]] = {}
        """Waiting spans, by the id of the span that they wait for."""
        self._around: deque[Around] = deque(maxlen=_MOST_OPEN)
        """Spans without a record that ended since the last batch."""
        self._passed_on: dict[int, int] = {}
        """Number of attributes of each open span when it was last passed on, by its id."""
        self._assembler: Assembler | None = None

    # The methods below run in the threads of the application.

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's signature
        """Track ``span`` as open."""
        with suppress_faults("record"):
            if self._pid != os.getpid():  # forked: the parent process records its own spans
                self._reset()
            ids = span.get_span_context()
            if ids is not None:
                self._open[ids.span_id] = span
            if len(self._open) > _MOST_OPEN:
                oldest = self._open.popitem(last=False)[0]
                self._passed_on.pop(oldest, None)
                self._release(oldest)

    def on_end(self, span: ReadableSpan) -> None:
        """Record ``span``, or hold it until the tool call around it ends."""
        if self._closed:
            return
        with suppress_faults("record", lost=1):
            self._ended(span)

    def shutdown(self) -> None:
        """Record all waiting spans; ignore later ones."""
        self.force_flush()
        self._closed = True

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Write every ended call; return False on timeout."""
        with suppress_faults("record"):
            for waited_for in list(self._waiting):
                self._release(waited_for)
            return config.flush(timeout_millis / 1000)
        return False

    def _ended(self, span: ReadableSpan) -> None:
        ids = span.get_span_context()
        if ids is None or self._pid != os.getpid():
            return
        mine = ids.span_id
        self._open.pop(mine, None)
        self._passed_on.pop(mine, None)
        if isinstance(span, ToolSpan):  # the recorder writes it
            self._around.append(span)
            self._release(mine)
        elif is_tool_span(span.name, span.attributes or {}):
            self._tool_ended(mine, span)
        elif self._all:
            self._pass_on([*self._take_waiting(mine), span])
        else:
            known = span.attributes or {}
            self._around.append(_outline(span, {key: known[key] for key in _OUTLINED.intersection(known)}))
            self._release(mine)

    def _tool_above(self, span: ReadableSpan) -> int | None:
        """Return the id of the outermost open tool call around ``span``; None if there is none.

        Only transport spans and other tool calls may be between them.
        """
        found = None
        parent = span.parent
        for _ in range(_DEEPEST):
            above = None if parent is None else self._open.get(parent.span_id)
            if above is None or parent is None:
                break
            attributes = above.attributes or {}
            if isinstance(above, ToolSpan) or is_tool_span(above.name, attributes):
                found = parent.span_id
            elif not _ENCLOSING_KEYS.isdisjoint(attributes):
                break
            parent = above.parent
        return found

    def _open_around(self, span: ReadableSpan) -> list[OpenSpan]:
        """Return the open spans around ``span`` that may state its agent and conversation, unless passed on before."""
        found = []
        parent = span.parent
        for _ in range(_DEEPEST):
            around = None if parent is None else self._open.get(parent.span_id)
            if around is None or parent is None:
                break
            count = len(around.attributes or ())
            if self._passed_on.get(parent.span_id) != count:  # new, or with further attributes
                self._passed_on[parent.span_id] = count
                found.append(OpenSpan(around))
            parent = around.parent
        return found

    def _tool_ended(self, mine: int, span: ReadableSpan) -> None:
        """Hold an ended tool call and its waiting spans for the tool call around it; without one, pass them on."""
        above = self._tool_above(span)
        self._around.extend(self._open_around(span))
        spans = [*self._take_waiting(mine), span]
        with self._lock:
            # checked again under the lock: ``above`` may have ended in another thread, and would never release them
            if above is not None and above in self._open and len(self._waiting.get(above, ())) < _MAX_WAITING:
                self._waiting.setdefault(above, []).extend(spans)
                return
        self._pass_on(spans)

    def _take_waiting(self, mine: int) -> list[ReadableSpan]:
        """Remove and return the spans that waited for the ended span ``mine``."""
        with self._lock:
            return self._waiting.pop(mine, [])

    def _release(self, mine: int) -> None:
        """Pass on the spans that waited for the ended span ``mine``."""
        spans = self._take_waiting(mine)
        if spans:
            self._pass_on(spans)

    def _pass_on(self, spans: list[ReadableSpan]) -> None:
        recorder = config.get_recorder()
        if self._assembler is None or self._settings is not recorder.settings:
            self._passed_on.clear()
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
    """Return this process as the origin of spans."""
    return SpanOrigin(settings.service_name, settings.host, os.getpid())


def _known_data(span: Around) -> SpanData | None:
    """Return the data that the assembler needs of ``span``; None for an open tool call, which has a record later."""
    if isinstance(span, SpanData):
        return span
    if not isinstance(span, OpenSpan):
        return from_sdk(span)
    around = span.span
    is_tool = isinstance(around, ToolSpan) or is_tool_span(around.name, around.attributes or {})
    if is_tool:
        return None
    # by key, because the attributes of an open span may change meanwhile
    known = around.attributes or {}
    return _outline(around, {key: value for key in _OUTLINED if (value := known.get(key)) is not None})


def _outline(span: ReadableSpan, attributes: dict[str, Any]) -> SpanData:
    """Return only the parts of ``span`` that show its nesting, agent and conversation; the rest would waste memory."""
    ids, parent = span.get_span_context(), span.parent
    assert ids is not None
    return SpanData(
        name="",
        trace_id=f"{ids.trace_id:032x}",
        span_id=f"{ids.span_id:016x}",
        parent_span_id=None if parent is None else f"{parent.span_id:016x}",
        start_ns=0,
        end_ns=0,
        attributes=attributes,
    )
