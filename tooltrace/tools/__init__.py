"""Functions, toolkits and tool objects as the tools of a model: described, validated, run and recorded.

::

    registry = tt.ToolRegistry(tools=[search, Calculator()], call_limit=20)
    registry.schemas(style="openai")
    response = registry.execute("search", '{"query": "x"}', call_id="call_7")
"""

from tooltrace.tools.hooks import ToolInvocation
from tooltrace.tools.options import tool
from tooltrace.tools.registry import ToolRegistry
from tooltrace.tools.tool_class import Tool, ToolParameter

__all__ = ["Tool", "ToolInvocation", "ToolParameter", "ToolRegistry", "tool"]
