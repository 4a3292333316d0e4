"""Agents of google-adk: parallel calls, whose merged responses are not a call, and placeholders, which are unknown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tooltrace.core.records import ToolCall

pytest.importorskip("google.adk", reason="needs google-adk: make test-google-adk")

Calls = Callable[[], list[ToolCall]]


def careful(city: str) -> dict[str, str]:
    """The weather."""
    return {"error": "no such city"} if city == "Nowhere" else {"city": city}


def hasty(city: str) -> dict[str, str]:
    """The weather."""
    raise ValueError(f"no such city: {city}")


def run(tool: Any, *cities: str) -> None:
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.adk.tools import FunctionTool
    from google.genai import types

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            calls = [types.Part.from_function_call(name=tool.__name__, args={"city": city}) for city in cities]
            parts = calls if len(llm_request.contents) == 1 else [types.Part(text="done")]
            yield LlmResponse(content=types.Content(role="model", parts=parts))

    runner = InMemoryRunner(agent=LlmAgent(name="clerk", model=Scripted(model="scripted"), tools=[FunctionTool(tool)]))

    async def converse() -> None:
        session = await runner.session_service.create_session(
            app_name=runner.app_name, user_id="u", session_id="session-7"
        )
        message = types.Content(role="user", parts=[types.Part(text="go")])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            pass

    asyncio.run(converse())


@pytest.mark.usefixtures("provider")
def test_parallel_calls_are_a_row_each(calls: Calls) -> None:
    run(careful, "Oslo", "Nowhere", "Oslo")
    found = calls()
    assert [call.tool for call in found] == ["careful"] * 3
    assert {(call.agent, call.conversation_id) for call in found} == {("clerk", "session-7")}
    assert sorted((call.status or "", call.ending) for call in found) == [
        ("error", "returned"),
        *[("success", "returned")] * 2,
    ]


@pytest.mark.usefixtures("provider")
def test_parallel_failures_are_not_a_retry(calls: Calls) -> None:
    with pytest.raises(ValueError, match="no such city"):
        run(hasty, "Nowhere", "Nowhere")
    found = calls()
    assert [(call.attempt, call.error_type, call.call_id == call.span_id) for call in found] == [
        (1, "ValueError", True)
    ] * 2
