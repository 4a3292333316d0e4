"""The tools of the server: names, descriptions, arguments and functions, without the SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tooltrace.mcp_server.arguments import ToolArgument, input_schema
from tooltrace.mcp_server.served_store import ServedStore


@dataclass(frozen=True, slots=True)
class Caller:
    """The client that calls a tool."""

    name: str
    """Name that the client states, in letters, digits and ``._-``."""


Handler = Callable[[ServedStore, Caller, dict[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTool:
    """One tool of the server."""

    name: str
    description: str
    arguments: Sequence[ToolArgument]
    handler: Handler
    """Returns the answer; raises TooltraceError with a message for the model."""
    writes: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return input_schema(self.arguments)


SINCE = ToolArgument(name="since", meaning="24h, 7d or an ISO time")
UNTIL = ToolArgument(name="until")
TOOL = ToolArgument(name="tool")
CALL_ID = ToolArgument(name="call_id", required=True)


def limit(default: int, most: int) -> ToolArgument:
    """Return the argument for the number of rows."""
    return ToolArgument(name="limit", kind="integer", default=default, most=most)
