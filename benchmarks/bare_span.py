"""The reference of every ratio: the OpenTelemetry SDK's span with ten attributes, around a tool.

The batch processor passes spans to an exporter that discards them. Nothing here imports tooltrace, so that other environments
measure the same reference.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from benchmarks.payloads import written


class NullExporter(SpanExporter):
    """An exporter that discards spans."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True


def provider() -> TracerProvider:
    """Return a provider with a batch processor that discards spans, and with room for each burst of calls."""
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(NullExporter(), max_queue_size=1_000_000))
    return made


def in_span_with_content(spans: TracerProvider, tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``tool`` inside a span with its arguments and its result, as one writes it by hand."""
    tracer = spans.get_tracer("content")

    @functools.wraps(tool)
    def call(**arguments: Any) -> Any:
        with tracer.start_as_current_span("execute_tool search") as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", "search")
            span.set_attribute("gen_ai.tool.call.arguments", written(arguments))
            result = tool(**arguments)
            span.set_attribute("gen_ai.tool.call.result", written(result))
            return result

    return call


def in_bare_span(spans: TracerProvider, tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``tool`` inside the SDK's span, which has ten attributes from its creation and no content of the call."""
    tracer = spans.get_tracer("bare")

    @functools.wraps(tool)
    def call(*arguments: Any, **named: Any) -> Any:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": "call_1",
            "gen_ai.agent.name": "agent",
            "gen_ai.conversation.id": "conversation",
            "tool.query": "how to open a file that is not there",
            "tool.limit": 5,
            "tool.attempt": 1,
            "tool.cached": False,
        }
        with tracer.start_as_current_span(
            "execute_tool search", attributes=attributes, record_exception=False, set_status_on_exception=False
        ):
            return tool(*arguments, **named)

    return call
