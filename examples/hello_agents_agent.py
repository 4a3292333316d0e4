"""Trace a HelloAgents agent without changing it: a missing note, an error in an old string, an open circuit.

Then run the same agent with a tool whose imports are tooltrace's, in a registry of tooltrace.
A script stands in for the model, so nothing uses the network.
Run: pip install 'tooltrace-recorder[hello-agents]' && python examples/hello_agents_agent.py
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hello_agents import Config, ReActAgent, ToolRegistry
from hello_agents.tools import ToolParameter, ToolResponse
from hello_agents.tools.base import Tool

import tooltrace as tt
from tooltrace.integrations import hello_agents

NOTES = {"plan": "write the report"}


class ReadNote(Tool):
    """A tool that follows the package's protocol."""

    def __init__(self) -> None:
        super().__init__("read_note", "Read a note.")

    def run(self, parameters: dict[str, Any]) -> ToolResponse:
        """Find the note."""
        text = NOTES.get(parameters["name"])
        if text is None:
            return ToolResponse.error("NOT_FOUND", f"no note {parameters['name']!r}")
        return ToolResponse.success(text, {"length": len(text)})

    def get_parameters(self) -> list[ToolParameter]:
        """Return the one parameter, a name."""
        return [ToolParameter(name="name", type="string", description="Name of the note.")]


class Count(tt.Tool):
    """A tool of the same form, with only its imports changed."""

    def __init__(self) -> None:
        super().__init__(name="count", description="Count the notes whose name begins with a text.")

    def run(self, parameters: dict[str, Any]) -> tt.ToolResponse:
        """Count the notes, and answer a missing parameter in its own words."""
        if not parameters.get("start"):
            return tt.ToolResponse.error(code=tt.ToolErrorCode.INVALID_PARAM, message="参数 'start' 不能为空")
        found = [name for name in NOTES if name.startswith(parameters["start"])]
        return tt.ToolResponse.success(text=f"{len(found)} notes", data={"names": found})

    def get_parameters(self) -> list[tt.ToolParameter]:
        """Return the one parameter, a text."""
        return [tt.ToolParameter(name="start", type="string", description="The text.", required=True)]


def weather(city: str) -> str:
    """Return an error as tools did before the protocol."""
    return f"错误: 未找到城市 {city}"


class Script:
    """A model that requests one of these calls in each turn, and then stops."""

    model = "script"

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self._calls = list(calls)

    def invoke_with_tools(self, *_: Any, **__: Any) -> SimpleNamespace:
        """Return the next turn."""
        if not self._calls:
            message = SimpleNamespace(content="Done.", tool_calls=None)
            return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=None)
        name, arguments = self._calls.pop(0)
        function = SimpleNamespace(name=name, arguments=json.dumps(arguments))
        call = SimpleNamespace(id=f"call_{len(self._calls)}", function=function)
        message = SimpleNamespace(content=None, tool_calls=[call])
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=None)


def main() -> None:
    """Run the agent, open a circuit, and query the history."""
    folder = Path(tempfile.mkdtemp())
    tt.configure(store=folder / "hello.duckdb")
    os.chdir(folder)  # the package writes into the current directory
    hello_agents.install()

    registry = ToolRegistry()
    registry.register_tool(ReadNote())
    registry.register_function(weather)
    script = Script(
        ("read_note", {"name": "plan"}),
        ("read_note", {"name": "diary"}),
        ("weather", {"input": "Atlantis"}),
        ("search", {"query": "Atlantis"}),
    )
    config = Config(trace_enabled=False, session_enabled=False)
    print(ReActAgent("clerk", script, tool_registry=registry, config=config).run("tidy up"))
    for _ in range(4):
        registry.execute_tool("read_note", '{"name": "diary"}')
    hello_agents.remove()

    moved = tt.ToolRegistry()
    moved.register_tool(Count())
    script = Script(("count", {"start": "p"}), ("count", {}))
    print(ReActAgent("counter", script, tool_registry=moved, config=config).run("count"))

    with tt.connect() as db:
        db.sql(
            """
            SELECT tool, agent, call_id LIKE 'call_%' AS id_known, status, code, rule, rule_grade, seen_error
            FROM tool_calls WHERE tool NOT IN ('Thought', 'Finish') ORDER BY started_at
            """
        ).show(max_width=160)


if __name__ == "__main__":
    main()
