"""Agents of Pydantic AI, with a scripted model: every call one row, and Pydantic AI notices nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tooltrace as tt
from tests.integrations.capabilities import Observed, by_id, check, check_review, messages
from tooltrace.core.records import ToolCall

ai = pytest.importorskip("pydantic_ai", reason="needs pydantic-ai: make test-pydantic-ai")

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, Tool, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturn, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from tooltrace.integrations import pydantic_ai

pytestmark = pytest.mark.usefixtures("no_network")
Calls = Callable[[], list[ToolCall]]


def agent_of(tools: list[Any], *turns: Any, **options: Any) -> Agent[Any, Any]:
    """An agent ``clerk`` whose model takes these turns: a text, or calls as ``(tool, arguments, call id)``."""
    script = iter(turns)

    def model(messages: Any, info: Any) -> ModelResponse:
        turn = next(script, "done")
        return ModelResponse(
            parts=[TextPart(turn)] if isinstance(turn, str) else [ToolCallPart(*each) for each in turn]
        )

    async def stream(messages: Any, info: Any) -> AsyncIterator[Any]:
        turn = next(script, "done")
        if isinstance(turn, str):
            yield turn
            return
        for number, (name, arguments, call_id) in enumerate(turn):
            yield {number: DeltaToolCall(name=name, json_args=json.dumps(arguments), tool_call_id=call_id)}

    return Agent(FunctionModel(model, stream_function=stream), name="clerk", tools=tools, **options)


def go(agent: Agent[Any, Any], *prompt: str, **options: Any) -> Any:
    return asyncio.run(agent.run(*prompt, **options))  # run_sync leaves an event loop open


def returned(result: Any) -> dict[str, str]:
    """Texts that the model received, by call id."""
    parts = [part for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    return {part.tool_call_id: part.model_response_str() for part in parts}


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def read(path: str) -> str:
    """Read."""
    raise FileNotFoundError(path)


def drop(table: str) -> str:
    """Drop."""
    return f"dropped {table}"


def test_a_call_has_id_agent_conversation_arguments_and_result(installed: None, calls: Calls, store: Path) -> None:
    def search(context: ai.RunContext[Any], query: str) -> ToolReturn:
        """Search the shelves."""
        return ToolReturn({"found": [query]}, metadata={"secret": "s"})

    result = go(agent_of([search], [("search", {"query": "x"}, "c1")]), "go", conversation_id="chat", deps="dep")
    (call,) = calls()
    assert (call.tool, call.call_id, call.agent, call.conversation_id) == ("search", "c1", "clerk", "chat")
    assert (call.tool_description, call.status) == ("Search the shelves.", "success")
    assert (json.loads(call.arguments), json.loads(call.result)) == ({"query": "x"}, {"found": ["x"]})
    assert messages(store) == returned(result)


def test_failures_of_every_kind(installed: None, calls: Calls, store: Path) -> None:
    def again(query: str) -> str:
        """Search."""
        raise ModelRetry("another query")

    turn = [("again", {"query": "x"}, "c1"), ("add", {"a": "one", "b": 2}, "c2"), ("nosuch", {"x": 1}, "c3")]
    result = go(agent_of([add, again], turn), "go")
    with pytest.raises(FileNotFoundError):
        go(agent_of([read], [("read", {"path": "a.txt"}, "c4")]), "go")
    found = by_id(calls)
    assert messages(store) == returned(result)
    assert {name: (call.status, call.ending, call.code) for name, call in found.items()} == {
        "c1": ("error", "raised", "EXECUTION_ERROR"),
        "c2": (None, "refused", "INVALID_PARAM"),
        "c3": (None, "refused", "NOT_FOUND"),
        "c4": ("error", "raised", "NOT_FOUND"),
    }
    assert (found["c1"].error_type, found["c4"].error_type) == (
        "pydantic_ai.exceptions.ModelRetry",
        "FileNotFoundError",
    )


def test_a_rejection_that_ends_the_run_is_recorded_once(installed: None, calls: Calls) -> None:
    wrong = [("add", {"a": "one", "b": 2}, "c1")], [("add", {"a": "one", "b": 2}, "c2")]
    with pytest.raises(ai.UnexpectedModelBehavior):
        go(agent_of([add], *wrong), "go")
    assert {name: call.code for name, call in by_id(calls).items()} == {"c1": "INVALID_PARAM", "c2": "INVALID_PARAM"}


def test_a_pause_is_not_a_failure_and_the_result_follows(installed: None, calls: Calls, store: Path) -> None:
    def ask(question: str) -> str:
        """Ask."""
        raise ai.CallDeferred

    def maybe(ctx: ai.RunContext[Any], table: str) -> str:
        """Drop if somebody agrees."""
        if not ctx.tool_call_approved:
            raise ai.ApprovalRequired
        return "dropped"

    turn = [(name, {"table": "t"}, f"c{n}") for n, name in enumerate(["drop", "drop", "maybe"])]
    turn += [("ask", {"question": "why"}, "c3")]
    agent = agent_of(
        [Tool(drop, requires_approval=True), maybe, ask], turn, output_type=[str, DeferredToolRequests], retries=2
    )
    paused = go(agent, "go", conversation_id="chat")
    assert {(call.status, call.ending) for call in by_id(calls).values()} == {(None, "paused")}
    approved = ToolApproved(override_args={"table": "u"})
    answers = DeferredToolResults(
        approvals={"c0": True, "c1": ToolDenied("no!"), "c2": approved}, calls={"c3": "because"}
    )
    result = go(agent, message_history=paused.all_messages(), deferred_tool_results=answers, conversation_id="chat")
    answered = {call.call_id: call for call in calls()[4:]}
    assert {name: (call.status, call.ending, call.attempt) for name, call in answered.items()} == {
        "c0": ("success", "returned", 1),
        "c1": (None, "declined", 1),
        "c2": ("success", "returned", 1),
        "c3": ("success", "returned", 1),
    }
    assert json.loads(answered["c3"].attributes) == {"pydantic_ai.ran": False}
    assert messages(store) == returned(result)
    asked = {call.call_id: call for call in calls()[:4]}
    kinds = {"c0": "confirmation", "c1": "confirmation", "c2": "confirmation", "c3": "external"}
    gates = {
        name: check_review(store, asked[name], answered[name], kind, "declined" if name == "c1" else "approved")
        for name, kind in kinds.items()
    }
    assert [gates["c1"].note, gates["c2"].changed, gates["c0"].changed] == ["no!", '{"table":"u"}', None]


def test_a_decorated_tool_is_one_row_with_the_decorators_options(installed: None, calls: Calls) -> None:
    @tt.trace_tool(version="7", name="weigh")
    def scales(item: str) -> tt.ToolResponse:
        return tt.ToolResponse.success("3 kg", {"kg": 3}, confidence=0.75)

    go(agent_of([scales], [("scales", {"item": "a"}, "c1")]), "go", conversation_id="chat")
    (call,) = calls()
    assert (call.tool, call.tool_version, call.confidence, call.call_id) == ("weigh", "7", 0.75, "c1")
    assert (call.agent, call.conversation_id) == ("clerk", "chat")


@pytest.mark.parametrize("decorated", [False, True])
def test_with_its_own_instrumentation_a_call_is_one_row(
    installed: None, store: Path, calls: Calls, decorated: bool
) -> None:
    from pydantic_ai.capabilities import Instrumentation
    from pydantic_ai.models.instrumented import InstrumentationSettings

    provider = TracerProvider()
    provider.add_span_processor(tt.TooltraceSpanProcessor())
    tt.configure(store=store, tracer_provider=provider)
    tool = tt.trace_tool(add) if decorated else add
    agent = agent_of([tool], [("add", {"a": 1, "b": 2}, "c1"), ("add", {"a": "x", "b": 2}, "c2")])
    go(agent, "go", capabilities=[Instrumentation(InstrumentationSettings(tracer_provider=provider))])
    provider.force_flush()
    assert {name: call.ending for name, call in by_id(calls).items()} == {"c1": "returned", "c2": "refused"}
    tt.configure(store=store)


async def test_a_streamed_run(installed: None, calls: Calls) -> None:
    agent = agent_of([add], [("add", {"a": n, "b": n}, f"c{n}") for n in range(5)])
    async with agent.run_stream("go", conversation_id="chat") as result:
        await result.get_output()
    assert {name: json.loads(call.result) for name, call in by_id(calls).items()} == {f"c{n}": 2 * n for n in range(5)}


def outcome(agent: Agent[Any, Any]) -> Any:
    """Values of a run that an application can observe."""
    try:
        result = go(agent, "go")
        return result.output, returned(result)
    except Exception as error:
        return type(error), str(error), type(error.__cause__)


@pytest.mark.parametrize("turn", [("add", {"a": 1, "b": 2}), ("add", {"a": "x"}), ("read", {"path": "p"}), ("no", {})])
def test_pydantic_ai_notices_nothing(store: Path, turn: tuple[Any, ...]) -> None:
    first, second = (agent_of([add, read], [(*turn, "c1")]) for _ in range(2))
    before = outcome(first)
    pydantic_ai.install()
    pydantic_ai.install()
    after = outcome(second)
    pydantic_ai.remove()
    assert before == after


def test_faults_of_the_recorder_do_not_reach_the_framework(
    installed: None, lenient: None, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("ours")

    broken = type("Broken", (pydantic_ai.FrameworkCall,), {"__init__": fail})
    monkeypatch.setattr(pydantic_ai, "FrameworkCall", broken)
    result = go(agent_of([add], [("add", {"a": 1, "b": 2}, "c1"), ("add", {"a": "x", "b": 2}, "c2")]), "go")
    assert (result.output, returned(result)["c1"]) == ("done", "3")
    assert calls() == []


def test_remove_restores_the_functions(store: Path, calls: Calls) -> None:
    from pydantic_ai import _tool_execution, tool_manager

    owners = (tool_manager.ToolManager, _tool_execution._ToolCallProcessor)
    before = [dict(vars(owner)) for owner in owners]
    pydantic_ai.install()
    pydantic_ai.remove()
    assert [dict(vars(owner)) for owner in owners] == before
    go(agent_of([add], [("add", {"a": 1, "b": 2}, "c1")]), "go")
    assert calls() == []


async def test_the_table_of_the_docs(installed: None, calls: Calls, store: Path) -> None:
    @tt.trace_tool
    def weigh(item: str) -> str:
        """Weigh."""
        return item

    turn = [("add", {"a": 1, "b": 2}, "c1"), ("add", {"a": "x", "b": 2}, "c3"), ("nosuch", {}, "c4")]
    turn += [("weigh", {"item": "a"}, "c7")]
    await agent_of([add, weigh], turn).run("go", conversation_id="chat")
    with pytest.raises(FileNotFoundError):
        await agent_of([read], [("read", {"path": "p"}, "c2")]).run("go")
    paused = agent_of(
        [Tool(drop, requires_approval=True)], [("drop", {"table": "t"}, "c5")], output_type=[str, DeferredToolRequests]
    )
    await paused.run("go")
    async with agent_of([add], [("add", {"a": 1, "b": 2}, "c6")]).run_stream("go") as result:
        await result.get_output()
    found = by_id(calls)
    check("pydantic_ai", Observed(
        found["c1"], found["c2"], messages(store), found["c3"], found["c4"], found["c5"], found["c6"], [found["c7"]]
    ))  # fmt: skip
