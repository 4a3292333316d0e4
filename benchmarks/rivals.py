"""The measured tool: bare, in the SDK's span, and traced."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import structlog
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from pydantic import BaseModel

import tooltrace as tt

QUERY = "how to open a file that is not there"
ROWS = {"rows": [{"id": 1, "title": "open"}, {"id": 2, "title": "close"}], "total": 2}


class NullExporter(SpanExporter):
    """An exporter that discards spans."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


def provider() -> TracerProvider:
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(NullExporter(), max_queue_size=1_000_000))
    return made


def everything_on(store: Path) -> TracerProvider:
    """Configure a span with a batch processor, a metric, a log line and the journal.

    ``durability`` is the default of a program. A child process of multiprocessing, as each measurement is, has another.
    """
    spans = provider()
    metrics.set_meter_provider(MeterProvider(metric_readers=[InMemoryMetricReader()], shutdown_on_exit=False))
    sink = Path(os.devnull).open("w")  # noqa: SIM115 - open as long as the process
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer()],
        logger_factory=structlog.PrintLoggerFactory(sink),
        cache_logger_on_first_use=True,
    )
    tt.configure(store=store, tracer_provider=spans, durability="batch")
    return spans


def search(query: str, limit: int = 10) -> dict[str, Any]:
    """Search."""
    return ROWS


class Message(BaseModel):
    """One of a conversation's messages."""

    role: str = "user"
    content: str = "word " * 30
    tool_call_id: str | None = None


class RunContext(BaseModel):
    """The run context of an agent framework: the whole conversation."""

    messages: list[Message] = [Message() for _ in range(200)]


class Named(BaseModel):
    """An agent."""

    name: str = "clerk"


class RunContextWithIds(RunContext):
    """The same, with what Pydantic AI's run context says about the call."""

    tool_call_id: str = "call_1"
    conversation_id: str = "chat"
    agent: Named = Named()


RunContextWithIds.__module__ = "pydantic_ai.tools"  # it is recognised by its module


def search_in_run(ctx: RunContext, query: str, limit: int = 10) -> dict[str, Any]:
    """Search."""
    return ROWS


async def search_async(query: str, limit: int = 10) -> dict[str, Any]:
    """Search."""
    return ROWS


def stream(count: int) -> Iterator[str]:
    """Give words, as a model's tool streams them."""
    for _ in range(count):
        yield "a word "


def bare_span(spans: TracerProvider) -> Callable[..., Any]:
    """The same call inside the SDK's span."""
    tracer = spans.get_tracer("bare")

    def call(query: str, limit: int = 10) -> dict[str, Any]:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": "call_1",
            "gen_ai.agent.name": "agent",
            "gen_ai.conversation.id": "conversation",
            "tool.query": query,
            "tool.limit": limit,
            "tool.attempt": 1,
            "tool.cached": False,
        }
        with tracer.start_as_current_span(
            "execute_tool search", attributes=attributes, record_exception=False, set_status_on_exception=False
        ):
            return search(query, limit)

    return call


def bare_span_async(spans: TracerProvider) -> Callable[..., Any]:
    """The same, for a coroutine."""
    call = bare_span(spans)

    async def call_async(query: str, limit: int = 10) -> dict[str, Any]:
        return call(query, limit)

    return call_async
