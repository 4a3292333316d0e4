"""Recognition of agent frameworks' tool objects, which ``trace_tool`` cannot wrap.

``trace_tool`` above a framework's decorator would make an object that the agent refuses. No framework is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def framework_of(tool: Any) -> str | None:
    """Return the package whose tool object ``tool`` is; None for a plain function."""
    for base in bases(type(tool)):
        module, name = module_of(base), name_of(base)
        for package, classes in TOOL_CLASSES.items():
            if name in classes and (module == package or module.startswith(package + ".")):
                return package
    return None
