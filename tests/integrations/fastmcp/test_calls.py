"""Tool calls of FastMCP's clients and servers, as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall

fastmcp: Any = pytest.importorskip("fastmcp", reason="needs fastmcp: make test-fastmcp")

from mcp.client.session import ClientSession

from tooltrace.integrations import fastmcp as integration
from tooltrace.integrations import mcp as sdk

Calls = Callable[[], list[ToolCall]]
OWNERS = (fastmcp.FastMCP, ClientSession)

pytestmark = [pytest.mark.usefixtures("installed"), pytest.mark.filterwarnings("ignore")]  # the frameworks' own


@pytest.fixture
def shop() -> Any:
    server = fastmcp.FastMCP("shop", mask_error_details=True)

    @server.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    def read(path: str) -> str:
        raise FileNotFoundError(f"no such file: {path}")

    @server.tool
    @tt.trace_tool(version="7")
    def weigh(item: str) -> str:
        return "3 kg"

    return server


def data(text: str | None) -> Any:
    return None if text is None else json.loads(text)


async def test_a_call_is_one_row_with_values_of_both_sides(shop: Any, calls: Calls) -> None:
    async with fastmcp.Client(shop) as client:
        with tt.context(call_id="c1", agent="clerk"):
            result = await client.call_tool("add", {"a": 1, "b": 2})
    assert result.data == 3
    (call,) = calls()
    assert (call.tool, call.call_id, call.agent, call.status) == ("add", "c1", "clerk", "success")
    attributes = data(call.attributes)
    assert attributes["mcp.server.name"] == "shop"
    assert attributes["mcp.client.name"] in (
        "mcp",
        "fastmcp",
    )  # until FastMCP 4.1 the client had the name of its library


async def test_errors_before_and_in_the_tool(shop: Any, calls: Calls, store: Path) -> None:
    async with fastmcp.Client(shop) as client:
        for name, arguments in (("read", {"path": "a.txt"}), ("nothing", {}), ("add", {"a": "one"})):
            assert (await client.call_tool(name, arguments, raise_on_error=False)).is_error
    failed, unknown, wrong = calls()
    assert (failed.code, failed.error_type) == ("NOT_FOUND", "FileNotFoundError")
    assert failed.error_message == "no such file: a.txt"
    assert (unknown.tool, unknown.ending, unknown.code) == ("nothing", "refused", "NOT_FOUND")
    assert (wrong.ending, wrong.code, data(wrong.arguments)) == ("refused", "INVALID_PARAM", {"a": "one"})
    tt.flush()
    with tt.connect(store) as db:
        seen_texts = db.sql("SELECT seen_text FROM tool_calls WHERE tool = 'read'").fetchall()
    assert seen_texts == [("Error calling tool 'read'",)], "the server masks the exception"


async def test_a_decorated_tool_is_one_row(shop: Any, calls: Calls) -> None:
    async with fastmcp.Client(shop) as client:
        with tt.context(call_id="c1"):
            await client.call_tool("weigh", {"item": "a"})
        assert (await client.call_tool("weigh", {"stone": "a"}, raise_on_error=False)).is_error
    weighed, rejected = calls()
    assert (weighed.tool_version, weighed.call_id, data(weighed.result)) == ("7", "c1", "3 kg")
    assert (rejected.status, rejected.ending, rejected.code) == (None, "refused", "INVALID_PARAM")


async def test_a_mounted_server_is_part_of_the_same_call(shop: Any, calls: Calls) -> None:
    mall = fastmcp.FastMCP("mall")
    mall.mount(shop, namespace="shop")
    async with fastmcp.Client(mall) as client:
        await client.call_tool("shop_add", {"a": 1, "b": 2})
        await client.call_tool("shop_weigh", {"item": "a"})
        await client.call_tool("shop_read", {"path": "a"}, raise_on_error=False)
    added, weighed, read = calls()
    assert (added.tool, added.status) == ("shop_add", "success")
    assert (weighed.tool_version, weighed.status) == ("7", "success")
    assert (read.tool, read.error_type) == ("shop_read", "FileNotFoundError")


async def test_a_refusal_of_a_middleware_is_recorded(shop: Any, calls: Calls) -> None:
    from fastmcp.exceptions import ToolError
    from fastmcp.server.middleware import Middleware

    class Closed(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            if context.message.name == "add":
                raise ToolError("the shop is closed")
            return await call_next(context)

    shop.add_middleware(Closed())
    async with fastmcp.Client(shop) as client:
        for name, arguments in (("add", {"a": 1, "b": 2}), ("read", {"path": "a"})):
            await client.call_tool(name, arguments, raise_on_error=False)
    closed, read = calls()
    assert (closed.status, closed.ending, closed.code) == (None, "refused", "BLOCKED")
    assert closed.error_message == "the shop is closed"
    assert (read.status, read.ending, read.code) == ("error", "raised", "NOT_FOUND")


async def test_a_call_without_a_client(shop: Any, calls: Calls) -> None:
    assert (await shop.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
    (call,) = calls()
    assert (call.tool, call.status, data(call.arguments)) == ("add", "success", {"a": 1, "b": 2})


async def test_both_integrations_together_record_once(shop: Any, calls: Calls) -> None:
    sdk.install()
    async with fastmcp.Client(shop) as client:
        await client.call_tool("add", {"a": 1, "b": 2})
        integration.remove()
        await client.call_tool("add", {"a": 3, "b": 4})
        sdk.remove()
        await client.call_tool("add", {"a": 5, "b": 6})
    assert [data(call.arguments)["a"] for call in calls()] == [1, 3]


async def test_results_and_schemas_are_the_same_without_the_integration(shop: Any, calls: Calls) -> None:
    async def observed() -> list[Any]:
        async with fastmcp.Client(shop) as client:
            listed = [tool.model_dump() for tool in await client.list_tools()]
            requests: list[tuple[str, Any]] = [("add", {"a": 1, "b": 2}), ("read", {"path": "a"}), ("x", {})]
            return [listed, *[(await client.call_tool_mcp(*each)).model_dump() for each in requests]]

    recorded = await observed()
    integration.remove()
    assert await observed() == recorded
    assert len(calls()) == 3
