"""A Strands agent, traced without a change to it: a tool that fails, and a call that waits for a person.

A script stands in for the model, so nothing asks the network.   Run: pip install 'tooltrace-recorder[strands]' && python examples/strands_agent.py
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from strands import Agent, ToolContext, tool
from strands.models import Model

import tooltrace as tt
from tooltrace.integrations import strands

FILES = {"notes.txt": "buy milk"}


@tool
def read(path: str) -> str:
    """Read a file."""
    return FILES[path]


@tool(context=True)
def delete(path: str, tool_context: ToolContext) -> str:
    """Delete a file."""
    if tool_context.interrupt("delete", reason={"path": path}) != "yes":
        return "not deleted"
    return f"deleted {FILES.pop(path)!r}"


class Script(Model):
    """A model that calls these tools, one a turn, and then is done."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls = list(calls)
        self.turn = 0

    def update_config(self, **_: Any) -> None:
        """Do nothing: a script has no configuration."""

    def get_config(self) -> dict[str, Any]:
        """Return an empty configuration."""
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Raise: the script has no structured output."""
        raise NotImplementedError

    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Yield the next turn."""
        yield {"messageStart": {"role": "assistant"}}
        if self.turn < len(self.calls):
            name, arguments = self.calls[self.turn]
            self.turn += 1
            use = {"toolUse": {"name": name, "toolUseId": f"call_{self.turn}"}}
            yield {"contentBlockStart": {"start": use}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            stop = "tool_use"
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "Done."}}}
            stop = "end_turn"
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": stop}}


def main() -> None:
    """Run the agent, answer what it asks, and ask the history."""
    logging.getLogger("strands").setLevel(logging.CRITICAL)
    tt.configure(store=Path(tempfile.mkdtemp()) / "strands.duckdb")
    strands.install()
    script = Script(
        ("read", {"path": "notes.txt"}),
        ("read", {"path": "plan.txt"}),
        ("read", {"file": "notes.txt"}),
        ("write", {"path": "plan.txt"}),
        ("delete", {"path": "notes.txt"}),
    )
    agent = Agent(name="clerk", model=script, tools=[read, delete], callback_handler=None)
    result = agent("tidy up")
    while result.stop_reason == "interrupt":
        print("asked about", [interrupt.reason for interrupt in result.interrupts])
        answers = [{"interruptResponse": {"interruptId": i.id, "response": "yes"}} for i in result.interrupts]
        result = agent(answers)
    print(result)
    strands.remove()

    with tt.connect() as db:
        db.sql(
            """
            SELECT tool, call_id, attempt, agent, ending, status, code, error_type, seen_text
            FROM tool_calls ORDER BY started_at
            """
        ).show(max_width=200)


if __name__ == "__main__":
    main()
