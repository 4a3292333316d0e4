"""An agent of smolagents, traced without a change to it: a tool that answers, one that fails, one that does not exist.

A script stands in for the model, so nothing asks the network.   Run: pip install 'tooltrace-recorder[smolagents]' && python examples/smolagents_agent.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from smolagents import Tool, ToolCallingAgent
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, Model

import tooltrace as tt

FILES = {"notes.txt": "buy milk"}


class Read(Tool):
    """A tool that reads a file."""

    name = "read"
    description = "Read a file."
    inputs = {"path": {"type": "string", "description": "Its name."}}  # noqa: RUF012 - as smolagents wants it
    output_type = "string"

    def forward(self, path: str) -> str:
        """Return the file's text."""
        return FILES[path]


class Script(Model):
    """A model that calls these tools, one a turn."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        super().__init__()
        self.calls = [*calls, ("final_answer", {"answer": "Done."})]

    def generate(self, messages: Any, **_: Any) -> ChatMessage:
        """Return the next call."""
        name, arguments = self.calls.pop(0)
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=f"call_{len(messages)}", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def main() -> None:
    """Run the agent, and ask the history."""
    tt.configure(store=Path(tempfile.mkdtemp()) / "smolagents.duckdb")
    print("recorded:", tt.install())
    script = Script(
        ("read", {"path": "notes.txt"}), ("read", {"path": "plan.txt"}), ("read", {"file": 1}), ("write", {})
    )
    agent = ToolCallingAgent(tools=[Read()], model=script, name="clerk", verbosity_level=-1)
    with tt.context(conversation_id="chat"):
        print(agent.run("tidy up"))

    with tt.connect() as db:
        db.sql(
            """
            SELECT tool, call_id, agent, ending, status, code, error_message, seen_text
            FROM tool_calls ORDER BY started_at
            """
        ).show(max_width=180)


if __name__ == "__main__":
    main()
