"""Recognition of agent frameworks' tool objects, which ``trace_tool`` cannot wrap.

A framework's decorator turns a function into a tool object, or registers the function. ``trace_tool`` above it would
make an object that the agent refuses, or a function that the agent never calls. No framework is imported.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any, Final

from tooltrace.redact.inspection import bases, module_of, name_of

TOOL_CLASSES: Final[Mapping[str, frozenset[str]]] = {
    "agent_framework": frozenset({"FunctionTool"}),
    "agents": frozenset({"FunctionTool"}),  # openai-agents
    "agno": frozenset({"Function"}),
    "autogen_core": frozenset({"BaseTool"}),
    "crewai": frozenset({"BaseTool"}),
    "fastmcp": frozenset({"Tool"}),
    "google.adk": frozenset({"BaseTool"}),
    "haystack": frozenset({"Tool"}),
    "langchain_core": frozenset({"BaseTool"}),
    "mcp.server": frozenset({"Tool"}),
    "pydantic_ai": frozenset({"Tool"}),
    "smolagents": frozenset({"Tool"}),
    "strands": frozenset({"AgentTool"}),
}
"""Classes of tool objects by package. A tool object that its agent accepts as a function too is not listed."""

_MCP_SERVERS: Final = ("mcp.server.mcpserver", "mcp.server.fastmcp")
_FASTMCP_MARK: Final = "__fastmcp__"
"""Attribute that FastMCP's decorators set on a function."""


def framework_of(tool: Any, references: int) -> str | None:
    """Return the package whose tool object, or registered function, ``tool`` is; None for a plain function.

    ``references``: number of references to ``tool`` beyond those of a function that was just defined.
    """
    if type(tool) is FunctionType:
        return _server_of(tool, references)
    for base in bases(type(tool)):
        module, name = module_of(base), name_of(base)
        for package, classes in TOOL_CLASSES.items():
            if name in classes and (module == package or module.startswith(package + ".")):
                return package
    return None


def _server_of(tool: FunctionType, references: int) -> str | None:
    """Return the package of the MCP server that has ``tool`` as a tool; None where no server has it.

    The server's decorator returns the function itself, so the objects that refer to it are searched. The search takes
    tens of milliseconds. It runs only for a function with FastMCP's mark, which ``fastmcp.tools.tool`` sets as well
    without a server, and where the official SDK is loaded and exactly one object refers to the function. A function with
    a name already was not passed on by the server's decorator: an application may register it, and trace it for
    another server.
    """
    if tool.__globals__.get(tool.__name__) is tool:
        return None
    if _FASTMCP_MARK in tool.__dict__:
        return "fastmcp" if _is_held(tool, "task_config") else None
    if references == 1 and any(module in sys.modules for module in _MCP_SERVERS):
        return "mcp" if _is_held(tool, "fn_metadata") else None
    return None


def _is_held(tool: FunctionType, member: str) -> bool:
    """Return whether a tool object of a server, which has ``member``, refers to ``tool``."""
    return any(
        type(holder) is dict and holder.get("fn") is tool and "parameters" in holder and member in holder
        for holder in gc.get_referrers(tool)
    )
