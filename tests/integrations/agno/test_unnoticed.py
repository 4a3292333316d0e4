"""The run does not notice: same results, same events, same errors; and no fault of ours reaches it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("agno", reason="not installed: pip install 'tooltrace-recorder[agno]'")

from agno.db.in_memory import InMemoryDb
from agno.tools import tool
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tooltrace.faults import faults
from tooltrace.integrations import agno
from tooltrace.recording import config


def add(a: int, b: int) -> int:
    return a + b


def fail(n: int) -> str:
    raise ValueError(f"no {n}")


def words(n: int) -> Iterator[str]:
    for i in range(n):
        yield f"{i} "
    if n > 2:
        raise RuntimeError("too many")


async def later(n: int) -> int:
    await asyncio.sleep(0)
    return n


@tool(requires_confirmation=True)
def delete(path: str) -> str:
    return f"deleted {path}"


@tool(show_result=True, stop_after_tool_call=True)
def answer(text: str) -> str:
    return text


CALLS = st.one_of(
    st.tuples(st.just("add"), st.fixed_dictionaries({"a": st.integers(), "b": st.integers(0, 9)})),
    st.tuples(st.just("fail"), st.fixed_dictionaries({"n": st.integers(0, 9)})),
    st.tuples(st.just("words"), st.fixed_dictionaries({"n": st.integers(0, 4)})),
    st.tuples(st.just("later"), st.fixed_dictionaries({"n": st.integers(0, 9)})),
    st.tuples(st.just("nobody"), st.just({})),
    st.tuples(st.just("add"), st.sampled_from(["{", "[]", "null", '{"a": "x"}'])),
    st.tuples(st.just("delete"), st.just({"path": "a"})),
    st.tuples(st.just("answer"), st.just({"text": "42"})),
)
TURNS = st.lists(st.lists(CALLS, min_size=1, max_size=4), max_size=3)


def play(make: Callable, turns: Any, limit: int | None, how: str, hooks: bool, yes: bool) -> list[Any]:
    """Everything that a caller, the hooks and the model see of one run, but for ids and clocks."""
    tools = [add, fail, words, delete, answer, *([later] if how.startswith("a") else [])]
    script = [[(name, args, f"call_{t}_{c}") for c, (name, args) in enumerate(turn)] for t, turn in enumerate(turns)]
    heard: list[Any] = []

    def hook(function_name: str, function_call: Callable, arguments: dict) -> Any:
        heard.append((function_name, dict(arguments)))
        result = function_call(**arguments)
        heard.append(type(result).__name__)
        return result

    agent = make(tools, *script, tool_call_limit=limit, db=InMemoryDb(), tool_hooks=[hook] if hooks else None)
    events = drive(agent, how, None, yes)
    for _ in range(5):
        if events[-1].is_paused:
            events += drive(agent, how, events[-1], yes)
    summaries: list[Any] = [(type(e).__name__, getattr(e, "content", None)) for e in events]
    ran = [(t.tool_call_id, t.tool_name, t.tool_args, t.result, t.tool_call_error) for t in events[-1].tools or ()]
    if how.startswith("a"):  # Agno runs the calls of one turn at the same time, some in threads
        heard.sort(key=repr)
    return [_untimed(summaries), ran, events[-1].status, heard, agent.model.seen]


def drive(agent: Any, how: str, paused: Any, yes: bool) -> list[Any]:
    """Begin a run, or go on with a ``paused`` one."""
    options: dict[str, Any] = {"session_id": "s"}
    if "stream" in how:
        options |= {"stream": True, "stream_events": True, "yield_run_output": True}
    if paused is None:
        begin, options["input"] = (agent.arun if how.startswith("a") else agent.run), "go"
    else:
        for requirement in paused.requirements:
            if requirement.needs_confirmation:
                requirement.confirm() if yes else requirement.reject("no")
        begin = agent.acontinue_run if how.startswith("a") else agent.continue_run
        options |= {"run_id": paused.run_id, "requirements": paused.requirements}

    async def gather() -> list[Any]:
        return [event async for event in begin(**options)]

    if "stream" in how:
        return asyncio.run(gather()) if how == "astream" else list(begin(**options))
    return [asyncio.run(begin(**options)) if how == "arun" else begin(**options)]


def _untimed(value: Any) -> Any:
    import re

    return re.sub(r"completed in [\d.]+s", "completed", repr(value))


@given(
    turns=TURNS,
    limit=st.sampled_from([None, 2]),
    how=st.sampled_from(["run", "arun", "stream", "astream"]),
    hooks=st.booleans(),
    yes=st.booleans(),
)
def test_a_recorded_run_is_the_same_run(
    agent_of: Callable, store: Any, calls: Callable, turns: Any, limit: Any, how: str, hooks: bool, yes: bool
) -> None:
    untraced = play(agent_of, turns, limit, how, hooks, yes)
    agno.install()
    before = len(calls())
    try:
        recorded = play(agent_of, turns, limit, how, hooks, yes)
    finally:
        agno.remove()
    assert recorded == untraced
    new = calls()[before:]
    executed = [call.call_id for call in new if call.ending != "paused"]
    assert len(executed) == len(set(executed)), "a call was recorded twice"
    answered = {call_id for turn in untraced[-1] for call_id, _ in turn}
    assert answered <= set(executed), "a call that the model was told about is not on record"


@pytest.mark.usefixtures("installed", "store", "lenient")
@pytest.mark.parametrize("broken", ["begin", "_end", "put", "_identify_call"])
def test_an_internal_fault_does_not_reach_the_run(
    agent_of: Callable, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def burst(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("the recorder is broken")

    monkeypatch.setattr(config.get_recorder(), broken, burst)
    turns = [[("add", {"a": 1, "b": 2}, "c1"), ("fail", {"n": 1}, "c2"), ("words", {"n": 2}, "c3")]]
    turns += [[("nobody", {}, "c4"), ("delete", {"path": "a"}, "c5")]]
    agent = agent_of([add, fail, words, delete], *turns, db=InMemoryDb())
    output = agent.run("go", session_id="s")
    assert output.is_paused
    output.requirements[0].confirm()
    output = agent.continue_run(run_id=output.run_id, requirements=output.requirements, session_id="s")
    model_texts = dict(agent.model.seen[-1])
    assert (model_texts["c1"], model_texts["c2"], model_texts["c3"], model_texts["c5"]) == (
        "3",
        "no 1",
        "0 1 ",
        "deleted a",
    )
    faults.drain()


@pytest.mark.usefixtures("installed", "store", "lenient")
def test_a_fault_in_reading_agno_does_not_reach_the_run(agent_of: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    from tooltrace.integrations.agno import human_review, patch_points, rejected_calls, tool_execution

    def burst(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ours is broken")

    for module in (tool_execution, rejected_calls, human_review, patch_points):
        names = (
            "context_for_function",
            "context_for_sibling",
            "context_by_name",
            "find_pending",
            "remember",
            "kind_of",
        )
        known = [name for name in names if hasattr(module, name)]
        assert known, "the functions that read agno have other names"
        for name in known:
            monkeypatch.setattr(module, name, burst)
    turns = [[("add", {"a": 1, "b": 2}, "c1"), ("nobody", {}, "c4"), ("delete", {"path": "a"}, "c5")]]
    agent = agent_of([add, delete], *turns, db=InMemoryDb())
    output = agent.run("go", session_id="s")
    output.requirements[0].reject("no")
    agent.continue_run(run_id=output.run_id, requirements=output.requirements, session_id="s")
    assert dict(agent.model.seen[-1])["c1"] == "3"
    assert faults.drain()


@pytest.mark.usefixtures("installed")
def test_a_run_that_is_dropped_abandons_the_stream(agent_of: Callable, calls: Callable) -> None:
    @tool(show_result=True)
    def long() -> Any:
        yield "a"
        yield "b"

    run = agent_of([long], [("long", {}, "call_1")]).run("go", stream=True)
    for event in run:
        if event.content == "a":
            break
    run.close()
    (call,) = calls()
    assert (call.ending, call.status, call.result) == ("abandoned", None, '["a"]')


@pytest.mark.usefixtures("installed")
async def test_a_task_that_is_cancelled_cancels_the_tool(agent_of: Callable, calls: Callable) -> None:
    running = asyncio.Event()

    async def forever() -> str:
        running.set()
        await asyncio.Event().wait()
        return "never"

    agent = agent_of([forever], [("forever", {}, "call_1")])
    task = asyncio.create_task(agent.arun("go"))
    await running.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    (call,) = calls()
    assert (call.ending, call.status) == ("cancelled", None)


@pytest.mark.usefixtures("installed")
def test_the_span_is_current_inside_the_tool(agent_of: Callable, calls: Callable) -> None:
    from opentelemetry import trace

    def note(key: str) -> str:
        trace.get_current_span().set_attribute("app.key", key)
        return "noted"

    agent = agent_of([note], [("note", {"key": "x"}, "call_1")], "done", [("note", {"key": "y"}, "call_2")])
    agent.run("go")
    asyncio.run(agent.arun("go"))
    assert ['"app.key":"x"' in calls()[0].attributes, '"app.key":"y"' in calls()[1].attributes] == [True, True]


@pytest.mark.usefixtures("installed")
def test_failures_hidden_in_results_are_found_by_the_rules(agent_of: Callable, calls: Callable) -> None:
    def respond() -> tt.ToolResponse:
        return tt.ToolResponse.error(tt.ToolErrorCode.TIMEOUT, "too slow", confidence=0.2)

    agent_of([respond], [("respond", {}, "call_1")]).run("go")
    (call,) = calls()
    assert (call.status, call.code, call.ending, call.confidence) == ("error", "TIMEOUT", "returned", 0.2)
