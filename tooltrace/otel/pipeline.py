"""Pipelines for our spans: no provider, the user's SDK provider, or a provider of another library."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import getrandbits
from threading import get_ident
from typing import TYPE_CHECKING, Any, cast

import opentelemetry.trace as trace_api
from opentelemetry.context.context import Context
from opentelemetry.sdk.environment_variables import OTEL_SDK_DISABLED
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, DEFAULT_ON, Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Span, SpanContext, SpanKind, TraceFlags

from tooltrace.otel import attributes as names
from tooltrace.otel import sdk_internals
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.version import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
    from opentelemetry.sdk.trace.sampling import Sampler

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_RANDOM: int = getattr(TraceFlags, "RANDOM_TRACE_ID", 0)
_FLAGS = {
    (sampled, random): TraceFlags((TraceFlags.SAMPLED if sampled else 0) | (_RANDOM if random else 0))
    for sampled in (True, False)
    for random in (True, False)
}
_SCOPE = InstrumentationScope("tooltrace", __version__, names.SCHEMA_URL)


class Pipeline:
    """Pipeline without a provider: spans get ids and parents, and only the record uses them."""

    resource: Resource = Resource.get_empty()
    scope = _SCOPE
    limits: SpanLimits | None = None

    def start(self, span: ToolSpan, attributes: Mapping[str, Any], context: Context) -> None:
        """Start ``span`` as a child of the current span in ``context``."""
        span.pipeline = self
        span.start = attributes
        parent = parent_of(context) if sdk_internals.SPAN_KEY in context else None
        span.parent = parent
        span.trace_id = getrandbits(128) or 1 if parent is None else parent.trace_id
        if not span.span_id:
            span.span_id = getrandbits(64) or 1
        span.trace_flags = _SAMPLED

    def ended(self, span: ToolSpan) -> None:
        """Pass an ended span on."""


class SdkPipeline(Pipeline):
    """Pipeline to the SDK's provider: it uses the provider's sampler, ids and processors."""

    def __init__(self, provider: TracerProvider, processor: SpanProcessor) -> None:
        self._provider = provider
        self._processor = processor
        self._sampler: Sampler = provider.sampler
        # by identity: a subclass may decide anew each time
        self._samples_all = provider.sampler is ALWAYS_ON or provider.sampler is DEFAULT_ON
        self._ids = provider.id_generator
        self._has_random_ids = bool(_RANDOM) and self._ids.is_trace_id_random()
        self._known: tuple[SpanProcessor, ...] = ()
        self._starting: tuple[SpanProcessor, ...] = ()
        """The processors but the SDK's batch processors, which do nothing when a span starts."""
        self._queues: tuple[tuple[Callable[[ReadableSpan], None] | None, SpanProcessor], ...] = ()
        self._busy: set[int] = set()
        """Threads in which a processor runs. It may hold a lock that is not reentrant, as the SDK's batch processor does."""
        self._interrupting: deque[ToolSpan] = deque()
        """Ended spans of signal handlers and finalizers that interrupted such a thread; it passes them on afterwards."""
        self._root_flags = _FLAGS[True, self._has_random_ids]
        self.limits = sdk_internals.span_limits(provider)

    @property
    def resource(self) -> Resource:  # type: ignore[override]
        return self._provider.resource

    def start(self, span: ToolSpan, attributes: Mapping[str, Any], context: Context) -> None:
        span.start = attributes
        span.parent = parent = parent_of(context)
        span.trace_id = self._ids.generate_trace_id() if parent is None else parent.trace_id
        if not span.span_id:
            span.span_id = self._ids.generate_span_id()
        # the sampler would take a tenth of the cost of a call, and most agents record every call
        if self._samples_all and parent is None:
            span.trace_flags = self._root_flags
        elif self._samples_all and parent is not None and parent.trace_flags & _SAMPLED:
            span.trace_flags, span.trace_state = parent.trace_flags, parent.trace_state
        else:
            decision = self._decide(span, attributes, context)
            random = self._has_random_ids if parent is None else parent.trace_flags & _RANDOM
            span.trace_flags = _FLAGS[decision is Decision.RECORD_AND_SAMPLE, bool(random)]
            if decision is Decision.DROP:
                span.pipeline = _NO_OUTPUT
                return
        span.pipeline = self
        processors = sdk_internals.parts_of(self._processor)
        if processors != self._known:  # they can be added at any time
            self._queues = tuple((sdk_internals.queue_of(each), each) for each in processors)
            self._starting = tuple(each for queue, each in self._queues if queue is None)
            self._known = processors
        for each in self._starting:
            each.on_start(span, parent_context=context)  # type: ignore[arg-type]

    def _decide(self, span: ToolSpan, attributes: Mapping[str, Any], context: Context) -> Decision:
        result = self._sampler.should_sample(context, span.trace_id, span.name, SpanKind.INTERNAL, attributes, ())
        if result.attributes is not None:
            span.start = result.attributes
        if result.trace_state is not None:
            span.trace_state = result.trace_state
        return result.decision

    def ended(self, span: ToolSpan) -> None:
        thread = get_ident()
        if thread in self._busy:
            self._interrupting.append(span)
            return
        try:
            self._busy.add(thread)
            for each in self._starting:
                sdk_internals.before_end(each, span)
            for queue, each in self._queues:
                if queue is None:
                    each.on_end(span)
                elif span.trace_flags & _SAMPLED:
                    queue(span)
        finally:
            self._busy.discard(thread)
        while self._interrupting:
            with suppress(IndexError):  # another thread has taken it
                self.ended(self._interrupting.popleft())


class CustomProviderPipeline(Pipeline):
    """Pipeline to a custom provider: a second span runs beside ours, with the same ids and attributes."""

    def __init__(self, provider: trace_api.TracerProvider) -> None:
        self._tracer = provider.get_tracer("tooltrace", __version__, schema_url=names.SCHEMA_URL)

    def start(self, span: ToolSpan, attributes: Mapping[str, Any], context: Context) -> None:
        forwarded = self._tracer.start_span(
            span.name,
            context=context,
            attributes=dict(attributes),
            start_time=span.start_time,
            set_status_on_exception=False,
        )
        # First the ids of a span without a provider, for a provider whose span has no valid ids.
        _NO_OUTPUT.start(span, attributes, context)
        ids = forwarded.get_span_context()
        if ids.is_valid:
            span.trace_id, span.span_id, span.trace_flags = ids.trace_id, ids.span_id, ids.trace_flags
            span.trace_state, span.pipeline = ids.trace_state, ForwardingPipeline(forwarded)


class ForwardingPipeline(Pipeline):
    """Pipeline to one span of another library, which ends when ours does."""

    def __init__(self, forwarded: Span) -> None:
        self._forwarded = forwarded

    def ended(self, span: ToolSpan) -> None:
        # The provider's own span has the start attributes only; the others are known when the call has ended.
        self._forwarded.set_attributes(dict(span.attributes or {}))
        self._forwarded.set_status(span.status)
        self._forwarded.end(span.end_time)


_NO_OUTPUT = Pipeline()


def pipeline_for(provider: trace_api.TracerProvider | None) -> Pipeline:
    """Return the pipeline for ``provider``."""
    if provider is None or isinstance(provider, trace_api.NoOpTracerProvider | trace_api.ProxyTracerProvider):
        return _NO_OUTPUT
    if isinstance(provider, TracerProvider):
        # not by the tracer that it gives: get_tracer holds a lock that a signal handler would wait for
        if os.environ.get(OTEL_SDK_DISABLED, "").strip().lower() == "true":
            return _NO_OUTPUT
        if processor := sdk_internals.span_processor(provider):
            return SdkPipeline(provider, processor)
    return CustomProviderPipeline(provider)


def parent_of(context: Context) -> SpanContext | None:
    """Return the ids of the current span in ``context``; None at the root."""
    span = context.get(sdk_internals.SPAN_KEY)
    if span is None:
        return None
    if ToolSpan in type(span).__mro__:  # isinstance is slow for a class with abstract bases
        return cast(ToolSpan, span).get_span_context()
    if not isinstance(span, Span):
        return None
    ids = span.get_span_context()
    return ids if ids.is_valid else None
