"""A crew of CrewAI, traced without a change to it: a tool that answers, one that fails, one whose result CrewAI has in its cache.

A script stands in for the model, so nothing asks the network.   Run: pip install 'tooltrace-recorder[crewai]' && python examples/crewai_agent.py
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", CREWAI_TESTING="true")

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool

import tooltrace as tt

FILES = {"notes.txt": "buy milk"}


@tool("read")
def read(path: str) -> str:
    """Read a file."""
    return FILES[path]


class Script(BaseLLM):
    """A model that calls these tools, one a turn, and then is done."""

    calls: list[tuple[str, dict[str, Any]]]

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        """Return the next call."""
        if not self.calls:
            return "Done."
        name, arguments = self.calls.pop(0)
        function = {"name": name, "arguments": json.dumps(arguments)}
        return [{"id": f"call_{len(messages)}", "type": "function", "function": function}]

    async def acall(self, *args: Any, **options: Any) -> Any:
        """Return the next call."""
        return self.call(*args, **options)

    def supports_function_calling(self) -> bool:
        """Whether it calls tools by itself."""
        return True


def main() -> None:
    """Run the crew, and ask the history."""
    tt.configure(store=Path(tempfile.mkdtemp()) / "crewai.duckdb")
    print("recorded:", tt.install())
    notes = {"path": "notes.txt"}
    script = Script(
        model="script", calls=[("read", notes), ("read", {"path": "plan.txt"}), ("read", {}), ("read", notes)]
    )
    agent = Agent(role="clerk", goal="tidy up", backstory="works here", llm=script, tools=[read])
    task = Task(description="Tidy up.", expected_output="A word.", agent=agent)
    with tt.context(conversation_id="chat"):
        print(Crew(agents=[agent], tasks=[task]).kickoff())

    with tt.connect() as db:
        db.sql(
            """
            SELECT tool, call_id, agent, ending, status, code, error_message, seen_text
            FROM tool_calls ORDER BY started_at
            """
        ).show(max_width=180)


if __name__ == "__main__":
    main()
