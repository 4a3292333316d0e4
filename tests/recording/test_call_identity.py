"""Call id, agent and conversation of a call that a framework provides."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tooltrace as tt
from tooltrace.core.records import ToolCall

Calls = Callable[[], list[ToolCall]]
SPAN = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "find",
    "gen_ai.tool.call.id": "c1",
    "gen_ai.agent.name": "clerk",
    "gen_ai.conversation.id": "talk",
}


def context_class(module: str, **attributes: Any) -> Any:
    return type("Context", (SimpleNamespace,), {"__module__": module})(**attributes)


@tt.trace_tool
def find(city: str) -> str:
    return city


@tt.trace_tool(inject=("ctx",))
def injected(city: str, ctx: Any = None) -> str:
    return city


def identity(call: ToolCall) -> tuple[str | None, str | None, str | None]:
    own = call.call_id == call.span_id
    return None if own else call.call_id, call.agent, call.conversation_id


def in_span(attributes: dict[str, Any], tool: Callable[..., Any], *args: Any) -> None:
    with TracerProvider().get_tracer("other").start_as_current_span("execute_tool", attributes=attributes):
        tool(*args)


def test_an_enclosing_tool_span_names_the_call(calls: Calls) -> None:
    in_span(SPAN, find, "Oslo")
    assert [identity(call) for call in calls()] == [("c1", "clerk", "talk")]


@pytest.mark.parametrize("name", ["gen_ai.request.model", "gen_ai.response.model", "llm.model_name"])
def test_an_enclosing_span_names_the_model(calls: Calls, name: str) -> None:
    in_span({name: "m"}, find, "Oslo")
    with tt.context(model="mine"):
        in_span({name: "m"}, find, "Oslo")
    assert [call.model for call in calls()] == ["m", "mine"]


@pytest.mark.parametrize(
    ("module", "argument"),
    [
        ("pydantic_ai.tools", {"model": SimpleNamespace(model_name="m")}),
        ("agents.tool_context", {"agent": SimpleNamespace(name="clerk", model="m")}),
        ("agno.agent.agent", {"name": "clerk", "model": SimpleNamespace(id="m")}),
        ("strands.types.tools", {"agent": SimpleNamespace(model=SimpleNamespace(config={"model_id": "m"}))}),
        (
            "google.adk.tools.tool_context",
            {"_invocation_context": SimpleNamespace(agent=SimpleNamespace(model="m"))},
        ),
    ],
)
def test_an_injected_argument_names_the_model(calls: Calls, module: str, argument: Any) -> None:
    injected("Oslo", context_class(module, **argument))
    assert [call.model for call in calls()] == ["m"]


def test_a_span_of_another_tool_provides_no_call_id(calls: Calls) -> None:
    in_span({**SPAN, "gen_ai.tool.name": "search"}, find, "Oslo")
    assert [identity(call) for call in calls()] == [(None, "clerk", "talk")]


def test_a_tool_inside_a_traced_tool_has_its_agent_but_not_its_call_id(calls: Calls) -> None:
    outer = tt.trace_tool(name="find")(lambda city: find(city))
    in_span(SPAN, outer, "Oslo")
    assert [identity(call) for call in calls()] == [("c1", "clerk", "talk"), (None, "clerk", "talk")]


def test_the_applications_values_come_first(calls: Calls) -> None:
    with tt.context(call_id="mine", agent="boss", conversation_id="chat"):
        in_span(SPAN, find, "Oslo")
    with tt.context(agent="boss"):
        in_span(SPAN, find, "Oslo")
    assert [identity(call) for call in calls()] == [("mine", "boss", "chat"), ("c1", "boss", "talk")]


@pytest.mark.parametrize(
    ("ctx", "expected"),
    [
        (
            context_class(
                "pydantic_ai.tools", tool_call_id="c1", agent=SimpleNamespace(name="clerk"), conversation_id="t"
            ),
            ("c1", "clerk", "t"),
        ),
        (context_class("strands.types.tools", tool_use={"toolUseId": "c1"}), ("c1", None, None)),
        (context_class("agno.run.base", session_id="t", run_id="r"), (None, None, "t")),
        ({"configurable": {"thread_id": 7}, "metadata": {"lc_agent_name": "clerk"}}, (None, "clerk", "7")),
        (context_class("app", tool_call_id="c1"), (None, None, None)),
        (context_class("pydantic_ai.tools", tool_call_id=["c1"], agent=None), (None, None, None)),
        (None, (None, None, None)),
    ],
)
def test_an_injected_argument_names_the_call_and_is_not_recorded(calls: Calls, ctx: Any, expected: Any) -> None:
    injected("Oslo", ctx)
    (call,) = calls()
    assert identity(call) == expected
    assert json.loads(call.arguments or "") == {"city": "Oslo"}


def test_a_context_whose_properties_raise_changes_nothing(calls: Calls) -> None:
    class Context:
        __module__ = "google.adk.agents"

        @property
        def function_call_id(self) -> str:
            raise RuntimeError("no invocation")

        session = property(function_call_id.fget)

    assert injected("Oslo", Context()) == "Oslo"
    assert [identity(call) for call in calls()] == [(None, None, None)]


def test_without_content_the_call_is_named_too(store: Path, calls: Calls) -> None:
    tt.configure(store=store, capture="metadata")
    injected("Oslo", context_class("strands.types.tools", tool_use={"toolUseId": "c1"}))
    (call,) = calls()
    assert (call.call_id, call.arguments) == ("c1", None)


def test_a_resumed_call_has_the_number_of_the_paused_one(calls: Calls) -> None:
    pause = type("GraphInterrupt", (Exception,), {"__module__": "langgraph.errors"})
    answers: list[str] = []

    @tt.trace_tool
    def ask() -> str:
        if not answers:
            raise pause("really?")
        return answers[0]

    with tt.context(call_id="c1"):
        with pytest.raises(pause):
            ask()
    answers.append("yes")
    with tt.context(call_id="c1"):
        ask()
    assert [(call.ending, call.status, call.attempt) for call in calls()] == [
        ("paused", None, 1),
        ("returned", "success", 1),
    ]
