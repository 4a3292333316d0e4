"""Helpers of the tests of reviews."""

from __future__ import annotations

import asyncio
from typing import Any

from agno.tools import tool

HOWS = ("run", "arun", "run_stream", "arun_stream")


@tool(requires_confirmation=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


@tool(requires_user_input=True, user_input_fields=["to"])
def send(subject: str, to: str) -> str:
    """Send a letter."""
    return f"sent {subject} to {to}"


@tool(external_execution=True)
def shell(command: str) -> str:
    """Run a command."""
    raise AssertionError("somebody else runs it")


def start(agent: Any, how: str) -> Any:
    if how == "run":
        return agent.run("go", session_id="s")
    if how == "arun":
        return asyncio.run(agent.arun("go", session_id="s"))
    if how == "run_stream":
        return [x for x in agent.run("go", session_id="s", stream=True, yield_run_output=True)][-1]

    async def last() -> Any:
        return [x async for x in agent.arun("go", session_id="s", stream=True, yield_run_output=True)][-1]

    return asyncio.run(last())


def go_on(agent: Any, how: str, output: Any) -> Any:
    by = {"run_id": output.run_id, "requirements": output.requirements, "session_id": "s"}
    if how == "run":
        return agent.continue_run(**by)
    if how == "arun":
        return asyncio.run(agent.acontinue_run(**by))
    if how == "run_stream":
        return [x for x in agent.continue_run(**by, stream=True, yield_run_output=True)][-1]

    async def last() -> Any:
        return [x async for x in agent.acontinue_run(**by, stream=True, yield_run_output=True)][-1]

    return asyncio.run(last())
