"""``FastMCP.call_tool``, which serves the requests of clients and calls from the server's own process."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tooltrace.integrations.mcp.server import ToolStage, record_tool, stage
from tooltrace.integrations.mcp.shared import SharedPatches
from tooltrace.integrations.monkeypatch import MonkeyPatcher


def _traced_call_tool(original: Callable[..., Any]) -> Callable[..., Any]:
    async def call_tool(self: Any, name: str, arguments: Any = None, **options: Any) -> Any:
        if not options.get("run_middleware", True):  # the second half of a call that is recorded already
            if (through := stage.get()) is not None:
                through.reached = True
            return await original(self, name, arguments, **options)
        through = ToolStage()
        token = stage.set(through)
        try:
            return await record_tool(
                name, arguments, lambda: original(self, name, arguments, **options), server=self, through=through
            )
        finally:
            stage.reset(token)

    return call_tool


def _hook(patcher: MonkeyPatcher) -> None:
    server: Any = import_module("fastmcp.server.server").FastMCP
    if "call_tool" not in vars(server):
        raise AttributeError("FastMCP has no call_tool")
    patcher.wrap(server, "call_tool", _traced_call_tool)


patches = SharedPatches(_hook)
