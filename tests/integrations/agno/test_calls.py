"""Results, exceptions and streams of Agno's tools are recorded once each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("agno", reason="not installed: pip install 'tooltrace-recorder[agno]'")

from opentelemetry import trace

pytestmark = pytest.mark.usefixtures("installed")

HOWS = ("run", "arun", "run_stream", "arun_stream")


def drive(agent: Any, how: str, text: str = "go", **options: Any) -> Any:
    """Run ``agent`` one of the four ways that Agno has."""
    options = {"session_id": "chat_3", **options}
    if how == "run":
        return agent.run(text, **options)
    if how == "run_stream":
        return list(agent.run(text, stream=True, stream_events=True, **options))
    if how == "arun":
        return asyncio.run(agent.arun(text, **options))

    async def gather() -> list[Any]:
        return [event async for event in agent.arun(text, stream=True, stream_events=True, **options)]

    return asyncio.run(gather())


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("how", HOWS)
def test_a_tool_after_which_the_run_stops_states_the_next_action(agent_of: Callable, calls: Callable, how: str) -> None:
    from agno.tools import tool

    @tool(stop_after_tool_call=True)
    def finish(a: int) -> str:
        if a < 0:
            raise ValueError("below 0")
        return "done"

    drive(agent_of([finish], [("finish", {"a": 1}, "c1")]), how)
    drive(agent_of([finish], [("finish", {"a": -1}, "c3")]), how)
    found = [(call.call_id, call.status, call.next_action, call.rule, call.result) for call in calls()]
    assert found == [("c1", "success", "stop", "plain", '"done"'), ("c3", "error", None, "exception", None)]


def fail(key: str) -> str:
    raise KeyError(key)


@pytest.mark.parametrize("how", HOWS)
def test_a_call_is_recorded_with_all_that_agno_knows(agent_of: Callable, calls: Callable, how: str) -> None:
    drive(agent_of([add], [("add", {"a": 1, "b": 2}, "call_1")]), how)
    (call,) = calls()
    assert (call.tool, call.call_id, call.attempt) == ("add", "call_1", 1)
    assert (call.agent, call.model, call.conversation_id) == ("clerk", "scripted", "chat_3")
    assert (call.status, call.ending, call.result) == ("success", "returned", "3")
    assert call.arguments == '{"a":1,"b":2}'
    assert call.tool_description == "Add two numbers."
    assert "agno.run_id" in call.attributes
    assert call.duration_ms is not None


@pytest.mark.parametrize("how", HOWS)
def test_the_class_of_an_exception_is_recorded(agent_of: Callable, calls: Callable, how: str) -> None:
    agent = agent_of([fail], [("fail", {"key": "x"}, "call_1")])
    drive(agent, how)
    (call,) = calls()
    assert (call.status, call.ending, call.error_type, call.code) == ("error", "raised", "KeyError", "NOT_FOUND")
    assert agent.model.seen[-1] == [("call_1", "'x'")]


@pytest.mark.parametrize("how", HOWS)
def test_parallel_calls_are_each_recorded(agent_of: Callable, calls: Callable, how: str) -> None:
    turn = [("add", {"a": n, "b": 1}, f"call_{n}") for n in range(5)]
    drive(agent_of([add], turn), how)
    assert {call.call_id: call.result for call in calls()} == {f"call_{n}": str(n + 1) for n in range(5)}


def test_parallel_coroutines_do_not_mix(agent_of: Callable, calls: Callable) -> None:
    together = asyncio.Barrier(3)

    async def slow(n: int) -> str:
        await together.wait()
        assert trace.get_current_span().get_span_context().is_valid
        return f"n={n}"

    turn = [("slow", {"n": n}, f"call_{n}") for n in range(3)]
    drive(agent_of([slow], turn), "arun")
    assert {call.call_id: call.result for call in calls()} == {f"call_{n}": f'"n={n}"' for n in range(3)}


def count(n: int) -> Iterator[str]:
    """Count."""
    for number in range(n):
        yield f"{number} "


def count_with_agent(agent: Any, n: int) -> Iterator[str]:
    for number in range(n):
        yield f"{number} "


async def acount(n: int) -> AsyncIterator[str]:
    for number in range(n):
        await asyncio.sleep(0)
        yield f"{number} "


def count_badly(n: int) -> Iterator[str]:
    yield "0 "
    raise ZeroDivisionError("no more")


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("tool", [count, count_with_agent, acount])
def test_a_stream_is_followed_to_its_end(agent_of: Callable, calls: Callable, how: str, tool: Any) -> None:
    if tool is acount and how.startswith("run"):
        pytest.skip("Agno refuses async tools in sync runs")
    agent = agent_of([tool], [(tool.__name__, {"n": 3}, "call_1")])
    drive(agent, how)
    (call,) = calls()
    assert (call.text, call.stats, call.status) == ("0 1 2 ", '{"items":3}', "success")
    assert call.arguments == '{"n":3}'
    assert (call.call_id, call.agent, call.conversation_id) == ("call_1", "clerk", "chat_3")
    assert call.first_item_ms is not None
    assert agent.model.seen[-1] == [("call_1", "0 1 2 ")]


@pytest.mark.parametrize("how", HOWS)
def test_a_stream_that_breaks_is_a_failure(agent_of: Callable, calls: Callable, how: str) -> None:
    drive(agent_of([count_badly], [("count_badly", {"n": 3}, "call_1")]), how)
    (call,) = calls()
    assert (call.ending, call.error_type, call.result) == ("raised", "ZeroDivisionError", '["0 "]')
