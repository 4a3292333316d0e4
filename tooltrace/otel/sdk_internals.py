"""The private names of the OpenTelemetry SDK and its API, in one place, each with what it buys in the calling thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

import opentelemetry.context as context_api
import opentelemetry.trace as trace_api
from opentelemetry.context.context import Context
from opentelemetry.sdk.trace import SpanLimits, SynchronousMultiSpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

(SPAN_KEY,) = trace_api.set_span_in_context(trace_api.INVALID_SPAN, Context())
"""Key of the current span in a context."""

# The variable of the current context. attach() and detach() of the API take 0.02 of a bare span longer, and detach() logs
# an error where a stream is closed in another context.
_var: Any = getattr(getattr(context_api, "_RUNTIME_CONTEXT", None), "_current_context", None)

if isinstance(_var, ContextVar):
    current_context: Callable[[], Context] = _var.get
    attach: Callable[[Context], Token[Context]] = _var.set

    def detach(token: Token[Context]) -> None:
        """Restore the context that was current before ``attach``.

        In another context (a generator closed by the garbage collector) there is nothing to restore.
        """
        try:  # contextlib.suppress costs a third of a microsecond
            _var.reset(token)
        except ValueError:
            return
else:  # a runtime context of the user's own (OTEL_PYTHON_CONTEXT)
    current_context = context_api.get_current
    attach = context_api.attach
    detach = context_api.detach


def _global_provider() -> trace_api.TracerProvider | None:
    return trace_api._TRACER_PROVIDER  # noqa: SLF001 - get_tracer_provider() takes 0.07 of a bare span where none is set


global_provider = _global_provider if hasattr(trace_api, "_TRACER_PROVIDER") else trace_api.get_tracer_provider
"""Return the provider that the application has set; None or a proxy if it has set none yet."""


def span_processor(provider: TracerProvider) -> SpanProcessor | None:
    """Return the processor that receives the provider's spans; None where the SDK has another name for it.

    Without it, a span of the SDK has to run beside ours, which costs one bare span more.
    """
    return getattr(provider, "_active_span_processor", None)


def parts_of(processor: SpanProcessor) -> tuple[SpanProcessor, ...]:
    """Return the processors to which that of a provider passes spans on; a new tuple after each addition.

    To skip those that do nothing at a span's start saves 0.02 of a bare span.
    """
    if type(processor) is not SynchronousMultiSpanProcessor:  # one that has threads, or of the application
        return (processor,)
    return getattr(processor, "_span_processors", (processor,))


def queue_of(processor: SpanProcessor) -> Callable[[ReadableSpan], None] | None:
    """Return the function with which the SDK's batch processor queues a sampled span; None for another processor.

    ``on_end`` reads the span's context before, which has to be built then: 0.05 of a bare span.
    """
    if type(processor) is not BatchSpanProcessor:  # a subclass may override on_end
        return None
    return getattr(getattr(processor, "_batch_processor", None), "emit", None)


def before_end(processor: SpanProcessor, span: Any) -> None:
    """Let ``processor`` change a span that is about to end, as the SDK does. No time is saved."""
    if (change := getattr(processor, "_on_ending", None)) is not None:
        change(span)


def span_limits(provider: TracerProvider) -> SpanLimits:
    """Return the provider's limits on attributes, events and links, else those of the environment."""
    return getattr(provider, "_span_limits", None) or SpanLimits()


def attributes_of(span: object) -> Mapping[str, Any]:
    """Return the attributes of a running ``span`` of any library, for reading; empty where it has none."""
    attributes = getattr(span, "attributes", None)
    return attributes if isinstance(attributes, Mapping) else {}
