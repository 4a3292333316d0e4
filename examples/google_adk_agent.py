"""An agent of Google's ADK, traced without a change to it: a tool that fails, and one that a person has to allow.

A script stands in for the model, so nothing asks the network.   Run: pip install 'tooltrace-recorder[google-adk]' && python examples/google_adk_agent.py
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.genai import types

import tooltrace as tt
from tooltrace.integrations import google_adk

FILES = {"notes.txt": "buy milk"}


def read(path: str) -> dict[str, str]:
    """Read a file."""
    return {"text": FILES[path]} if path in FILES else {"error": f"no such file: {path}"}


def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {FILES.pop(path)!r}"


class Script(BaseLlm):
    """A model that calls these tools, one a turn, and then is done."""

    model: str = "script"
    calls: list[tuple[str, dict[str, Any]]]

    async def generate_content_async(self, *_: Any, **__: Any) -> AsyncIterator[LlmResponse]:
        """Yield the next turn."""
        part = types.Part(text="Done.")
        if self.calls:
            name, arguments = self.calls.pop(0)
            call = types.FunctionCall(id=f"call_{len(self.calls)}", name=name, args=arguments)
            part = types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def run() -> None:
    """Run the agent, and answer what it asks."""
    calls = [
        ("read", {"path": "notes.txt"}),
        ("read", {"path": "plan.txt"}),
        ("read", {}),
        ("delete", {"path": "notes.txt"}),
    ]
    tools = [read, FunctionTool(delete, require_confirmation=True)]
    agent = LlmAgent(name="clerk", model=Script(calls=calls), tools=tools)
    runner = InMemoryRunner(agent, app_name="desk")
    session = await runner.session_service.create_session(app_name="desk", user_id="me")
    message: types.Content | None = types.Content(role="user", parts=[types.Part(text="tidy up")])
    while message is not None:
        answers = []
        async for event in runner.run_async(user_id="me", session_id=session.id, new_message=message):
            for asked in event.get_function_calls():
                if asked.name == "adk_request_confirmation":
                    print("asked about", asked.args["originalFunctionCall"]["args"])
                    answer = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": True})
                    answers.append(types.Part(function_response=answer))
            for part in event.content.parts if event.content else ():
                print(part.text or "", end="")
        message = types.Content(role="user", parts=answers) if answers else None
    print()


def main() -> None:
    """Run the agent, and ask the history."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    tt.configure(store=Path(tempfile.mkdtemp()) / "adk.duckdb")
    google_adk.install()
    asyncio.run(run())
    google_adk.remove()

    with tt.connect() as db:
        db.sql(
            """
            SELECT tool, call_id, attempt, agent, ending, status, code, seen_text FROM tool_calls ORDER BY started_at
            """
        ).show(max_width=200)


if __name__ == "__main__":
    main()
