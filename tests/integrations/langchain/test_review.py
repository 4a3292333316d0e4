"""A result that a person has to review stops an agent of LangChain until the decision, and the tool runs once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall

pytest.importorskip("langchain.agents", reason="needs langchain: make test-langchain")

from langchain.agents import create_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from tooltrace.integrations.langchain import ReviewMiddleware

Calls = Callable[[], list[ToolCall]]
THREAD: Any = {"configurable": {"thread_id": "chat"}}
ASKED = {"name": "quote", "args": {"item": "tea"}, "id": "c1", "type": "tool_call"}
runs: list[str] = []


class Model(FakeMessagesListChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def quote(item: str, sure: bool = False) -> tt.ToolResponse:
    """Quote a price."""
    runs.append(item)
    return tt.ToolResponse.success("4 euros", {"price": 4}, next_action=None if sure else "human_review")


async def aquote(item: str) -> tt.ToolResponse:
    """Quote a price."""
    return quote(item)


def agent_of(tool: Any, *calls: dict[str, Any]) -> Any:
    runs.clear()
    model = Model(responses=[AIMessage("", tool_calls=list(calls)), AIMessage("done")])
    return create_agent(model, [tool], middleware=[ReviewMiddleware()], checkpointer=InMemorySaver())


GO = {"messages": [("user", "a price")]}


@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize(
    ("decision", "text", "recorded"),
    [
        ({"type": "approve"}, "4 euros", "approved"),
        ({"type": "edit", "content": "5 euros"}, "5 euros", "approved"),
        ({"type": "reject", "message": "old list"}, "A person declined the result of this call: old list", "declined"),
    ],
)
def test_the_model_reads_the_result_as_the_person_decided(
    installed: None, store: Any, calls: Calls, decision: dict[str, Any], text: str, recorded: str, decorated: bool
) -> None:
    agent = agent_of(StructuredTool.from_function(tt.trace_tool(quote) if decorated else quote), ASKED)
    held = agent.invoke(GO, THREAD)
    assert held["__interrupt__"][0].value == {"review": [{"call_id": "c1", "tool": "quote", "content": "4 euros"}]}
    done = agent.invoke(Command(resume={"decisions": [decision]}), THREAD)
    assert [each.content for each in done["messages"][2:]] == [text, "done"]
    assert runs == ["tea"]
    (call,) = calls()
    assert (call.call_id, call.ending, call.text) == ("c1", "returned", "4 euros")
    assert call.next_action == ("human_review" if decorated else None), "LangChain passes on the text alone"
    with tt.connect(store) as db:
        gates = db.sql("SELECT call_id, span_id, kind, decision, note FROM gates").fetchall()
        (seen,) = db.sql("SELECT seen_text FROM tool_calls").fetchall()
    assert gates == [("c1", call.span_id, "review", recorded, decision.get("message"))]
    assert seen == (text,)


async def test_an_asynchronous_agent_waits_too(installed: None, calls: Calls) -> None:
    agent = agent_of(StructuredTool.from_function(coroutine=aquote, name="quote"), ASKED)
    assert "__interrupt__" in await agent.ainvoke(GO, THREAD)
    done = await agent.ainvoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    assert (done["messages"][-1].content, runs, len(calls())) == ("done", ["tea"], 1)


def test_only_results_that_need_it_wait_and_a_wrong_decision_keeps_them(installed: None, calls: Calls) -> None:
    sure = {**ASKED, "args": {"item": "milk", "sure": True}, "id": "c2"}
    agent = agent_of(StructuredTool.from_function(quote), sure, ASKED)
    held = agent.invoke(GO, THREAD)["__interrupt__"]
    assert [each["call_id"] for each in held[0].value["review"]] == ["c1"]
    for wrong in ("yes", {"decisions": []}, {"decisions": [{"type": "maybe"}]}, {"decisions": [{"type": "edit"}]}):
        again = agent.invoke(Command(resume=wrong), THREAD)["__interrupt__"][0].value
        assert again["error"].endswith(f"got {wrong!r}")
    done = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    assert (done["messages"][-1].content, sorted(runs)) == ("done", ["milk", "tea"])
