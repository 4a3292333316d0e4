"""Tool calls of the MCP SDK's clients and servers, as they are."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.baggage import set_baggage
from opentelemetry.context import attach, detach

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.recording.config import get_recorder

mcp: Any = pytest.importorskip("mcp.server.mcpserver", reason="needs mcp 2: make test-fastmcp")

from mcp.client import Client
from mcp.client.session import ClientSession
from mcp.server.lowlevel import Server
from mcp.server.runner import ServerRunner
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitResult, InputRequiredResult, ListToolsResult, TextContent
from pydantic import BaseModel

from tooltrace.integrations import mcp as integration

Calls = Callable[[], list[ToolCall]]
OWNERS = (ClientSession, ServerRunner, mcp.MCPServer)

pytestmark = [pytest.mark.usefixtures("installed"), pytest.mark.filterwarnings("ignore")]  # the SDK's own


class Answer(BaseModel):
    sure: bool


def server() -> Any:
    shop = mcp.MCPServer("shop")

    @shop.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @shop.tool()
    def read(path: str) -> str:
        raise FileNotFoundError(f"no such file: {path}")

    @shop.tool()
    @tt.trace_tool(version="7")
    def weigh(item: str) -> str:
        return "3 kg"

    @shop.tool()
    @tt.trace_tool
    def exact(n: int) -> int:
        raise ZeroDivisionError("n")

    @shop.tool()
    async def drop(table: str, ctx: Context) -> str:
        return (await ctx.elicit("sure?", Answer)).action

    return shop


Context = mcp.Context


@asynccontextmanager
async def connected(mode: str, served: Any = None) -> AsyncIterator[Any]:
    async def decline(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    async with Client(served or server(), mode=mode, elicitation_callback=decline) as client:
        yield client


def data(text: str | None) -> Any:
    return None if text is None else json.loads(text)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_within_one_process_is_one_row(mode: str, calls: Calls) -> None:
    async with connected(mode) as client:
        with tt.context(call_id="c1", agent="clerk", conversation_id="chat"):
            result = await client.call_tool("add", {"a": 1, "b": 2})
    assert result.structured_content == {"result": 3}
    (call,) = calls()
    assert (call.tool, call.call_id, call.agent, call.conversation_id) == ("add", "c1", "clerk", "chat")
    assert (call.status, call.ending, call.tool_type) == ("success", "returned", "extension")
    assert data(call.arguments) == {"a": 1, "b": 2}
    attributes = data(call.attributes)
    assert (attributes["mcp.server.name"], attributes["mcp.client.name"], attributes["mcp.method.name"]) == (
        "shop",
        "mcp",
        "tools/call",
    )
    assert attributes["jsonrpc.request.id"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_failures_have_the_tools_own_exception(mode: str, calls: Calls, store: Path) -> None:
    async with connected(mode) as client:
        for name, arguments in (("read", {"path": "a.txt"}), ("nothing", {}), ("add", {"a": "one"})):
            assert (await client.call_tool(name, arguments)).is_error
    failed, unknown, wrong = calls()
    assert (failed.code, failed.error_type, failed.ending) == ("NOT_FOUND", "FileNotFoundError", "raised")
    assert failed.error_message == "no such file: a.txt"
    assert (unknown.tool, unknown.status, unknown.ending, unknown.code) == ("nothing", None, "refused", "NOT_FOUND")
    assert (wrong.ending, wrong.code, data(wrong.arguments)) == ("refused", "INVALID_PARAM", {"a": "one"})
    tt.flush()
    with tt.connect(store) as db:
        seen_texts = db.sql("SELECT seen_text FROM tool_calls WHERE tool = 'read'").fetchall()
    assert seen_texts == [("Error executing tool read",)], "the server keeps the exception from the model"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_decorated_tool_is_one_row_with_the_decorators_spec(mode: str, calls: Calls) -> None:
    async with connected(mode) as client:
        with tt.context(call_id="c1"):
            await client.call_tool("weigh", {"item": "a"})
        await client.call_tool("exact", {"n": 1})
        await client.call_tool("weigh", {"stone": "a"})
    weighed, exact, rejected = calls()
    assert (weighed.tool_version, weighed.call_id, data(weighed.result)) == ("7", "c1", "3 kg")
    assert data(weighed.attributes)["mcp.server.name"] == "shop"
    assert (exact.error_type, exact.ending) == ("ZeroDivisionError", "raised")
    assert (rejected.tool, rejected.ending, rejected.code) == ("weigh", "refused", "INVALID_PARAM"), (
        "the decorator never saw the call"
    )


async def test_a_tool_that_calls_another_is_two_rows(calls: Calls) -> None:
    shop = server()

    @tt.trace_tool
    def lookup(item: str) -> int:
        return 3

    @shop.tool()
    async def total(item: str) -> int:
        return lookup(item)

    async with connected("legacy", shop) as client:
        with tt.context(call_id="c1"):
            await client.call_tool("total", {"item": "a"})
    outer, inner = calls()
    assert (outer.tool, outer.call_id, inner.tool) == ("total", "c1", "lookup")
    assert (inner.call_id, inner.parent_span_id, inner.trace_id) == (inner.span_id, outer.span_id, outer.trace_id)


async def test_a_decline_is_not_a_failure(calls: Calls) -> None:
    async with connected("legacy") as client:
        await client.call_tool("drop", {"table": "t"})
    (call,) = calls()
    assert (call.status, call.ending, data(call.result)) == ("success", "returned", "decline")


async def test_a_server_that_requests_input_pauses_the_call(calls: Calls) -> None:
    async def handle(context: Any, params: Any) -> Any:
        if params.input_responses is None:
            return InputRequiredResult(request_state="s1")
        return CallToolResult(content=[TextContent(type="text", text="dropped")])

    async def listed(context: Any, params: Any) -> Any:
        return ListToolsResult(tools=[])

    async with connected("auto", Server("shop", on_call_tool=handle, on_list_tools=listed)) as client:
        first = await client.session.call_tool("drop", {"table": "t"}, allow_input_required=True)
        await client.session.call_tool("drop", {"table": "t"}, input_responses={}, request_state=first.request_state)
    paused, resumed = calls()
    assert (paused.ending, paused.status) == ("paused", None)
    assert (resumed.ending, resumed.status, resumed.text) == ("returned", "success", "dropped")
    assert data(resumed.attributes)["mcp.resumed"] is True


async def test_a_handler_that_raises_is_recorded_on_a_low_level_server(calls: Calls) -> None:
    async def handle(context: Any, params: Any) -> Any:
        raise MCPError(code=-32602, message="Unknown tool: x")

    async with connected("legacy", Server("shop", on_call_tool=handle)) as client:
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("x", {})
    (call,) = calls()
    assert (call.status, call.ending, call.error_message) == ("error", "raised", "Unknown tool: x")


async def test_calls_side_by_side_are_separate(calls: Calls) -> None:
    import asyncio

    async def one(client: Any, n: int) -> None:
        with tt.context(call_id=f"c{n}"):
            await client.call_tool("add", {"a": n, "b": n})

    async with connected("legacy") as client:
        await asyncio.gather(*(one(client, n) for n in range(20)))
    found = {call.call_id: data(call.result) for call in calls()}
    assert found == {f"c{n}": 2 * n for n in range(20)}


async def test_results_and_errors_are_the_same_without_the_integration(calls: Calls) -> None:
    async def observed() -> list[Any]:
        async with connected("legacy") as client:
            listed = [tool.model_dump() for tool in (await client.list_tools()).tools]
            requests: list[tuple[str, Any]] = [("add", {"a": 1, "b": 2}), ("read", {"path": "a"}), ("x", None)]
            return [listed, *[(await client.call_tool(*each)).model_dump() for each in requests]]

    recorded = await observed()
    integration.remove()
    assert await observed() == recorded
    assert len(calls()) == 3


async def test_a_fault_of_the_recorder_does_not_reach_the_framework(
    lenient: None, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault")

    monkeypatch.setattr("tooltrace.integrations.mcp.protocol.client_attributes", broken)
    monkeypatch.setattr("tooltrace.integrations.mcp.protocol.server_attributes", broken)
    monkeypatch.setattr("tooltrace.integrations.mcp.server.FrameworkCall", broken)
    async with connected("legacy") as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
        assert (await client.call_tool("read", {"path": "a"})).is_error


@pytest.mark.processes
async def test_client_and_server_in_two_processes_share_a_trace(calls: Calls, tmp_path: Path) -> None:
    """The server writes to a store of its own; its row's parent is the client's."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    program = tmp_path / "server.py"
    program.write_text(
        "import tooltrace as tt\n"
        "from mcp.server.mcpserver import MCPServer\n"
        "from tooltrace.integrations import mcp\n"
        f"tt.configure(store={str(tmp_path / 'server.duckdb')!r}, durability='call')\n"
        "mcp.install()\n"
        "shop = MCPServer('shop')\n"
        "@shop.tool()\n"
        "def add(a: int, b: int) -> int:\n"
        "    return a + b\n"
        "shop.run('stdio')\n"
    )
    parameters = StdioServerParameters(command=sys.executable, args=[str(program)])
    async with Client(stdio_client(parameters)) as client:
        with tt.context(call_id="c1"):
            await client.call_tool("add", {"a": 1, "b": 2})
        token = attach(set_baggage("gen_ai.conversation.id", "chat"))
        await client.call_tool("add", {"a": 3, "b": 4})
        detach(token)
    ours, with_baggage = calls()
    with tt.connect(tmp_path / "server.duckdb") as db:
        theirs, second = db.sql(
            "SELECT tool, trace_id, parent_span_id, agent, conversation_id, attributes FROM tool_calls ORDER BY started_at"
        ).fetchall()
    assert (ours.call_id, data(ours.attributes)["mcp.server.name"]) == ("c1", "shop")
    assert theirs[:5] == ("add", ours.trace_id, ours.span_id, "mcp", None)
    assert data(theirs[5])["mcp.client.name"] == "mcp"
    assert (with_baggage.conversation_id, second[4]) == ("chat", "chat")


async def test_a_single_server_is_recorded_by_its_middleware(calls: Calls) -> None:
    integration.remove()
    shop = server()

    async def record(context: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        return await integration.record_request(context, call_next, server=shop)

    shop.middleware.append(record)
    async with connected("legacy", shop) as client:
        await client.call_tool("add", {"a": 1, "b": 2})
        await client.list_tools()
    (call,) = calls()
    assert (call.tool, data(call.attributes)["mcp.server.name"]) == ("add", "shop")


async def test_a_cancelled_call_has_not_failed(calls: Calls) -> None:
    import asyncio

    shop, started = server(), asyncio.Event()

    @shop.tool()
    async def wait(n: int) -> int:
        started.set()
        await asyncio.Event().wait()
        return n

    async with connected("legacy", shop) as client:
        task = asyncio.ensure_future(client.call_tool("wait", {"n": 1}))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    (call,) = calls()
    assert (call.status, call.ending) == (None, "cancelled")
    assert get_recorder().worker.wait_for_queue(None)


@pytest.mark.processes
def test_importing_the_integration_does_not_import_the_sdk() -> None:
    import subprocess

    code = "import sys; import tooltrace.integrations.mcp; print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_unknown_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    integration.remove()
    with monkeypatch.context() as patch:
        patch.delattr(mcp.MCPServer, "call_tool")
        before = dict(vars(ClientSession))
        with pytest.raises(tt.TooltraceError, match="version of mcp"):
            integration.install()
        assert dict(vars(ClientSession)) == before
