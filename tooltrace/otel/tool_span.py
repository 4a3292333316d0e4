"""The span of one attempt: light to start and end, made in full only when somebody reads it.

It is the current span while the tool runs, so ``get_current_span().set_attribute()`` works and spans
begun inside become its children. Processors of the user's provider receive it at start and end, in the
calling thread and in the SDK's order; its attributes come from the finished ``ToolCall``, on first read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import time_ns
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState
from opentelemetry.util.types import Attributes, AttributeValue

from tooltrace.core.records import ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel import content_policy
from tooltrace.otel.sdk_internals import BoundedAttributes
from tooltrace.otel.span_codec import span_attributes

_T = TypeVar("_T")
_NO_STATE = TraceState()
_UNSET = Status(StatusCode.UNSET)


class SpanSink(Protocol):
    """Where a span goes when it has ended, and what it goes with."""

    scope: InstrumentationScope
    limits: SpanLimits | None

    @property
    def resource(self) -> Resource:
        """The resource of the provider that the span belongs to."""

    def ended(self, span: ToolSpan) -> bool:
        """Give an ended span on. Returns whether :meth:`wake_exporters` is due soon."""

    def wake_exporters(self) -> None:
        """Wake the exporters that have a full batch."""


class ToolSpan(Span, ReadableSpan):
    """An ``execute_tool`` span that is its own ``ReadableSpan``."""

    trace_state: TraceState = _NO_STATE
    span_attributes: dict[str, Any] | None = None
    """What was set on the span while it ran."""
    finish: Callable[[Any], ToolCall] | None = None
    """Makes the record, of the span that has ended."""
    _end_time: int | None = None
    _context_cache: SpanContext | None = None
    _attribute_cache: Mapping[str, Any] | None = None
    _call: ToolCall | None = None
    _user_status: Status | None = None
    _event_list: tuple[Event, ...] = ()
    _link_list: tuple[Link, ...] = ()

    trace_id: int
    span_id: int = 0
    """Given by the pipeline, unless it is known before."""
    _parent: SpanContext | None
    trace_flags: TraceFlags
    start: Mapping[str, Any]
    """The attributes that samplers and processors see at the start."""
    pipeline: SpanSink
    """Where it goes when it has ended; a pipeline sets all of these when it starts the span."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.started_ns = time_ns()

    # what the tool may do to its span

    def get_span_context(self) -> SpanContext:
        """The ids, built when first asked for."""
        context = self._context_cache
        if context is None:
            context = SpanContext(self.trace_id, self.span_id, False, self.trace_flags, self.trace_state)
            self._context_cache = context
        return context

    def is_recording(self) -> bool:
        """True until the tool has ended, sampled or not: the store wants what the tool sets."""
        return self._end_time is None

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        """Kept with the call, under ``key``."""
        if self._end_time is None:
            if self.span_attributes is None:
                self.span_attributes = {}
            self.span_attributes[key] = value

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Each as by :meth:`set_attribute`."""
        for key, value in attributes.items():
            self.set_attribute(key, value)

    def add_event(self, name: str, attributes: Attributes = None, timestamp: int | None = None) -> None:
        """Goes out with the span."""
        if self._end_time is None:
            limits = self.pipeline.limits
            if limits is None:
                self._event_list = (*self._event_list, Event(name, attributes, timestamp))
                return
            kept = _bounded(attributes, limits.max_event_attributes, limits.max_attribute_length)
            self._event_list = _last((*self._event_list, Event(name, kept, timestamp)), limits.max_events)

    def add_link(self, context: SpanContext, attributes: Attributes = None) -> None:
        """Goes out with the span."""
        if self._end_time is None:
            limits = self.pipeline.limits
            if limits is None:
                self._link_list = (*self._link_list, Link(context, attributes))
                return
            kept = _bounded(attributes, limits.max_link_attributes, limits.max_attribute_length)
            self._link_list = _last((*self._link_list, Link(context, kept)), limits.max_links)

    def update_name(self, name: str) -> None:
        """Renames the span, not the tool."""
        if self._end_time is None:
            self._name = name

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """Overrides the status that the call's ending would give; OK is final, as in the SDK."""
        if self._end_time is not None or (self._user_status and self._user_status.status_code is StatusCode.OK):
            return
        new = status if isinstance(status, Status) else Status(status, description)
        if new.status_code is not StatusCode.UNSET:
            self._user_status = new

    def record_exception(
        self,
        exception: BaseException,
        attributes: Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        """An ``exception`` event without the stack: a trace's text is redacted, a stack cannot be."""
        kind = type(exception)
        own = {"exception.type": f"{kind.__module__}.{kind.__qualname__}", "exception.escaped": str(escaped)}
        self.add_event("exception", {**own, **(attributes or {})}, timestamp)

    @property
    def hex_id(self) -> str:
        """The span's id as records have it: 16 hex digits."""
        return f"{self.span_id:016x}"

    @property
    def spoke(self) -> bool:
        """Whether events or a status were set."""
        return bool(self._event_list or self._user_status)

    def cleanse(
        self, attributes: Callable[[dict[str, Any]], dict[str, Any]], text: Callable[[str], str | None]
    ) -> None:
        """Take secrets out of what the tool said in events and in the span's status."""
        self._event_list = tuple(
            Event(event.name, attributes(dict(event.attributes or {})), event.timestamp) for event in self._event_list
        )
        status = self._user_status
        if status is not None and status.description is not None:
            self._user_status = Status(status.status_code, text(status.description))

    def backdate(self, ns: int) -> None:
        """The attempt began ``ns`` nanoseconds ago: it is recorded after the fact."""
        self.started_ns -= ns

    def end(self, end_time: int | None = None) -> None:
        """End the span, once, and hand it to the provider's processors."""
        self.end_and_tell(end_time)

    def end_and_tell(self, end_time: int | None = None) -> bool:
        """End the span as :meth:`end` does. Returns whether an exporter of the provider's has a full batch."""
        if self._end_time is not None:
            return False
        self._end_time = time_ns() if end_time is None else end_time
        return self.pipeline.ended(self)

    # what readers see

    @property
    def call(self) -> ToolCall | None:
        """The record of the attempt; None while it runs."""
        if self._call is None and self._end_time is not None and self.finish is not None:
            self._call = self.finish(self)
        return self._call

    @property
    def context(self) -> SpanContext:
        return self._context_cache or self.get_span_context()

    @property
    def _context(self) -> SpanContext:  # type: ignore[override]
        return self._context_cache or self.get_span_context()

    @property
    def _attributes(self) -> Mapping[str, Any]:  # type: ignore[override]
        if self._attribute_cache is not None:
            return self._attribute_cache
        call = self.call
        if call is None:
            return {**(self.span_attributes or {}), **self.start}
        said = {**self.start, **span_attributes(call)}
        self._attribute_cache = self._bounded(
            said if content_policy.current_policy().on_spans else content_policy.strip_content(said)
        )
        return self._attribute_cache

    def _bounded(self, attributes: dict[str, Any]) -> Mapping[str, Any]:
        limits = self.pipeline.limits
        if limits is None:
            return attributes
        return BoundedAttributes(
            limits.max_span_attributes,
            attributes,
            immutable=True,
            max_value_len=limits.max_span_attribute_length,
        )

    @property
    def attributes(self) -> Attributes:
        return MappingProxyType(self._attributes)

    @property
    def _status(self) -> Status:  # type: ignore[override]
        call = self.call
        if self._user_status is not None:
            return self._user_status
        return Status(StatusCode.ERROR, call.error_message) if call and call.status == "error" else _UNSET

    @property
    def _start_time(self) -> int:  # type: ignore[override]
        return self.started_ns

    @property
    def _kind(self) -> SpanKind:  # type: ignore[override]
        return SpanKind.INTERNAL

    @property
    def _events(self) -> Sequence[Event]:  # type: ignore[override]
        _ = self.call  # whose making takes secrets out
        return self._event_list

    @property
    def _links(self) -> Sequence[Link]:  # type: ignore[override]
        return self._link_list

    @property
    def _resource(self) -> Resource:  # type: ignore[override]
        return self.pipeline.resource

    @property
    def _instrumentation_scope(self) -> InstrumentationScope:  # type: ignore[override]
        return self.pipeline.scope

    @property
    def _instrumentation_info(self) -> None:  # type: ignore[override]
        return None

    def __repr__(self) -> str:
        return f"ToolSpan(name={self._name!r}, trace_id={self.trace_id:032x}, span_id={self.span_id:016x})"


def _bounded(attributes: Attributes, most: int | None, longest: int | None) -> BoundedAttributes:
    return BoundedAttributes(most, attributes, immutable=True, max_value_len=longest)


def _last(all_: tuple[_T, ...], most: int | None) -> tuple[_T, ...]:
    return all_ if most is None else all_[len(all_) - most :] if len(all_) > most else all_


def start_attributes(tool: str, tool_type: str, agent: str | None = None) -> dict[str, Any]:
    """What the conventions ask to be set at the start, for samplers."""
    out = {names.OPERATION_NAME: names.EXECUTE_TOOL, names.TOOL_NAME: tool, names.TOOL_TYPE: tool_type}
    if agent is not None:
        out[names.AGENT_NAME] = agent
    return out
