"""Agents of the OpenAI Agents SDK, with a scripted model: every call one row, and the SDK notices nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.integrations.capabilities import Observed, by_id, check, check_review, messages
from tooltrace.core.records import ToolCall

agents = pytest.importorskip("agents", reason="needs openai-agents: make test-shared")

from agents import Agent, FunctionTool, RunConfig, Runner, SQLiteSession, function_tool, handoff
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from tooltrace.integrations import openai_agents

Calls = Callable[[], list[ToolCall]]
HIDDEN = "An error occurred while running the tool. Please try again."


@pytest.fixture(autouse=True)
def offline(no_network: None) -> None:
    agents.set_tracing_disabled(True)


class Scripted(Model):
    """A model that takes these turns: a text, or calls as ``(tool, arguments, call id)``."""

    def __init__(self, *turns: Any) -> None:
        self.turns = list(turns)
        self.inputs: list[Any] = []

    def _output(self, input: Any) -> list[Any]:
        self.inputs.append(input)
        turn = self.turns.pop(0) if self.turns else "done"
        if isinstance(turn, str):
            text = ResponseOutputText(text=turn, type="output_text", annotations=[])
            return [ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])]
        texts = [(name, given if isinstance(given, str) else json.dumps(given), call) for name, given, call in turn]
        return [ResponseFunctionToolCall(type="function_call", name=n, arguments=a, call_id=c) for n, a, c in texts]

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        return ModelResponse(output=self._output(input), usage=Usage(), response_id=None)

    async def stream_response(
        self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any
    ) -> AsyncIterator[Any]:
        fields = {"tool_choice": "auto", "tools": [], "parallel_tool_calls": True, "model": "m", "object": "response"}
        response = Response(id="r", created_at=0, output=self._output(input), **fields)
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)

    def read(self) -> dict[str, Any]:
        """Texts that the model received about each call, at its last turn."""
        return {item["call_id"]: item["output"] for item in self.inputs[-1] if item.get("type", "").endswith("_output")}


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def read(path: str) -> str:
    """Read."""
    raise FileNotFoundError(path)


def agent_of(tools: list[Any], *turns: Any, **options: Any) -> Agent[Any]:
    wrapped = [tool if isinstance(tool, FunctionTool) else function_tool(tool) for tool in tools]
    return Agent(name="clerk", model=Scripted(*turns), tools=wrapped, **options)


def run(agent: Agent[Any], **options: Any) -> Any:
    return asyncio.run(Runner.run(agent, "go", **options))


def test_a_call_has_id_agent_conversation_arguments_and_result(installed: None, calls: Calls, store: Path) -> None:
    @function_tool
    def search(context: agents.RunContextWrapper[Any], query: str) -> dict[str, Any]:
        """Search the shelves."""
        return {"found": [query]}

    run(agent_of([search], [("search", {"query": "x"}, "c1")]), session=SQLiteSession("chat"), context={"secret": "s"})
    (call,) = calls()
    assert (call.tool, call.call_id, call.agent, call.conversation_id) == ("search", "c1", "clerk", "chat")
    assert (call.tool_description, call.status) == ("Search the shelves.", "success")
    assert (json.loads(call.arguments), json.loads(call.result)) == ({"query": "x"}, {"found": ["x"]})
    assert messages(store) == {"c1": "{'found': ['x']}"}


def test_an_exception_hidden_from_the_model_is_recorded(installed: None, calls: Calls, store: Path) -> None:
    agent = agent_of([read], [("read", {"path": "a.txt"}, "c1")])
    run(agent)
    (call,) = calls()
    assert (call.status, call.ending, call.code, call.error_type) == (
        "error",
        "raised",
        "NOT_FOUND",
        "FileNotFoundError",
    )
    assert messages(store) == agent.model.read() == {"c1": HIDDEN}


def test_an_exception_that_ends_the_run_is_recorded_once(installed: None, calls: Calls) -> None:
    with pytest.raises(agents.UserError, match=r"Error running tool read: a\.txt"):
        run(agent_of([function_tool(failure_error_function=None)(read)], [("read", {"path": "a.txt"}, "c1")]))
    (call,) = calls()
    assert (call.ending, call.error_type) == ("raised", "FileNotFoundError")


def test_arguments_that_do_not_fit_never_reach_the_tool(installed: None, calls: Calls) -> None:
    run(agent_of([add], [("add", {"a": "one", "b": 2}, "c1"), ("add", "{", "c2")]))
    found = by_id(calls)
    assert {(call.ending, call.code, call.duration_ms) for call in found.values()} == {
        ("refused", "INVALID_PARAM", None)
    }
    assert json.loads(found["c2"].arguments) == {"value": "{"}


def test_an_unknown_tool_is_refused_whether_or_not_the_run_continues(
    installed: None, calls: Calls, store: Path
) -> None:
    with pytest.raises(agents.ModelBehaviorError, match="Tool nosuch not found in agent clerk"):
        run(agent_of([add], [("nosuch", {"x": 1}, "c1")]))
    goes_on = RunConfig(tool_not_found_behavior="return_error_to_model", group_id="g1")
    run(agent_of([add], [("nosuch", {"x": 1}, "c2")]), run_config=goes_on)
    found = by_id(calls)
    assert [(call.tool, call.ending, call.code, call.agent) for call in found.values()] == [
        ("nosuch", "refused", "NOT_FOUND", "clerk")
    ] * 2
    assert found["c2"].conversation_id == "g1"
    assert messages(store) == {"c2": "Tool 'nosuch' not found."}


def test_a_pause_is_not_a_failure_and_the_result_follows(installed: None, calls: Calls, store: Path) -> None:
    @function_tool(needs_approval=True)
    def drop(table: str) -> str:
        """Drop."""
        return f"dropped {table}"

    agent = agent_of([drop], [("drop", {"table": "t"}, "c1"), ("drop", {"table": "u"}, "c2")])
    paused = run(agent, session=(session := SQLiteSession("chat")))
    assert [(call.call_id, call.status, call.ending) for call in calls()] == [
        ("c1", None, "paused"),
        ("c2", None, "paused"),
    ]
    state = paused.to_state()
    for item in paused.interruptions:
        if item.raw_item.call_id == "c1":
            state.approve(item)
        else:
            state.reject(item, rejection_message="not this table")
    asyncio.run(Runner.run(agent, state, session=session))
    answered = {call.call_id: call for call in calls()[2:]}
    assert {name: (call.status, call.ending, call.attempt) for name, call in answered.items()} == {
        "c1": ("success", "returned", 1),
        "c2": (None, "declined", 1),
    }
    assert messages(store) == {"c1": "dropped t", "c2": "not this table"}
    paused_rows = by_id(lambda: calls()[:2])
    check_review(store, paused_rows["c1"], answered["c1"], "confirmation")
    assert check_review(store, paused_rows["c2"], answered["c2"], "confirmation", "declined").note == "not this table"


def test_a_waiting_question_is_one_gate(installed: None, calls: Calls, store: Path) -> None:
    @function_tool(needs_approval=True)
    def drop(table: str) -> str:
        """Drop."""
        return f"dropped {table}"

    agent = agent_of([drop], [("drop", {"table": "t"}, "c1"), ("drop", {"table": "u"}, "c2")])
    paused = run(agent)
    for call_id in ("c1", "c2"):
        state = paused.to_state()
        (item,) = [each for each in paused.interruptions if each.raw_item.call_id == call_id]
        state.approve(item)
        paused = asyncio.run(Runner.run(agent, state))
    assert paused.final_output == "done"
    rows = {(call.call_id, call.ending): call for call in calls()}
    for call_id in ("c1", "c2"):
        check_review(store, rows[call_id, "paused"], rows[call_id, "returned"], "confirmation")
    assert len(calls()) == 4


def test_guardrails_that_stop_a_call(installed: None, calls: Calls, store: Path) -> None:
    from agents import ToolGuardrailFunctionOutput, tool_input_guardrail

    @tool_input_guardrail
    def refuse(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content("not this")

    @tool_input_guardrail
    def trip(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.raise_exception()

    run(agent_of([function_tool(add, tool_input_guardrails=[refuse])], [("add", {"a": 1, "b": 2}, "c1")]))
    with pytest.raises(agents.ToolInputGuardrailTripwireTriggered):
        run(agent_of([function_tool(add, tool_input_guardrails=[trip])], [("add", {"a": 1, "b": 2}, "c2")]))
    assert {name: (call.status, call.ending) for name, call in by_id(calls).items()} == {
        "c1": (None, "refused"),
        "c2": (None, "refused"),
    }
    assert messages(store) == {"c1": "not this"}


def test_after_a_handoff_the_new_agent_calls(installed: None, calls: Calls) -> None:
    other = agent_of([add], [("add", {"a": 1, "b": 2}, "c2")])
    other.name = "expert"
    first = agent_of([add], [("add", {"a": 3, "b": 4}, "c1")], [("transfer_to_expert", {}, "h1")])
    first.handoffs = [handoff(other)]
    run(first)
    assert {call.call_id: call.agent for call in calls()} == {"c1": "clerk", "c2": "expert"}


def test_an_agent_as_tool_encloses_the_calls_of_its_agent(installed: None, calls: Calls) -> None:
    helper = agent_of([add], [("add", {"a": 1, "b": 2}, "c2")], "three")
    helper.name = "helper"
    run(agent_of([helper.as_tool("help", "Help.")], [("help", {"input": "1 + 2?"}, "c1")]), session=SQLiteSession("s"))
    found = by_id(calls)
    assert {name: (call.agent, call.conversation_id) for name, call in found.items()} == {
        "c1": ("clerk", "s"),
        "c2": ("helper", "s"),
    }
    assert (found["c2"].parent_span_id, found["c1"].text) == (found["c1"].span_id, "three")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_decorated_tool_is_one_row_with_the_decorators_options(installed: None, calls: Calls, kind: str) -> None:
    def weigh(item: str) -> tt.ToolResponse:
        return tt.ToolResponse.success("3 kg", {"kg": 3}, confidence=0.75)

    async def aweigh(item: str) -> tt.ToolResponse:
        return weigh(item)

    traced = tt.trace_tool(version="7", name="weigh")(weigh if kind == "sync" else aweigh)
    tool = function_tool(name_override="scales")(traced)
    run(agent_of([tool], [("scales", {"item": "a"}, "c1")]), session=SQLiteSession("chat"))
    (call,) = calls()
    assert (call.tool, call.tool_version, call.confidence, call.rule) == ("weigh", "7", 0.75, "tool_response")
    assert (call.call_id, call.agent, call.conversation_id) == ("c1", "clerk", "chat")


def test_calls_inside_a_tool_are_its_children_without_the_models_id(installed: None, calls: Calls) -> None:
    @tt.trace_tool
    def inner(x: int) -> int:
        return x

    @function_tool
    def outer(x: int) -> int:
        """Outer."""
        return inner(x)

    run(agent_of([outer], [("outer", {"x": 1}, "c1")]))
    outside, inside = sorted(calls(), key=lambda call: call.parent_span_id is not None)
    assert (outside.call_id, inside.parent_span_id, inside.call_id) == ("c1", outside.span_id, inside.span_id)
    assert inside.agent == "clerk"


async def test_a_streamed_run_and_parallel_calls_are_not_mixed_up(installed: None, calls: Calls) -> None:
    @function_tool
    async def wait(n: int) -> int:
        """Wait."""
        await asyncio.sleep(0)
        return n

    turns = [("wait", {"n": n}, f"c{n}") for n in range(10)]
    result = Runner.run_streamed(agent_of([wait], turns), "go", session=SQLiteSession("chat"))
    async for _ in result.stream_events():
        pass
    found = by_id(calls)
    assert {name: json.loads(call.result) for name, call in found.items()} == {f"c{n}": n for n in range(10)}
    assert {call.conversation_id for call in found.values()} == {"chat"}


async def test_a_timeout_is_one(installed: None, calls: Calls) -> None:
    @function_tool(timeout=0.01)
    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return "never"

    await Runner.run(agent_of([hang], [("hang", {}, "c1")]), "go")
    (call,) = calls()
    assert (call.status, call.code) == ("error", "TIMEOUT")


def outcome(agent: Agent[Any]) -> tuple[Any, ...]:
    """Values of a run that an application can observe."""
    try:
        result = run(agent)
        ended = [getattr(item, "output", None) for item in result.new_items], result.final_output
    except Exception as error:
        ended = type(error), str(error), type(error.__cause__)
    return ended, agent.model.read(), [tool.params_json_schema for tool in agent.tools]


@pytest.mark.parametrize("turn", [("add", {"a": 1, "b": 2}), ("add", {"a": "x"}), ("read", {"path": "p"}), ("no", {})])
def test_the_sdk_notices_nothing(store: Path, turn: tuple[Any, ...]) -> None:
    made = [agent_of([add, read], [(*turn, "c1")]) for _ in range(2)]
    before = outcome(made[0])
    openai_agents.install()
    openai_agents.install()
    after = outcome(made[1])
    openai_agents.remove()
    assert before == after


def test_faults_of_the_recorder_do_not_reach_the_framework(
    installed: None, lenient: None, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(
        openai_agents, "FrameworkCall", type("Broken", (openai_agents.FrameworkCall,), {"__init__": fail})
    )
    agent = agent_of([add, read], [("add", {"a": 1, "b": 2}, "c1"), ("read", {"path": "p"}, "c2")])
    run(agent)
    assert agent.model.read() == {"c1": "3", "c2": HIDDEN}
    assert calls() == []


def test_remove_restores_the_sdks_functions(store: Path, calls: Calls) -> None:
    from agents.run_internal import tool_execution, turn_resolution

    owners = (agents.tool, tool_execution, turn_resolution, tool_execution._FunctionToolBatchExecutor)
    before = [dict(vars(owner)) for owner in owners]
    openai_agents.install()
    openai_agents.remove()
    assert [dict(vars(owner)) for owner in owners] == before
    run(agent_of([add], [("add", {"a": 1, "b": 2}, "c1")]))
    assert calls() == []


def test_an_unknown_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from agents.run_internal import turn_resolution

    with monkeypatch.context() as patch:
        patch.delattr(turn_resolution, "process_model_response")
        with pytest.raises(tt.TooltraceError, match="version of openai-agents"):
            openai_agents.install()
        assert openai_agents._patches.on is False


def test_the_table_of_the_docs(installed: None, calls: Calls, store: Path) -> None:
    @function_tool(needs_approval=True)
    def drop() -> str:
        """Drop."""
        return "dropped"

    @tt.trace_tool
    def weigh(item: str) -> str:
        return item

    goes_on = RunConfig(tool_not_found_behavior="return_error_to_model")
    turn = [("add", {"a": 1, "b": 2}, "c1"), ("read", {"path": "p"}, "c2"), ("add", {"a": "x"}, "c3")]
    turn += [("nosuch", {}, "c4"), ("weigh", {"item": "a"}, "c7")]
    run(agent_of([add, read, weigh], turn), session=SQLiteSession("chat"), run_config=goes_on)
    run(agent_of([drop], [("drop", {}, "c5")]))

    async def stream() -> None:
        result = Runner.run_streamed(agent_of([add], [("add", {"a": 1, "b": 2}, "c6")]), "go")
        async for _ in result.stream_events():
            pass

    asyncio.run(stream())
    found = by_id(calls)
    observed = Observed(
        found["c1"], found["c2"], messages(store), found["c3"], found["c4"], found["c5"], found["c6"], [found["c7"]]
    )
    check("openai_agents", observed)
