"""The measured tool, its variants, and tooltrace with everything on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import structlog
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from pydantic import BaseModel

import tooltrace as tt
from benchmarks.bare_span import in_bare_span, provider
from benchmarks.payloads import Message

QUERY = "how to open a file that is not there"
ROWS = {"rows": [{"id": 1, "title": "open"}, {"id": 2, "title": "close"}], "total": 2}


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


def tool_response() -> tt.ToolResponse:
    """Return the measured ``ToolResponse``."""
    return tt.ToolResponse.success("Three open tickets.", {"tickets": 3})


def search(query: str, limit: int = 10) -> dict[str, Any]:
    """Search."""
    return ROWS


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


def bare_span_async(spans: TracerProvider) -> Callable[..., Any]:
    """The tool inside the SDK's span, as a coroutine."""
    call = in_bare_span(spans, search)

    async def call_async(query: str, limit: int = 10) -> dict[str, Any]:
        return call(query, limit)

    return call_async
