"""A server and a client of MCP, traced without a change to either: a result, a failure that the server hides, a typo.

Client and server run in this process and no network is used.   Run: pip install 'tooltrace-recorder[mcp]' && python examples/mcp_agent.py
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from pathlib import Path

from mcp.client import Client
from mcp.server.mcpserver import MCPServer

import tooltrace as tt
from tooltrace.integrations import mcp

FILES = {"notes.txt": "buy milk"}
shop = MCPServer("files")


@shop.tool()
def read(path: str) -> str:
    """Read a file."""
    return FILES[path]


async def run() -> None:
    """Call the tools as a model does, which gives each call an id."""
    script = [("read", {"path": "notes.txt"}), ("read", {"path": "plan.txt"}), ("read", {"file": "a"}), ("raed", {})]
    async with Client(shop) as client:
        for number, (name, arguments) in enumerate(script):
            with tt.context(call_id=f"call_{number}", agent="clerk"):
                await client.call_tool(name, arguments)


def main() -> None:
    """Run the script, and ask the history."""
    logging.disable(logging.CRITICAL)
    tt.configure(store=Path(tempfile.mkdtemp()) / "mcp.duckdb")
    mcp.install()
    asyncio.run(run())
    mcp.remove()

    with tt.connect() as db:
        db.sql(
            """
            SELECT tool, call_id, agent, status, code, error_type, seen_text,
                   attributes ->> '$."mcp.server.name"' AS server
            FROM tool_calls ORDER BY started_at
            """
        ).show(max_width=180)


if __name__ == "__main__":
    main()
