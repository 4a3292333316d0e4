"""The span of one attempt: cheap to start and end, completed only when it is read.

The span is current while the tool runs, so ``get_current_span().set_attribute()`` works and spans started inside become
its children. Processors of the user's provider receive the span at start and end, in the calling thread and in the
SDK's order; its attributes come from the finished ``ToolCall``, on first read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import getrandbits
from time import time_ns
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState
from opentelemetry.util.types import Attributes, AttributeValue

from tooltrace.core.records import ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel import content_policy
from tooltrace.otel.span_codec import span_attributes

_T = TypeVar("_T")
_NO_STATE = TraceState()
_UNSET = Status(StatusCode.UNSET)


class SpanSink(Protocol):
    """The destination of an ended span, with the resource, scope and limits of the span."""

    scope: InstrumentationScope
    limits: SpanLimits | None

    @property
    def resource(self) -> Resource:
        """The resource of the provider that the span belongs to."""

    def ended(self, span: ToolSpan) -> None:
        """Pass an ended span on."""


class ToolSpan(Span, ReadableSpan):
    """An ``execute_tool`` span that is its own ``ReadableSpan``."""

    trace_state: TraceState = _NO_STATE
    span_attributes: dict[str, Any] | None = None
    """Attributes that were set on the span while it ran."""
    name: str = ""
    parent: SpanContext | None = None
    start_time: int = 0
    """Start of the span, in nanoseconds since the epoch."""
    end_time: int | None = None
    kind: SpanKind = SpanKind.INTERNAL
    dropped_events: int = 0
    dropped_links: int = 0
    instrumentation_info: None = None
    _context_cache: SpanContext | None = None
    _attribute_cache: Mapping[str, Any] | None = None
    _call: ToolCall | None = None
    _user_status: Status | None = None
    _event_list: tuple[Event, ...] = ()
    _link_list: tuple[Link, ...] = ()

    trace_id: int
    span_id: int = 0
    """Id of the span, set by the pipeline unless it is known before."""
    trace_flags: TraceFlags
    start: Mapping[str, Any]
    """Attributes that samplers and processors receive at the start."""
    pipeline: SpanSink
    """Destination of the ended span; a pipeline sets the fields above and this one when it starts the span."""

    # Methods that the tool may call on its span.

    def get_span_context(self) -> SpanContext:
        """Return the ids, built on first use."""
        context = self._context_cache
        if context is None:
            context = SpanContext(self.trace_id, self.span_id, False, self.trace_flags, self.trace_state)
            self._context_cache = context
        return context

    def is_recording(self) -> bool:
        """Whether the tool still runs. Sampling does not matter: the store needs the tool's attributes in any case."""
        return self.end_time is None

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        """Store the attribute with the call, under ``key``."""
        if self.end_time is None:
            if self.span_attributes is None:
                self.span_attributes = {}
            self.span_attributes[key] = value

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Set each attribute as :meth:`set_attribute` does."""
        for key, value in attributes.items():
            self.set_attribute(key, value)

    def add_event(self, name: str, attributes: Attributes = None, timestamp: int | None = None) -> None:
        """Add an event, which is exported with the span."""
        if self.end_time is None:
            limits = self.pipeline.limits
            if limits is None:
                # A new tuple instead of append: an exporter may read the events in another thread.
                self._event_list = (*self._event_list, Event(name, attributes, timestamp))
                return
            bounded = _bounded(attributes, limits.max_event_attributes, limits.max_attribute_length)
            self._event_list = _last((*self._event_list, Event(name, bounded, timestamp)), limits.max_events)

    def add_link(self, context: SpanContext, attributes: Attributes = None) -> None:
        """Add a link, which is exported with the span."""
        if self.end_time is None:
            limits = self.pipeline.limits
            if limits is None:
                self._link_list = (*self._link_list, Link(context, attributes))
                return
            bounded = _bounded(attributes, limits.max_link_attributes, limits.max_attribute_length)
            self._link_list = _last((*self._link_list, Link(context, bounded)), limits.max_links)

    def update_name(self, name: str) -> None:
        """Rename the span, not the tool."""
        if self.end_time is None:
            self.name = name

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """Override the status that the call's ending would set; OK is final, as in the SDK."""
        if self.end_time is not None or (self._user_status and self._user_status.status_code is StatusCode.OK):
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
        """Add an ``exception`` event without the stack trace: the text of traces is redacted, a stack trace cannot be."""
        kind = type(exception)
        described = {"exception.type": f"{kind.__module__}.{kind.__qualname__}", "exception.escaped": str(escaped)}
        self.add_event("exception", {**described, **(attributes or {})}, timestamp)

    @property
    def hex_id(self) -> str:
        """The span's id in the form of records: 16 hex digits."""
        return f"{self.span_id:016x}"

    @property
    def has_user_events(self) -> bool:
        """Whether the tool set events or a status."""
        return bool(self._event_list or self._user_status)

    def redact_events(
        self, attributes: Callable[[dict[str, Any]], dict[str, Any]], text: Callable[[str], str | None]
    ) -> None:
        """Remove secrets from the tool's events and from its status description."""
        self._event_list = tuple(
            Event(event.name, attributes(dict(event.attributes or {})), event.timestamp) for event in self._event_list
        )
        status = self._user_status
        if status is not None and status.description is not None:
            self._user_status = Status(status.status_code, text(status.description))

    def renew_id(self) -> None:
        """Give the span a new id, in a forked child whose parent ends the same span too."""
        self.span_id = getrandbits(64) or 1
        self._context_cache = None

    def add_from(self, outer: ToolSpan) -> None:
        """Add attributes, events, links and status of ``outer``, another span of the same execution."""
        if outer.span_attributes is not None:
            self.span_attributes = {**outer.span_attributes, **(self.span_attributes or {})}
        self._event_list = (*outer._event_list, *self._event_list)
        self._link_list = (*outer._link_list, *self._link_list)
        self._user_status = self._user_status or outer._user_status

    def backdate(self, ns: int) -> None:
        """Move the start back by ``ns`` nanoseconds, for an attempt that is recorded after the fact."""
        self.start_time -= ns

    def end(self, end_time: int | None = None) -> None:
        """End the span, once, and pass it to the provider's processors."""
        if self.end_time is None:
            self.end_time = time_ns() if end_time is None else end_time
            self.pipeline.ended(self)

    # Properties that processors and exporters read.

    @property
    def call(self) -> ToolCall | None:
        """The record of the attempt; None while it runs."""
        if self._call is None and self.end_time is not None:
            self._call = self.make_record()
        return self._call

    def make_record(self) -> ToolCall:
        """Return a new record of the ended span."""
        raise NotImplementedError

    @property
    def context(self) -> SpanContext:
        return self.get_span_context()

    @property
    def attributes(self) -> Attributes:
        return MappingProxyType(self._known_attributes())

    @property
    def dropped_attributes(self) -> int:
        return getattr(self._known_attributes(), "dropped", 0)

    def _known_attributes(self) -> Mapping[str, Any]:
        if self._attribute_cache is not None:
            return self._attribute_cache
        call = self.call
        if call is None:
            return {**(self.span_attributes or {}), **self.start}
        # The record is the source; attributes that only the sampler added at the start are kept.
        values = {**self.start, **span_attributes(call)}
        if not content_policy.current_policy().on_spans:
            values = content_policy.strip_content(values)
        limits = self.pipeline.limits
        self._attribute_cache = (
            values if limits is None else _bounded(values, limits.max_span_attributes, limits.max_span_attribute_length)
        )
        return self._attribute_cache

    @property
    def status(self) -> Status:
        call = self.call
        if self._user_status is not None:
            return self._user_status
        return Status(StatusCode.ERROR, call.error_message) if call and call.status == "error" else _UNSET

    @property
    def events(self) -> Sequence[Event]:
        _ = self.call  # making the record removes the secrets
        return self._event_list

    @property
    def links(self) -> Sequence[Link]:
        return self._link_list

    @property
    def resource(self) -> Resource:
        return self.pipeline.resource

    @property
    def instrumentation_scope(self) -> InstrumentationScope:
        return self.pipeline.scope

    def to_json(self, indent: int | None = 4) -> str:
        """Return the span as the SDK's span writes itself."""
        plain = ReadableSpan(
            self.name, self.context, self.parent, self.resource, self.attributes, self.events, self.links, self.kind,
            status=self.status, start_time=self.start_time, end_time=self.end_time,
            instrumentation_scope=self.instrumentation_scope,
        )  # fmt: skip
        return str(plain.to_json(indent))

    def __repr__(self) -> str:
        return f"ToolSpan(name={self.name!r}, trace_id={self.trace_id:032x}, span_id={self.span_id:016x})"


def _bounded(attributes: Attributes, most: int | None, longest: int | None) -> BoundedAttributes:
    return BoundedAttributes(most, attributes, immutable=True, max_value_len=longest)


def _last(all_: tuple[_T, ...], most: int | None) -> tuple[_T, ...]:
    return all_ if most is None else all_[len(all_) - most :] if len(all_) > most else all_


def start_attributes(tool: str, tool_type: str, agent: str | None = None) -> dict[str, Any]:
    """Return the attributes that the conventions require at the start, for samplers."""
    out = {names.OPERATION_NAME: names.EXECUTE_TOOL, names.TOOL_NAME: tool, names.TOOL_TYPE: tool_type}
    if agent is not None:
        out[names.AGENT_NAME] = agent
    return out
