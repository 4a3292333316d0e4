"""Pipelines for our spans: no provider, the user's SDK provider, or a provider of another library."""

from __future__ import annotations

from collections.abc import Mapping
from random import getrandbits
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import opentelemetry.trace as trace_api
from opentelemetry.context.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, SynchronousMultiSpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Span, SpanContext, SpanKind, TraceFlags

from tooltrace.otel import attributes as names
from tooltrace.otel import sdk_internals
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.version import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.sdk.trace.sampling import Sampler

_SAMPLED_BIT = int(TraceFlags.SAMPLED)
_DROP = Decision.DROP  # a member is read slowly from its class
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
        span._parent = parent  # noqa: SLF001 - the name that ReadableSpan reads
        span.trace_id = getrandbits(128) or 1 if parent is None else parent.trace_id
        if not span.span_id:
            span.span_id = getrandbits(64) or 1
        span.trace_flags = _SAMPLED

    def ended(self, span: ToolSpan) -> bool:  # noqa: ARG002 - for the pipelines that give it on
        """Pass an ended span on. Return whether :meth:`wake_exporters` should be called soon."""
        return False

    def wake_exporters(self) -> None:
        """Wake the exporters that have a full batch. Not to be called in a tool's thread: it takes locks of the SDK."""


class SdkPipeline(Pipeline):
    """Pipeline to the SDK's provider: it uses the provider's sampler, ids and processors."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._sampler: Sampler = provider.sampler
        self._at_root, self._under_sampled = sdk_internals.constant_decisions(provider.sampler)
        self._ids = provider.id_generator
        self._makes_random_ids = sdk_internals.makes_random_ids(self._ids)
        self._processor = processor = sdk_internals.span_processor(provider)
        self._several = processor if type(processor) is SynchronousMultiSpanProcessor else None
        self._known: tuple[SpanProcessor, ...] = ()
        self._starting: tuple[SpanProcessor, ...] = ()
        """Processors that do something when a span starts."""
        self._ending: tuple[SpanProcessor, ...] = ()
        """Processors that do something before a span ends."""
        self._queues: tuple[tuple[sdk_internals.BatchQueue | None, SpanProcessor], ...] = ()
        self.limits = sdk_internals.span_limits(provider)
        self._random_ids = bool(_RANDOM) and self._ids.is_trace_id_random()
        self._root_flags = self._flags(self._at_root is Decision.RECORD_AND_SAMPLE, None)

    @property
    def resource(self) -> Resource:  # type: ignore[override]
        return self._provider.resource

    def start(self, span: ToolSpan, attributes: Mapping[str, Any], context: Context) -> None:
        # The first two cases are those of most agents: the decision is constant, so that the sampler is skipped.
        enclosing = context.get(sdk_internals.SPAN_KEY)
        if enclosing is None and self._at_root is not None:
            span._parent = None  # noqa: SLF001
            span.trace_id = getrandbits(128) or 1 if self._makes_random_ids else self._ids.generate_trace_id()
            span.start, span.trace_flags, decision = attributes, self._root_flags, self._at_root
        elif self._is_sampled_here(enclosing) and self._under_sampled is Decision.RECORD_AND_SAMPLE:
            span._parent = enclosing.get_span_context()  # noqa: SLF001
            span.trace_id, span.trace_flags, span.trace_state = (
                enclosing.trace_id,
                enclosing.trace_flags,
                enclosing.trace_state,
            )
            span.start, decision = attributes, Decision.RECORD_AND_SAMPLE
        else:
            span._parent = parent = parent_of(context)  # noqa: SLF001
            span.trace_id = self._ids.generate_trace_id() if parent is None else parent.trace_id
            decision = self._decide(span, attributes, context)
            span.trace_flags = self._flags(decision is Decision.RECORD_AND_SAMPLE, parent)
        if not span.span_id:
            span.span_id = getrandbits(64) or 1 if self._makes_random_ids else self._ids.generate_span_id()
        if decision is _DROP:
            span.pipeline = _NO_OUTPUT
            return
        span.pipeline = self
        if self._several is None:
            self._processor.on_start(span, parent_context=context)  # type: ignore[arg-type]
            return
        processors = self._several._span_processors  # noqa: SLF001 - the SDK replaces the tuple and never changes it
        if processors is not self._known:
            # Processors can be added at any time; the SDK then sets a new tuple, which the identity shows.
            self._learn(processors)
        for processor in self._starting:
            processor.on_start(span, parent_context=context)  # type: ignore[arg-type]

    def _is_sampled_here(self, enclosing: object) -> TypeGuard[ToolSpan]:
        """Whether the ``enclosing`` span is one of ours, of the same provider, and sampled."""
        return (
            ToolSpan in type(enclosing).__mro__  # isinstance is slow for a class with abstract bases
            and cast(ToolSpan, enclosing).pipeline is self
            and bool(cast(ToolSpan, enclosing).trace_flags & _SAMPLED_BIT)
        )

    def _learn(self, processors: tuple[SpanProcessor, ...]) -> None:
        """Note which of the provider's ``processors`` take part in a span's start and in its end."""
        self._starting = sdk_internals.acting(processors, "on_start")
        self._ending = sdk_internals.acting(processors, "_on_ending")
        self._queues = tuple((sdk_internals.BatchQueue.of(processor), processor) for processor in processors)
        self._known = processors

    def _decide(self, span: ToolSpan, attributes: Mapping[str, Any], context: Context) -> Decision:
        """Return the sampler's decision; sampling is skipped if the decision is constant."""
        span.start = attributes
        parent = span.parent
        if parent is not None and parent.trace_flags & 1 and not parent.is_remote and self._under_sampled is not None:
            span.trace_state = parent.trace_state
            return self._under_sampled
        result = self._sampler.should_sample(context, span.trace_id, span.name, SpanKind.INTERNAL, attributes, ())
        if result.attributes is not None:
            span.start = result.attributes
        if result.trace_state is not None:
            span.trace_state = result.trace_state
        return result.decision

    def _flags(self, sampled: bool, parent: SpanContext | None) -> TraceFlags:
        """Return the trace flags: sampled or not, and random if the ids are (W3C level 2, SDK 1.45)."""
        random = self._random_ids if parent is None else parent.trace_flags & _RANDOM
        return _FLAGS[sampled, bool(random)]

    def ended(self, span: ToolSpan) -> bool:
        if self._several is None:
            self._processor._on_ending(span)  # type: ignore[arg-type]  # noqa: SLF001 - part of the SDK's own order
            self._processor.on_end(span)
            return False
        processors = self._several._span_processors  # noqa: SLF001 - the SDK replaces the tuple and never changes it
        if processors is not self._known:
            self._learn(processors)
        for processor in self._ending:
            processor._on_ending(span)  # type: ignore[arg-type]  # noqa: SLF001
        due = False
        for queue, processor in self._queues:
            if queue is None:
                processor.on_end(span)
            # Only sampled spans are exported; a span that is only recorded stays out of the queue.
            elif span.trace_flags & _SAMPLED_BIT:
                due = queue.add(span) or due
        return due

    def wake_exporters(self) -> None:
        for queue, _ in self._queues:
            if queue is not None:
                queue.wake()


class CustomProviderPipeline(Pipeline):
    """Pipeline to a custom provider: a second span runs beside ours, with the same ids and attributes."""

    def __init__(self, provider: trace_api.TracerProvider) -> None:
        self._tracer = provider.get_tracer("tooltrace", __version__, schema_url=names.SCHEMA_URL)

    def start(self, span: ToolSpan, attributes: Mapping[str, Any], context: Context) -> None:
        forwarded = self._tracer.start_span(
            span.name,
            context=context,
            attributes=dict(attributes),
            start_time=span.started_ns,
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

    def ended(self, span: ToolSpan) -> bool:
        # The provider's own span has the start attributes only; the others are known when the call has ended.
        self._forwarded.set_attributes(dict(span.attributes or {}))
        self._forwarded.set_status(span.status)
        self._forwarded.end(span.end_time)
        return False


_NO_OUTPUT = Pipeline()


def pipeline_for(provider: trace_api.TracerProvider | None) -> Pipeline:
    """Return the pipeline for ``provider``."""
    if provider is None or isinstance(provider, trace_api.NoOpTracerProvider):
        return _NO_OUTPUT
    if isinstance(provider, TracerProvider):
        return _NO_OUTPUT if sdk_internals.is_disabled(provider) else SdkPipeline(provider)
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
