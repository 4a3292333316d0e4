"""Trace an Agno agent without changing it: a tool fails, a person approves one call and declines another.

Then call a tool through a registry of tooltrace, with Agno's names for the options.
A script stands in for the model, so nothing uses the network.
Run: pip install 'tooltrace-recorder[agno]' && python examples/agno_agent.py
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.tools import tool

import tooltrace as tt
from tooltrace.integrations import agno

FILES = {"notes.txt": "buy milk"}


@tool
def read(path: str) -> str:
    """Read a file."""
    return FILES.get(path) or json.dumps({"error": f"no such file: {path}"})


@tool(requires_confirmation=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {FILES.pop(path)!r}"


def send(text: str, to: str = "") -> str:
    """Send a text; a person says to whom."""
    return f"{text!r} was sent to {to}"


def log(function_name: str, function_call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Print each call."""
    print("calling", function_name)
    return function_call(**arguments)


@dataclass
class Script(Model):
    """A model that requests one of these calls in each turn, and then stops."""

    id: str = "script"
    calls: list[tuple[str, str]] = field(default_factory=list)

    def invoke(self, *_: Any, **__: Any) -> ModelResponse:
        """Return the next turn."""
        if not self.calls:
            return ModelResponse(role="assistant", content="Done.")
        name, path = self.calls.pop(0)
        function = {"name": name, "arguments": json.dumps({"path": path})}
        call = {"id": f"call_{len(self.calls)}", "type": "function", "function": function}
        return ModelResponse(role="assistant", content="", tool_calls=[call])

    async def ainvoke(self, *_: Any, **__: Any) -> ModelResponse:
        """Return the next turn."""
        return self.invoke()

    def invoke_stream(self, *_: Any, **__: Any) -> Iterator[ModelResponse]:
        """Return the next turn."""
        yield self.invoke()

    async def ainvoke_stream(self, *_: Any, **__: Any) -> AsyncIterator[ModelResponse]:
        """Return the next turn."""
        yield self.invoke()

    def _parse_provider_response(self, response: Any, **_: Any) -> Any:
        return response

    def _parse_provider_response_delta(self, response: Any) -> Any:
        return response


def main() -> None:
    """Run the agent, decide on its paused calls, and query the history."""
    tt.configure(store=Path(tempfile.mkdtemp()) / "agno.duckdb")
    agno.install()
    script = Script(calls=[("read", "notes.txt"), ("read", "plan.txt"), ("delete", "notes.txt"), ("delete", "all")])
    agent = Agent(name="clerk", model=script, tools=[read, delete], session_id="chat", telemetry=False)

    run = agent.run("tidy up")
    while run.is_paused:
        for waiting in run.active_requirements:
            path = waiting.tool_execution.tool_args["path"]
            if path == "all":
                waiting.reject("not everything")
            else:
                waiting.confirm()
            print("decided on", path)
        run = agent.continue_run(run_response=run)
    print(run.content)
    agno.remove()

    registry = tt.ToolRegistry(tool_call_limit=2, tool_hooks=[log])
    registry.register(send, requires_user_input=True, user_input_fields=["to"], stop_after_tool_call=True)
    waiting = registry.execute("send", {"text": "done"}, call_id="send_1")
    print(registry.resume(waiting, inputs={"to": "ann"}, answered_by="clerk").text)

    with tt.connect() as db:
        db.sql(
            """
            SELECT c.tool, c.call_id, c.ending, c.status, c.code, c.rule, g.decision, g.note, c.seen_text
            FROM tool_calls AS c LEFT JOIN gates AS g ON c.span_id IN (g.span_id, g.resumed_span_id)
            ORDER BY c.started_at
            """
        ).show(max_width=180)


if __name__ == "__main__":
    main()
