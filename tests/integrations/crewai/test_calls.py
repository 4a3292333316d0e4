"""Crews of CrewAI, with a scripted model: every call one row, and CrewAI notices nothing."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.integrations.capabilities import Observed, by_id, check, messages
from tooltrace.core.records import ToolCall

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of packages that CrewAI imports
    pytest.importorskip("crewai", reason="needs crewai: make test-crewai")
    from crewai import Agent, BaseLLM, Crew, Task
    from crewai.tools import tool

from tooltrace.integrations import crewai

pytestmark = [pytest.mark.usefixtures("no_network"), pytest.mark.filterwarnings("ignore")]
Calls = Callable[[], list[ToolCall]]


class Scripted(BaseLLM):
    """A model that takes these turns: a text, or calls as ``(tool, arguments, call id)``."""

    turns: list[Any] = []
    native: bool = True
    inputs: list[Any] = []

    def call(self, messages: Any, *args: Any, **options: Any) -> Any:
        self.inputs.append([dict(message) for message in messages])
        end = "done" if self.native else "Thought: I now can give a great answer\nFinal Answer: done"
        turn = self.turns.pop(0) if self.turns else end
        if isinstance(turn, str):
            return turn
        texts = [(name, given if isinstance(given, str) else json.dumps(given), call) for name, given, call in turn]
        return [{"id": c, "type": "function", "function": {"name": n, "arguments": a}} for n, a, c in texts]

    async def acall(self, *args: Any, **options: Any) -> Any:
        return self.call(*args, **options)

    def supports_function_calling(self) -> bool:
        return self.native

    def read(self) -> dict[str, Any]:
        """Texts that the model received about each call, at its last turn."""
        return {each["tool_call_id"]: each["content"] for each in self.inputs[-1] if each["role"] == "tool"}


def action(name: str, given: Any) -> str:
    return f"Thought: I call a tool.\nAction: {name}\nAction Input: {json.dumps(given)}"


@tool("add")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool("read")
def read(path: str) -> str:
    """Read."""
    raise FileNotFoundError(path)


@tool("weigh")
@tt.trace_tool(version="7")
def weigh(item: str) -> str:
    """Weigh."""
    return f"{item}: 3 kg"


def model_of(*turns: Any, native: bool = True) -> Scripted:
    return Scripted(model="scripted", turns=list(turns), native=native, inputs=[])


def run(model: Scripted, tools: list[Any] | None = None, **options: Any) -> str:
    agent = Agent(role="clerk", goal="g", backstory="b", llm=model, tools=tools or [add, read, weigh], max_iter=8)
    task = Task(description="d", expected_output="e", agent=agent)
    return str(Crew(agents=[agent], tasks=[task], **options).kickoff())


def test_a_call_has_id_agent_arguments_result_and_the_models_text(installed: None, calls: Calls, store: Path) -> None:
    model = model_of([("add", {"a": 1, "b": 2}, "c1")])
    with tt.context(conversation_id="chat"):
        run(model)
    (call,) = calls()
    assert (call.tool, call.call_id, call.agent, call.conversation_id) == ("add", "c1", "clerk", "chat")
    assert call.model == "scripted"
    assert (json.loads(call.arguments), json.loads(call.result)) == ({"a": 1, "b": 2}, 3)
    assert messages(store) == model.read() == {"c1": "3"}


def test_failures_of_every_kind(installed: None, calls: Calls, store: Path) -> None:
    turns = [("read", {"path": "a.txt"}, "c1"), ("add", {"a": "x", "b": 2}, "c2"), ("nosuch", {"x": 1}, "c3")]
    model = model_of(*([turn] for turn in turns), [("add", "{", "c4")])
    run(model)
    found = by_id(calls)
    assert {name: (call.status, call.ending, call.code, call.agent) for name, call in found.items()} == {
        "c1": ("error", "raised", "NOT_FOUND", "clerk"),
        "c2": (None, "refused", "INVALID_PARAM", "clerk"),
        "c3": (None, "refused", "NOT_FOUND", "clerk"),
        "c4": (None, "refused", "INVALID_FORMAT", "clerk"),
    }
    assert found["c1"].error_type == "FileNotFoundError"
    assert messages(store) == model.read()


def test_a_result_from_the_cache_is_marked(installed: None, calls: Calls, store: Path) -> None:
    turn = ("add", {"a": 1, "b": 2})
    run(model_of([(*turn, "c1")], [(*turn, "c2")]), cache=True)
    found = by_id(calls)
    assert {name: (call.status, call.cached) for name, call in found.items()} == {
        "c1": ("success", None),
        "c2": ("success", True),
    }


def test_a_failure_that_a_tool_returns(installed: None, calls: Calls, store: Path) -> None:
    failures = pytest.importorskip("crewai.tools.tool_failure", reason="needs CrewAI 1.15.9 or later")

    @tool("post")
    def post(channel: str) -> Any:
        """Post."""
        return failures.ToolFailure(message=f"no channel {channel}", code="channel_not_found", details={"team": "T1"})

    model = model_of([("post", {"channel": "x"}, "c1")])
    run(model, [post])
    (call,) = calls()
    assert (call.status, call.ending, call.code, call.error_message) == (
        "error",
        "returned",
        "channel_not_found",
        "no channel x",
    )
    assert (call.rule, call.rule_grade) == ("crewai_failure", "certain")
    assert messages(store) == model.read()


def test_a_hook_that_blocks_a_call(installed: None, calls: Calls) -> None:
    from crewai.hooks.tool_hooks import register_before_tool_call_hook, unregister_before_tool_call_hook

    def block(context: Any) -> bool:
        return False

    register_before_tool_call_hook(block)
    try:
        run(model_of([("add", {"a": 1, "b": 2}, "c1")]))
    finally:
        unregister_before_tool_call_hook(block)
    (call,) = calls()
    assert (call.status, call.ending, call.code) == (None, "refused", "BLOCKED")


def test_parallel_calls_are_not_mixed_up(installed: None, calls: Calls) -> None:
    run(model_of([("add", {"a": n, "b": n}, f"c{n}") for n in range(6)]))
    assert {name: json.loads(call.result) for name, call in by_id(calls).items()} == {f"c{n}": 2 * n for n in range(6)}


def test_a_decorated_tool_is_one_row_with_the_decorators_options(installed: None, calls: Calls) -> None:
    run(model_of([("weigh", {"item": "a"}, "c1")]))
    (call,) = calls()
    assert (call.tool_version, call.text, call.call_id, call.agent) == ("7", "a: 3 kg", "c1", "clerk")


def test_an_agent_that_writes_its_actions_as_text(installed: None, calls: Calls, store: Path) -> None:
    model = model_of(
        action("add", {"a": 1, "b": 2}), action("weigh", {"item": "a"}), action("nosuch", {}), native=False
    )
    run(model)
    added, weighed, unknown = calls()
    assert (added.agent, json.loads(added.arguments), json.loads(added.result)) == ("clerk", {"a": 1, "b": 2}, 3)
    assert (weighed.tool_version, weighed.text) == ("7", "a: 3 kg")
    assert (unknown.tool, unknown.status, unknown.ending, unknown.code) == ("nosuch", None, "refused", "NOT_FOUND")
    assert messages(store)[added.call_id] == "3"


def outcome(model: Scripted) -> Any:
    """Values of a run that an application can observe."""
    return run(model), [[message.get("content") for message in each] for each in model.inputs]


@pytest.mark.parametrize("turn", [("add", {"a": 1, "b": 2}), ("add", {"a": "x"}), ("read", {"path": "p"}), ("no", {})])
@pytest.mark.parametrize("native", [True, False])
def test_crewai_notices_nothing(store: Path, turn: tuple[Any, ...], native: bool) -> None:
    first, second = (model_of([(*turn, "c1")] if native else action(*turn), native=native) for _ in range(2))
    before = outcome(first)
    crewai.install()
    crewai.install()
    after = outcome(second)
    crewai.remove()
    assert before == after


def test_faults_of_the_recorder_do_not_reach_the_framework(
    installed: None, lenient: None, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(crewai, "_begin", fail)
    model = model_of([("add", {"a": 1, "b": 2}, "c1")])
    run(model)
    assert model.read() == {"c1": "3"}


def test_remove_restores_the_functions(store: Path, calls: Calls) -> None:
    from crewai.events.event_bus import CrewAIEventsBus
    from crewai.tools.base_tool import BaseTool
    from crewai.tools.tool_usage import ToolUsage

    owners = (CrewAIEventsBus, BaseTool, ToolUsage)
    before = [dict(vars(owner)) for owner in owners]
    crewai.install()
    crewai.remove()
    assert [dict(vars(owner)) for owner in owners] == before
    run(model_of([("add", {"a": 1, "b": 2}, "c1")]))
    assert calls() == []


def test_the_table_of_the_docs(installed: None, calls: Calls, store: Path) -> None:
    turns = [("add", {"a": 1, "b": 2}, "c1"), ("read", {"path": "p"}, "c2"), ("add", {"a": "x", "b": 2}, "c3")]
    turns += [("nosuch", {"x": 1}, "c4"), ("weigh", {"item": "a"}, "c7")]
    run(model_of(*([turn] for turn in turns)))
    agent = Agent(role="clerk", goal="g", backstory="b", llm=model_of([("add", {"a": 5, "b": 2}, "c6")]), tools=[add])
    task = Task(description="d", expected_output="e", agent=agent)
    for _ in Crew(agents=[agent], tasks=[task], stream=True).kickoff():
        pass
    found = by_id(calls)
    check("crewai", Observed(
        found["c1"], found["c2"], messages(store), found["c3"], found["c4"], None, found["c6"], [found["c7"]],
        absent=frozenset({"conversation", "pause"}),
    ))  # fmt: skip
