"""Agents of smolagents, with a scripted model: every call one row, and smolagents notices nothing."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.integrations.capabilities import Observed, check, messages
from tooltrace.core.records import ToolCall

pytest.importorskip("smolagents", reason="needs smolagents: make test-shared")

from smolagents import CodeAgent, Tool, ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, Model

from tooltrace.integrations import smolagents

pytestmark = [pytest.mark.usefixtures("no_network"), pytest.mark.filterwarnings("ignore")]
Calls = Callable[[], list[ToolCall]]


class Scripted(Model):
    """A model that takes these turns: a text, or calls as ``(tool, arguments, call id)``."""

    def __init__(self, *turns: Any) -> None:
        super().__init__()
        self.turns = list(turns)
        self.inputs: list[str] = []

    def generate(self, messages: Any, **options: Any) -> ChatMessage:
        content = messages[-1].content
        self.inputs.append(content if isinstance(content, str) else "".join(each["text"] for each in content))
        turn = self.turns.pop(0) if self.turns else [("final_answer", {"answer": "done"}, "end")]
        if isinstance(turn, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=turn)
        functions = [
            (ChatMessageToolCallFunction(name=name, arguments=call_arguments), call)
            for name, call_arguments, call in turn
        ]
        calls = [ChatMessageToolCall(id=call, type="function", function=function) for function, call in functions]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)


class Add(Tool):
    name = "add"
    description = "Add."
    inputs = {"a": {"type": "integer", "description": "a"}, "b": {"type": "integer", "description": "b"}}
    output_type = "integer"

    def forward(self, a: int, b: int) -> int:
        return a + b


class Read(Tool):
    name = "read"
    description = "Read."
    inputs = {"path": {"type": "string", "description": "p"}}
    output_type = "string"

    def forward(self, path: str) -> str:
        raise FileNotFoundError(path)


@tt.trace_tool(version="7")
def weigh(item: str) -> str:
    """Weigh.

    Args:
        item: What to weigh.
    """
    return f"{item}: 3 kg"


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # smolagents cannot send a decorated tool to a remote executor, and says so
    weigh = tool(weigh)


def agent_of(*turns: Any, **options: Any) -> ToolCallingAgent:
    tools = [Add(), Read(), weigh]
    return ToolCallingAgent(tools=tools, model=Scripted(*turns), name="clerk", verbosity_level=-1, **options)


def code(*lines: str) -> str:
    return "Thought: I call a tool.\n<code>\n" + "\n".join(lines) + "\n</code>"


def without_end(calls: Calls) -> list[ToolCall]:
    return [call for call in calls() if call.tool != "final_answer"]


def test_a_call_has_id_agent_arguments_result_and_the_models_text(installed: None, calls: Calls, store: Path) -> None:
    with tt.context(conversation_id="chat"):
        agent_of([("add", {"a": 1, "b": 2}, "c1")]).run("go")
    (call,) = without_end(calls)
    assert (call.tool, call.call_id, call.agent, call.conversation_id) == ("add", "c1", "clerk", "chat")
    assert (call.tool_description, call.status, json.loads(call.result)) == ("Add.", "success", 3)
    assert (json.loads(call.arguments), messages(store)["c1"]) == ({"a": 1, "b": 2}, "3")


def test_failures_of_every_kind(installed: None, calls: Calls, store: Path) -> None:
    turns = [("read", {"path": "a.txt"}, "c1"), ("add", {"a": "x", "b": 2}, "c2"), ("nosuch", {"x": 1}, "c3")]
    agent = agent_of(*([turn] for turn in turns))
    agent.run("go")
    found = {call.call_id: call for call in without_end(calls)}
    assert {name: (call.status, call.ending, call.code) for name, call in found.items()} == {
        "c1": ("error", "raised", "NOT_FOUND"),
        "c2": (None, "refused", "INVALID_PARAM"),
        "c3": (None, "refused", "NOT_FOUND"),
    }
    assert found["c1"].error_type == "FileNotFoundError"
    model_messages = messages(store)
    assert all(model_messages[f"c{n}"] in agent.model.inputs[n] for n in (1, 2, 3)), (
        "what the model read is in its next input"
    )


def test_parallel_calls_have_their_own_ids(installed: None, calls: Calls, store: Path) -> None:
    turn = [("add", {"a": n, "b": n}, f"c{n}") for n in range(6)] + [("add", {"a": 1, "b": 1}, "twin")]
    agent_of(turn).run("go")
    found = {call.call_id: call for call in without_end(calls)}
    assert {name: json.loads(call.result) for name, call in found.items()} == {
        **{f"c{n}": 2 * n for n in range(6)},
        "twin": 2,
    }
    assert {name: text for name, text in messages(store).items() if name != "end"} == {
        name: call.result for name, call in found.items()
    }


def test_a_decorated_tool_is_one_row_with_the_decorators_options(installed: None, calls: Calls) -> None:
    agent_of([("weigh", {"item": "a"}, "c1")]).run("go")
    (call,) = without_end(calls)
    assert (call.tool_version, call.text, call.call_id, call.agent) == ("7", "a: 3 kg", "c1", "clerk")


def test_a_code_agent_calls_tools_without_ids(installed: None, calls: Calls) -> None:
    script = Scripted(code("print(add(1, b=2))", "weigh('a')"), code("read('p')"), code("final_answer('ok')"))
    agent = CodeAgent(tools=[Add(), Read(), weigh], model=script, name="coder", verbosity_level=-1)
    assert agent.run("go") == "ok"
    added, weighed, failed = without_end(calls)
    assert (added.agent, json.loads(added.arguments), json.loads(added.result)) == ("coder", {"a": 1, "b": 2}, 3)
    assert (weighed.tool_version, weighed.agent, added.call_id == added.span_id) == ("7", "coder", True)
    assert (failed.error_type, failed.code) == ("FileNotFoundError", "NOT_FOUND")


def test_a_managed_agent_encloses_the_calls_of_its_tools(installed: None, calls: Calls) -> None:
    helper = agent_of([("add", {"a": 1, "b": 2}, "c2")], description="Help.")
    helper.name = "helper"
    agent_of([("helper", {"task": "1 + 2?"}, "c1")], managed_agents=[helper]).run("go")
    found = {call.call_id: call for call in without_end(calls)}
    assert (found["c1"].agent, found["c2"].agent) == ("clerk", "helper")
    assert found["c2"].parent_span_id == found["c1"].span_id


def test_a_tool_that_the_application_calls_is_not_recorded(installed: None, calls: Calls) -> None:
    assert Add()(1, 2) == 3
    assert calls() == []


def outcome(agent: ToolCallingAgent) -> Any:
    """Return the parts of a run that an application can read."""
    result = agent.run("go")
    steps = [step.dict() for step in agent.memory.steps if hasattr(step, "observations")]
    members = ("tool_calls", "observations", "error", "action_output")
    return result, [{key: step[key] for key in members} for step in steps], agent.model.inputs


@pytest.mark.parametrize("turn", [("add", {"a": 1, "b": 2}), ("add", {"a": "x"}), ("read", {"path": "p"}), ("no", {})])
def test_smolagents_notices_nothing(store: Path, turn: tuple[Any, ...]) -> None:
    first, second = (agent_of([(*turn, "c1")]) for _ in range(2))
    before = outcome(first)
    smolagents.install()
    smolagents.install()
    after = outcome(second)
    smolagents.remove()
    assert before == after


def test_faults_of_the_recorder_do_not_reach_the_framework(
    installed: None, lenient: None, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(smolagents, "_begin", fail)
    agent = agent_of([("add", {"a": 1, "b": 2}, "c1")])
    assert (agent.run("go"), calls()) == ("done", [])


def test_remove_restores_the_functions(store: Path, calls: Calls) -> None:
    before = dict(vars(ToolCallingAgent)), dict(vars(CodeAgent)), dict(vars(Tool))
    smolagents.install()
    smolagents.remove()
    assert (dict(vars(ToolCallingAgent)), dict(vars(CodeAgent)), dict(vars(Tool))) == before
    agent_of([("add", {"a": 1, "b": 2}, "c1")]).run("go")
    assert calls() == []


def test_the_table_of_the_docs(installed: None, calls: Calls, store: Path) -> None:
    turns = [("add", {"a": 1, "b": 2}, "c1"), ("read", {"path": "p"}, "c2"), ("add", {"a": "x", "b": 2}, "c3")]
    turns += [("nosuch", {"x": 1}, "c4"), ("weigh", {"item": "a"}, "c7")]
    agent_of(*([turn] for turn in turns)).run("go")
    list(agent_of([("add", {"a": 1, "b": 2}, "c6")]).run("go", stream=True))
    found = {call.call_id: call for call in without_end(calls)}
    check("smolagents", Observed(
        found["c1"], found["c2"], messages(store), found["c3"], found["c4"], None, found["c6"], [found["c7"]],
        absent=frozenset({"conversation", "pause"}),
    ))  # fmt: skip
