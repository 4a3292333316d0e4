"""The rows of docs/integrations.md for the SDK of MCP and for FastMCP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.integrations.capabilities import Observed, check, messages
from tooltrace.core.records import ToolCall

pytest.importorskip("mcp.server.mcpserver", reason="needs mcp 2: make test-fastmcp")

from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from mcp_types import InputRequiredResult

Calls = Callable[[], list[ToolCall]]

pytestmark = pytest.mark.filterwarnings("ignore")  # the SDK's own


def add(a: int, b: int) -> int:
    return a + b


def read(path: str) -> str:
    raise FileNotFoundError(path)


def drop(table: str) -> InputRequiredResult:
    return InputRequiredResult(request_state="s1")


@tt.trace_tool
def weigh(item: str) -> str:
    return "3 kg"


ASKED: list[tuple[str, dict[str, Any]]] = [
    ("add", {"a": 1, "b": 2}),
    ("read", {"path": "p"}),
    ("add", {"a": "x", "b": 2}),
    ("nosuch", {"x": 1}),
    ("drop", {"table": "t"}),
    ("weigh", {"item": "a"}),
]


@pytest.mark.parametrize("name", ["mcp", "fastmcp"])
async def test_the_table_of_the_docs(name: str, calls: Calls, store: Path) -> None:
    pytest.importorskip(name, reason=f"needs {name}: make test-fastmcp")
    assert tt.install(name) == [name]
    try:
        await ask(name)
    finally:
        tt.uninstall(name)
    found: dict[str, list[ToolCall]] = {}
    for call in calls():
        found.setdefault(call.call_id, []).append(call)
    one = {call_id: rows[0] for call_id, rows in found.items()}
    check(name, Observed(
        one["c1"], one["c2"], messages(store), one["c3"], one["c4"], one["c5"], None, found["c6"],
        absent=frozenset({"streamed run"}),
    ))  # fmt: skip


async def ask(name: str) -> None:
    if name == "fastmcp":
        import fastmcp

        shop: Any = fastmcp.FastMCP("shop")
        tools: list[Any] = [add, read, weigh, drop]
        for tool in tools:
            shop.tool(tool)
        client: Any = fastmcp.Client(shop)
    else:
        shop = MCPServer("shop")
        for tool in (add, read, weigh, drop):
            shop.add_tool(tool)
        client = Client(shop)
    async with client:
        for number, (tool, arguments) in enumerate(ASKED, start=1):
            with tt.context(call_id=f"c{number}", agent="clerk", conversation_id="chat"):
                await client.session.call_tool(tool, arguments, allow_input_required=True)
