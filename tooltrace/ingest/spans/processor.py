"""``TooltraceSpanProcessor``: records the tool calls that other instrumentations' spans show, as they end."""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Any, NamedTuple

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanContext

from tooltrace.core.forking import register
from tooltrace.core.records import Record
from tooltrace.faults import suppress_faults
from tooltrace.ingest.spans.assembler import Assembler
from tooltrace.ingest.spans.conventions.detect import ENCLOSING, is_tool_span
from tooltrace.ingest.spans.conventions.enclosing import CONTEXT
from tooltrace.ingest.spans.span_records import SpanOrigin
from tooltrace.otel.sdk_internals import SPAN_KEY, attributes_of, current_context
from tooltrace.otel.sdk_spans import from_sdk
from tooltrace.otel.span_data import SpanData
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.recording import config
from tooltrace.recording.settings import Settings


class OpenSpan(NamedTuple):
    """A span that has not ended, around a tool call that has. Its outline is made in the recorder's thread."""

    span: ReadableSpan


class _Tracked:
    """An open span, and what its attributes show. They are read again only after their number has changed."""

    __slots__ = ("_count", "_is_native", "_name", "is_tool", "is_work", "parent", "passed_on", "span")

    def __init__(self, span: ReadableSpan) -> None:
        self.span = span
        self.parent: SpanContext | None = span.parent
        """The span around this one: its parent, or the call of tooltrace's own in which it began."""
        self._is_native = isinstance(span, ToolSpan)
        self.is_tool = self._is_native
        """Whether the span shows a tool call."""
        self.is_work = False
        """Whether the span does work of its own, and is not merely transport to a tool."""
        self.passed_on = False
        """Whether the recorder's thread has the current attributes."""
        self._name: str | None = None
        self._count = -1

    def update(self) -> None:
        """Read the attributes if there are more than at the last reading."""
        if self._is_native:
            return
        span = self.span
        known, name = attributes_of(span), span.name
        # Attributes are only added to an open span, so a changed count shows new ones; comparing all would cost more.
        if len(known) != self._count or name is not self._name:
            self._count, self._name, self.passed_on = len(known), name, False
            self.is_tool = is_tool_span(name, known)
            self.is_work = not _ENCLOSING_KEYS.isdisjoint(known)


EnclosingSpan = SpanData | ReadableSpan | OpenSpan
"""A span that needs no record: an outline, a span of tooltrace's own, or an open one."""


class SpanBatch:
    """Spans that are converted together, when their first record is requested."""

    def __init__(
        self,
        assembler: Assembler,
        enclosing: Sequence[EnclosingSpan],
        spans: Sequence[ReadableSpan],
        inside: Mapping[int, str],
    ) -> None:
        self._assembler = assembler
        self._inside = inside
        """Ids of the calls around spans that are not their parents."""
        self._enclosing = enclosing
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
                self._assembler.know([data for span in self._enclosing if (data := _known_data(span)) is not None])
                forms = [from_sdk(span) for span in self._spans]
                inside = {f"{span_id:016x}": around for span_id, around in self._inside.items()}
                self._records = self._assembler.convert(forms, inside)
                self._enclosing = self._spans = ()
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


_MAX_OPEN = 10_000
"""Maximum number of open spans tracked; the oldest are dropped, because they may never end."""
_MAX_WAITING = 1_000
"""Maximum number of spans that wait for one enclosing tool call."""
_MAX_DEPTH = 64
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
        self._inherited: frozenset[int] = frozenset()
        """Ids of spans that were open at a fork: the parent process records them."""
        self._reset()
        register(self)

    def reset_after_fork(self) -> None:
        """Forget the spans of the parent process; they are ignored if this process ends its copies of them."""
        self._inherited |= self._open.keys()
        self._reset()

    def _reset(self) -> None:
        self._lock = RLock()
        self._open: OrderedDict[int, _Tracked] = OrderedDict()
        self._waiting: dict[int, list[ReadableSpan]] = {}
        """Waiting spans, by the id of the span that they wait for."""
        self._parents: dict[int, str] = {}
        """Ids of the calls around ended spans that are not their parents, until the spans are passed on."""
        self._enclosing: deque[EnclosingSpan] = deque(maxlen=_MAX_OPEN)
        """Spans without a record that ended since the last batch."""
        self._assembler: Assembler | None = None

    # The methods below run in the threads of the application.

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's signature
        """Track ``span`` as open."""
        with suppress_faults("record"):
            ids = span.get_span_context()
            if ids is not None:
                self._open[ids.span_id] = tracked = _Tracked(span)
                # Some instrumentations take the parent from their own bookkeeping and start their span beside ours,
                # inside our call.
                around = current_context().get(SPAN_KEY)
                if isinstance(around, ToolSpan) and _are_siblings(around, span):
                    tracked.parent = around.get_span_context()
            if len(self._open) > _MAX_OPEN:
                # Whatever waits for the dropped span would wait forever.
                self._release(self._open.popitem(last=False)[0])

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
        if ids is None or ids.span_id in self._inherited:
            return
        span_id = ids.span_id
        tracked = self._open.pop(span_id, None)
        if isinstance(span, ToolSpan):  # the recorder writes it
            self._enclosing.append(span)
            self._release(span_id)
        elif is_tool_span(span.name, known := attributes_of(span)):
            self._tool_ended(span_id, span, span.parent if tracked is None else tracked.parent)
        elif self._all:
            self._pass_on([*self._pop_waiting(span_id), span])
        else:
            self._enclosing.append(_outline(span, {key: known[key] for key in _OUTLINED.intersection(known)}))
            self._release(span_id)

    def _look_around(self, parent: SpanContext | None) -> tuple[int | None, list[OpenSpan]]:
        """Return the id of the outermost open tool call around a span with ``parent``, and the open spans to pass on.

        Only transport spans and other tool calls may be between the span and that call. The open spans may state the
        agent and the conversation; those that were passed on before, with the same attributes, are left out.
        """
        call, found, is_near = None, [], True
        for _ in range(_MAX_DEPTH):
            enclosing = None if parent is None else self._open.get(parent.span_id)
            if enclosing is None or parent is None:
                break
            enclosing.update()
            if not enclosing.passed_on:
                enclosing.passed_on = True
                found.append(OpenSpan(enclosing.span))
            if is_near and enclosing.is_tool:
                call = parent.span_id
            elif enclosing.is_work:
                is_near = False
            parent = enclosing.parent
        return call, found

    def _tool_ended(self, span_id: int, span: ReadableSpan, parent: SpanContext | None) -> None:
        """Hold an ended tool call and its waiting spans for the tool call around it; without one, pass them on."""
        above, around = self._look_around(parent)
        if parent is not None and parent is not span.parent:
            self._parents[span_id] = f"{parent.span_id:016x}"
        self._enclosing.extend(around)
        spans = [*self._pop_waiting(span_id), span]
        with self._lock:
            # checked again under the lock: ``above`` may have ended in another thread, and would never release them
            if above is not None and above in self._open and len(self._waiting.get(above, ())) < _MAX_WAITING:
                self._waiting.setdefault(above, []).extend(spans)
                return
        self._pass_on(spans)

    def _pop_waiting(self, span_id: int) -> list[ReadableSpan]:
        """Remove and return the spans that waited for the ended span ``span_id``."""
        with self._lock:
            return self._waiting.pop(span_id, [])

    def _release(self, span_id: int) -> None:
        """Pass on the spans that waited for the ended span ``span_id``."""
        spans = self._pop_waiting(span_id)
        if spans:
            self._pass_on(spans)

    def _pass_on(self, spans: list[ReadableSpan]) -> None:
        recorder = config.get_recorder()
        if self._assembler is None or self._settings is not recorder.settings:
            for each in list(self._open.values()):
                # The new assembler has not seen the open spans.
                each.passed_on = False
            self._assembler, self._settings = (
                Assembler(recorder.settings, local_origin(recorder.settings)),
                recorder.settings,
            )
        enclosing = []
        # Not list() and clear(): other threads append meanwhile, and popleft loses nothing.
        while self._enclosing:
            enclosing.append(self._enclosing.popleft())
        inside = {}
        if self._parents:
            known = ((span, self._parents.pop(_id_of(span), None)) for span in spans)
            inside = {_id_of(span): parent for span, parent in known if parent is not None}
        for item in SpanBatch(self._assembler, enclosing, spans, inside).items():
            recorder.put(item)


def _id_of(span: ReadableSpan) -> int:
    ids = span.get_span_context()
    return 0 if ids is None else ids.span_id


def _are_siblings(call: ToolSpan, span: ReadableSpan) -> bool:
    """Whether ``span``, which begins inside ``call``, has the parent of ``call``.

    The instrumentation then finds parents by itself instead of by the context.
    """
    parent, shared = span.parent, call.parent
    return parent is not None and shared is not None and parent.span_id == shared.span_id and call.is_recording()


def local_origin(settings: Settings) -> SpanOrigin:
    """Return this process as the origin of spans."""
    return SpanOrigin(settings.service_name, settings.host, os.getpid(), settings.release, settings.environment)


def _known_data(span: EnclosingSpan) -> SpanData | None:
    """Return the data that the assembler needs of ``span``; None for an open tool call, which has a record later."""
    if isinstance(span, SpanData):
        return span
    if not isinstance(span, OpenSpan):
        return from_sdk(span)
    enclosing = span.span
    known = attributes_of(enclosing)
    if isinstance(enclosing, ToolSpan) or is_tool_span(enclosing.name, known):
        return None
    # by key, because the attributes of an open span may change meanwhile
    return _outline(enclosing, {key: value for key in _OUTLINED if (value := known.get(key)) is not None})


def _outline(span: ReadableSpan, attributes: dict[str, Any]) -> SpanData:
    """Return only the parts of ``span`` that show its nesting, agent, conversation and model; the rest would waste memory."""
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
