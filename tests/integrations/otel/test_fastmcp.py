"""fastmcp's own spans: client, SDK and server show one call, and it is one row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tooltrace as tt
from tests.integrations.otel.conftest import data
from tooltrace.core.records import ToolCall

fastmcp: Any = pytest.importorskip("fastmcp", reason="needs fastmcp: make test-fastmcp")

Calls = Callable[[], list[ToolCall]]


@pytest.fixture
def server(provider: TracerProvider) -> Any:
    server = fastmcp.FastMCP("shop")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def read(path: str) -> str:
        raise FileNotFoundError(f"no such file: {path}")

    return server


async def test_three_spans_are_one_call(server: Any, calls: Calls) -> None:
    async with fastmcp.Client(server) as client:
        await client.call_tool("add", {"a": 1, "b": 2})
    (call,) = calls()
    assert (call.tool, call.tool_type, call.status, call.ending) == ("add", "extension", "success", "returned")
    assert call.parent_span_id is None, "the record has the ids of the outermost span"
    span_attributes = data(call.attributes)
    assert (span_attributes["mcp.method.name"], span_attributes["fastmcp.server.name"]) == ("tools/call", "shop")


async def test_a_refusal_of_a_server_is_an_error_with_its_reason(server: Any, calls: Calls) -> None:
    async with fastmcp.Client(server) as client:
        for name, arguments in (("read", {"path": "a.txt"}), ("nothing", {}), ("add", {"a": "one"})):
            result = await client.call_tool(name, arguments, raise_on_error=False)
            assert result.is_error
    failed, unknown, wrong = calls()
    assert [call.status for call in (failed, unknown, wrong)] == ["error"] * 3
    assert (failed.tool, failed.code, failed.error_type) == ("read", "NOT_FOUND", "fastmcp.exceptions.ToolError")
    assert "no such file: a.txt" in (failed.error_message or "")
    assert (unknown.code, unknown.error_message) == ("NOT_FOUND", "Unknown tool: 'nothing'")
    assert wrong.code == "INVALID_PARAM"


async def test_calls_side_by_side_are_calls_of_their_own(server: Any, calls: Calls) -> None:
    import asyncio

    async with fastmcp.Client(server) as client:
        await asyncio.gather(*(client.call_tool("add", {"a": n, "b": n}) for n in range(20)))
    assert [call.status for call in calls()] == ["success"] * 20


async def test_the_span_of_an_enclosing_framework_is_the_same_call(
    server: Any, provider: TracerProvider, calls: Calls
) -> None:
    tracer = provider.get_tracer("agent")
    span_attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "shop_add",
        "gen_ai.tool.call.id": "c1",
    }
    async with fastmcp.Client(server) as client:
        with tracer.start_as_current_span("execute_tool shop_add", attributes=span_attributes) as span:
            result = await client.call_tool("add", {"a": 1, "b": 2})
            span.set_attribute("gen_ai.tool.call.result", str(result.data))
    (call,) = calls()
    assert (call.tool, call.call_id, data(call.result)) == ("shop_add", "c1", 3)
    assert data(call.attributes)["otel.scope.name"] == "agent"


async def test_a_server_inside_a_server_is_the_same_call(server: Any, calls: Calls) -> None:
    front = fastmcp.FastMCP("front")
    front.mount(server, namespace="shop")
    async with fastmcp.Client(front) as client:
        await client.call_tool("shop_add", {"a": 1, "b": 2})
        await client.call_tool("shop_read", {"path": "a.txt"}, raise_on_error=False)
    added, failed = calls()
    assert (added.tool, added.status) == ("shop_add", "success")
    assert (failed.tool, failed.status, failed.code) == ("shop_read", "error", "NOT_FOUND")


@pytest.fixture
def integrated() -> Iterator[None]:
    from tooltrace.integrations import fastmcp as integration

    integration.install()
    yield
    integration.remove()


@pytest.mark.parametrize(
    ("name", "arguments"), [("add", {"a": 1, "b": 2}), ("weigh", {"item": "a"}), ("read", {"path": "a"})]
)
async def test_with_the_integration_a_call_is_one_row_in_one_trace(
    server: Any, provider: TracerProvider, integrated: None, calls: Calls, name: str, arguments: dict[str, Any]
) -> None:
    server.tool(tt.trace_tool(weigh, version="7"))
    memory = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    async with fastmcp.Client(server) as client:
        with tt.context(call_id="c1"):
            await client.call_tool(name, arguments, raise_on_error=False)
    provider.force_flush()
    (call,) = calls()
    assert (call.tool, call.call_id) == (name, "c1")
    spans = {span.context.span_id: span for span in memory.get_finished_spans()}
    called = [span for span in spans.values() if name in span.name]
    assert len(called) >= 3, [span.name for span in spans.values()]
    assert all(span.parent is None or span.parent.span_id in spans for span in called), "no span has a missing parent"
    assert int(call.span_id, 16) in spans


async def test_with_the_integration_the_frameworks_spans_are_the_same(
    server: Any, provider: TracerProvider, integrated: None, calls: Calls
) -> None:
    memory = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))

    async def observed() -> list[tuple[str, ...]]:
        memory.clear()
        async with fastmcp.Client(server) as client:
            await client.call_tool("add", {"a": 1, "b": 2})
        spans = [span for span in memory.get_finished_spans() if span.instrumentation_scope.name != "tooltrace"]
        return sorted((span.name, *sorted(span.attributes)) for span in spans)

    from tooltrace.integrations import fastmcp as integration

    recorded = await observed()
    integration.remove()
    assert await observed() == recorded


def weigh(item: str) -> str:
    return "3 kg"
