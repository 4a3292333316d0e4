"""An agent of the OpenAI Agents SDK, traced without a change to it: a tool that answers, one that fails, one that a person has to allow.

A script stands in for the model, so nothing asks the network.   Run: pip install 'tooltrace-recorder[openai-agents]' && python examples/openai_agents_agent.py
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from agents import Agent, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import tooltrace as tt

FILES = {"notes.txt": "buy milk"}


@function_tool
def read(path: str) -> str:
    """Read a file."""
    return FILES[path]


@function_tool(needs_approval=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {FILES.pop(path)!r}"


class Script(Model):
    """A model that calls these tools, and then is done."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self.calls = [
            ResponseFunctionToolCall(type="function_call", name=name, arguments=given, call_id=f"call_{number}")
            for number, (name, given) in enumerate(calls)
        ]

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        """Return the calls, or a text if they were returned before."""
        output: list[Any] = self.calls
        if not output:
            text = ResponseOutputText(text="Done.", type="output_text", annotations=[])
            output = [
                ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            ]
        self.calls = []
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not used here."""
        raise NotImplementedError


async def run() -> None:
    """Run the agent, and answer what it asks."""
    script = Script(
        ("read", '{"path": "notes.txt"}'),
        ("read", '{"path": "plan.txt"}'),
        ("read", '{"file": "notes.txt"}'),
        ("delete", '{"path": "notes.txt"}'),
    )
    agent = Agent(name="clerk", model=script, tools=[read, delete])
    session = SQLiteSession("chat")
    result = await Runner.run(agent, "tidy up", session=session)
    while result.interruptions:
        state = result.to_state()
        for asked in result.interruptions:
            state.approve(asked)
        result = await Runner.run(agent, state, session=session)
    print(result.final_output)


def main() -> None:
    """Run the agent, and ask the history."""
    tt.configure(store=Path(tempfile.mkdtemp()) / "openai_agents.duckdb")
    set_tracing_disabled(disabled=True)
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
