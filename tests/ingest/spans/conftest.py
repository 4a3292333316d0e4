"""Spans as other instrumentations make them, and what becomes of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tooltrace.core.records import Span, ToolCall
from tooltrace.ingest.spans import Assembler
from tooltrace.otel.span_data import EventData, SpanData
from tooltrace.recording.settings import Settings

Take = Callable[..., list[ToolCall | Span]]
TRACE = "0af7651916cd43dd8448eb211c80319c"
START = 1_790_000_000_000_000_000
_numbers = itertools.count(1)


def span(name: str = "span", parent: SpanData | None = None, **fields: Any) -> SpanData:
    """A span inside ``parent`` that begins after it and ends before it. ``fields`` are the form's; ``error`` makes it
    end with that exception."""
    number = next(_numbers)
    error = fields.pop("error", None)
    if error is not None:
        kind, message = error
        span_attributes = {
            "exception.type": kind,
            "exception.message": message,
            "exception.stacktrace": "Traceback: secret line",
        }
        fields |= {
            "status": "error",
            "events": (EventData(name="exception", time_ns=START + 5, attributes=span_attributes),),
        }
    depth = 0 if parent is None else (parent.start_ns - START) // 1_000_000 + 1
    made = {
        "trace_id": TRACE if parent is None else parent.trace_id,
        "span_id": f"{number:016x}",
        "parent_span_id": None if parent is None else parent.span_id,
        "start_ns": START + depth * 1_000_000,
        "end_ns": START + 100_000_000 - depth * 1_000_000 + number,
        "scope": "lib",
    }
    return SpanData(name=name, **(made | fields))


def tool(name: str = "add", parent: SpanData | None = None, call_id: str | None = None, **fields: Any) -> SpanData:
    """An ``execute_tool`` span. ``arguments`` and ``result`` become its attributes."""
    span_attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        **fields.pop("attributes", {}),
    }
    for key in ("arguments", "result"):
        if key in fields:
            span_attributes[f"gen_ai.tool.call.{key}"] = json.dumps(fields.pop(key))
    if call_id is not None:
        span_attributes["gen_ai.tool.call.id"] = call_id
    return span(f"execute_tool {name}", parent, attributes=span_attributes, **fields)


def mcp(name: str | None = "add", parent: SpanData | None = None, kind: str = "client", **fields: Any) -> SpanData:
    """A span of the method ``tools/call``; without a name in its attributes where that is None."""
    span_attributes = {"mcp.method.name": "tools/call", **fields.pop("attributes", {})}
    if name is not None:
        span_attributes["gen_ai.tool.name"] = name
    return span(
        "tools/call" if name is None else f"tools/call {name}", parent, attributes=span_attributes, kind=kind, **fields
    )


def calls_of(records: Sequence[ToolCall | Span]) -> list[ToolCall]:
    """The tool calls among ``records``."""
    return [record for record in records if isinstance(record, ToolCall)]


def data(text: str | None) -> Any:
    """Return the value of a JSON field."""
    return None if text is None else json.loads(text)


@pytest.fixture
def take() -> Take:
    """The records of spans, in one batch or in several: each list is one."""

    def take(*batches: Sequence[SpanData] | SpanData, **settings: Any) -> list[ToolCall | Span]:
        assembler = Assembler(Settings(store=None, **settings))
        if all(isinstance(batch, SpanData) for batch in batches):
            return assembler.convert(batches)  # type: ignore[arg-type]
        return [record for batch in batches for record in assembler.convert(batch)]  # type: ignore[arg-type]

    return take
