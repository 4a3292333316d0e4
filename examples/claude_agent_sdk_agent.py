"""An agent of the Claude Agent SDK, traced without a change to it: built-in tools, a tool of this process, a denial.

A script stands in for Claude Code, so nothing asks the network: it speaks to the SDK as Claude Code does. Without the
transport, the same code runs the real one.   Run: pip install 'tooltrace-recorder[claude-agent-sdk]' && python examples/claude_agent_sdk_agent.py
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, Transport, create_sdk_mcp_server, query, tool

import tooltrace as tt

CALLS = [
    ("Read", {"file_path": "notes.txt"}, "buy milk", {}),
    ("Read", {"file_path": "plan.txt"}, "File does not exist.", {"is_error": True}),
    ("Bash", {"command": "rm -rf /"}, "not this", {"is_error": True, "decision": "reject"}),
    ("mcp__shop__price", {"item": "milk"}, None, {}),
]


@tool("price", "The price of an item.", {"item": str})
async def price(given: dict[str, Any]) -> dict[str, Any]:
    """Return the price."""
    return {"content": [{"type": "text", "text": f"{given['item']}: 2 euros"}]}


class Script(Transport):
    """Claude Code, as far as this example needs it."""

    def __init__(self) -> None:
        self.written: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def connect(self) -> None:
        """Do nothing."""

    async def write(self, data: str) -> None:
        """Receive a message of the SDK."""
        await self.written.put(json.loads(data))

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the messages of a session."""
        started = await self.written.get()
        yield _response(started["request_id"])
        await self.written.get()  # the prompt
        for number, (name, given, text, notes) in enumerate(CALLS):
            call_id = f"toolu_{number}"
            yield _message("assistant", {"type": "tool_use", "id": call_id, "name": name, "input": given})
            content: Any = text
            if text is None:
                for method, params in _requests(name, given, call_id):
                    yield _request(method, params)
                    answer = await self.written.get()
                content = answer["response"]["response"]["mcp_response"]["result"]["content"]
            result = {
                "type": "tool_result",
                "tool_use_id": call_id,
                "content": content,
                "is_error": "is_error" in notes,
            }
            decision = {"decision": notes.get("decision", "accept"), "source": "user_reject"}
            yield {**_message("user", result), "tool_result_meta": [{"id": call_id, "permission_decision": decision}]}
        yield {**_message("result", {}), "subtype": "success", "is_error": False, "num_turns": 1, "result": "Done.",
               "duration_ms": 1, "duration_api_ms": 1}  # fmt: skip

    async def close(self) -> None:
        """Do nothing."""

    def is_ready(self) -> bool:
        """Whether the SDK may write."""
        return True

    async def end_input(self) -> None:
        """Do nothing."""


def _requests(name: str, given: dict[str, Any], call_id: str) -> list[tuple[str, dict[str, Any]]]:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "script", "version": "1"}}
    call = {"name": name.rpartition("__")[2], "arguments": given, "_meta": {"claudecode/toolUseId": call_id}}
    return [("initialize", hello), ("notifications/initialized", {}), ("tools/call", call)]


def _request(method: str, params: dict[str, Any]) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if not method.startswith("notifications/"):
        message["id"] = method
    request = {"subtype": "mcp_message", "server_name": "shop", "message": message}
    return {"type": "control_request", "request_id": method, "request": request}


def _response(request_id: str) -> dict[str, Any]:
    return {"type": "control_response", "response": {"subtype": "success", "request_id": request_id, "response": {}}}


def _message(kind: str, block: dict[str, Any]) -> dict[str, Any]:
    message = {"role": kind, "model": "script", "content": [block]}
    return {"type": kind, "message": message, "parent_tool_use_id": None, "session_id": "chat"}


async def run() -> None:
    """Run a session."""
    options = ClaudeAgentOptions(mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[price])})
    async for message in query(prompt="tidy up", options=options, transport=Script()):
        print(type(message).__name__)


def main() -> None:
    """Run a session, and ask the history."""
    tt.configure(store=Path(tempfile.mkdtemp()) / "claude_agent_sdk.duckdb")
    print("recorded:", tt.install())
    asyncio.run(run())

    with tt.connect() as db:
        db.sql(
            """
            SELECT tool, call_id, agent, ending, status, code, error_message, seen_text
            FROM tool_calls ORDER BY started_at
            """
        ).show(max_width=180)


if __name__ == "__main__":
    main()
