"""An agent of Pydantic AI, traced without a change to it: a tool that answers, one that fails, one that asks the model to try again.

A script stands in for the model, so nothing asks the network.   Run: pip install 'tooltrace-recorder[pydantic-ai]' && python examples/pydantic_ai_agent.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

import tooltrace as tt

FILES = {"notes.txt": "buy milk"}


def read(path: str) -> str:
    """Read a file."""
    if path not in FILES:
        raise ModelRetry(f"no such file: {path}; there are {', '.join(FILES)}")
    return FILES[path]


def main() -> None:
    """Run the agent, and ask the history."""
    tt.configure(store=Path(tempfile.mkdtemp()) / "pydantic_ai.duckdb")
    print("recorded:", tt.install())
    turns = iter(
        [("read", {"path": "plan.txt"}), ("read", {"file": 1}), ("write", {}), ("read", {"path": "notes.txt"})]
    )

    def script(_messages: Any, _info: Any) -> ModelResponse:
        turn = next(turns, None)
        return ModelResponse(parts=[TextPart("Done.") if turn is None else ToolCallPart(*turn)])

    agent = Agent(FunctionModel(script), name="clerk", tools=[read], retries=3)
    print(agent.run_sync("tidy up", conversation_id="chat").output)

    with tt.connect() as db:
        db.sql(
            """
            SELECT tool, call_id, agent, ending, status, code, error_message, seen_text
            FROM tool_calls ORDER BY started_at
            """
        ).show(max_width=180)


if __name__ == "__main__":
    main()
