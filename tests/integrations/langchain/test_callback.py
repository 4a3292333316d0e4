"""LangChain without any instrumentation: the callback handler records every tool call once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import tooltrace as tt
from tests.ingest.spans.conftest import data
from tests.integrations.capabilities import check_review, messages
from tooltrace.core.records import ToolCall

if find_spec("langchain_core") is None:
    pytest.skip("needs langchain-core: make test-langchain", allow_module_level=True)

from langchain_core.tools import StructuredTool, ToolException, tool

from tooltrace.integrations import langchain
from tooltrace.integrations.langchain import ToolTraceCallbackHandler

Calls = Callable[[], list[ToolCall]]


@pytest.fixture
def config(store: Path) -> dict[str, Any]:
    return {"callbacks": [ToolTraceCallbackHandler()]}


def asked(name: str, arguments: dict[str, Any], call_id: str = "c1") -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "args": arguments, "id": call_id}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def post(text: str) -> dict[str, Any]:
    """Post."""
    return {"ok": False, "error": "not_in_channel"}


@tool
def read(path: str) -> str:
    """Read."""
    raise FileNotFoundError(f"no such file: {path}")


def refuse(path: str) -> str:
    """Refuse."""
    raise ToolException("permission denied")


def test_a_success(config: dict[str, Any], calls: Calls) -> None:
    answer = add.invoke(asked("add", {"a": 1, "b": 2}), config)
    assert answer.content == "3"
    (call,) = calls()
    assert (call.tool, call.status, call.call_id, call.tool_description) == ("add", "success", "c1", "Add two numbers.")
    assert (data(call.arguments), call.text) == ({"a": 1, "b": 2}, "3")


def test_a_direct_call_returns_the_tools_result(config: dict[str, Any], calls: Calls) -> None:
    assert add.invoke({"a": 1, "b": 2}, config) == 3
    (call,) = calls()
    assert (data(call.result), call.call_id == call.span_id) == (3, True)


def test_failures_by_value_by_exception_and_answered(config: dict[str, Any], calls: Calls) -> None:
    post.invoke(asked("post", {"text": "hi"}, "c1"), config)
    with pytest.raises(FileNotFoundError, match=r"a\.txt"):
        read.invoke(asked("read", {"path": "a.txt"}, "c2"), config)
    StructuredTool.from_function(refuse, handle_tool_error=True).invoke(asked("refuse", {"path": "a"}, "c3"), config)
    with pytest.raises(ValueError, match="validation error"):
        add.invoke(asked("add", {"a": "one"}, "c4"), config)
    found = {call.call_id: (call.status, call.ending, call.code) for call in calls()}
    assert found == {
        "c1": ("error", "returned", "not_in_channel"),
        "c2": ("error", "raised", "NOT_FOUND"),
        "c3": ("error", "returned", "PERMISSION_DENIED"),
        "c4": (None, "refused", "INVALID_PARAM"),
    }


async def test_side_by_side_and_again(config: dict[str, Any], calls: Calls) -> None:
    await asyncio.gather(*(add.ainvoke(asked("add", {"a": n, "b": n}, f"c{n}"), config) for n in range(20)))
    await add.ainvoke(asked("add", {"a": 0, "b": 0}, "c0"), config)
    found = calls()
    assert len(found) == 21
    again = [call.flags for call in found if call.call_id == "c0"]
    assert again == [None, '["reused_id"]'], "the first has not failed"
    assert all(data(call.arguments)["a"] * 2 == int(call.text or "") for call in found)


async def test_a_cancelled_call_is_not_a_failure(config: dict[str, Any], calls: Calls) -> None:
    begun = asyncio.Event()

    @tool
    async def wait(n: int) -> int:
        """Wait."""
        begun.set()
        await asyncio.sleep(60)
        return n

    task = asyncio.ensure_future(wait.ainvoke(asked("wait", {"n": 1}), config))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [call.status for call in calls()] in ([], [None])


def test_an_agent_of_langgraph_is_recorded_with_its_thread_and_name(store: Path, calls: Calls) -> None:
    pytest.importorskip("langchain.agents")
    from langchain.agents import create_agent
    from langchain_core.language_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage

    class Model(FakeMessagesListChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    wanted = {"name": "add", "args": {"a": 1, "b": 2}, "id": "c1", "type": "tool_call"}
    model = Model(responses=[AIMessage("", tool_calls=[wanted]), AIMessage("3")])
    agent = create_agent(model, [add], name="clerk")
    config = {"callbacks": [ToolTraceCallbackHandler(version="2")], "configurable": {"thread_id": "t7"}}
    agent.invoke({"messages": [("user", "1 + 2?")]}, config)
    (call,) = calls()
    assert (call.tool, call.status, call.call_id, call.tool_version) == ("add", "success", "c1", "2")
    assert (call.agent, call.conversation_id) == ("clerk", "t7")


@pytest.mark.parametrize(
    ("configured", "answered", "expected"),
    [("m-1", "m-1-2026", "m-1"), (None, "m-1-2026", "m-1-2026"), (None, None, None)],
)
def test_a_call_has_the_model_that_asked_for_it(
    store: Path, calls: Calls, configured: str | None, answered: str | None, expected: str | None
) -> None:
    pytest.importorskip("langchain.agents")
    from langchain.agents import create_agent
    from langchain_core.language_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage

    class Model(FakeMessagesListChatModel):
        model_name: str | None = None

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    def run(name: str | None, answer: str | None, thread: str) -> None:
        said = {} if answer is None else {"model_name": answer}
        wanted = [{"name": "add", "args": {"a": n, "b": 2}, "id": f"c{n}"} for n in range(2)]
        asking = AIMessage("", tool_calls=wanted, response_metadata=said)
        agent = create_agent(Model(responses=[asking, AIMessage("3")], model_name=name), [add])
        handler = {"callbacks": [recorder], "configurable": {"thread_id": thread}}
        agent.invoke({"messages": [("user", "1 + 2?")]}, handler)

    recorder = ToolTraceCallbackHandler()
    run("other", None, "before")  # the same ids in another conversation
    run(configured, answered, "chat")
    assert [call.model for call in calls()] == ["other", "other", expected, expected]


def test_a_pause_for_a_person_is_not_a_failure(config: dict[str, Any], calls: Calls) -> None:
    errors = pytest.importorskip("langgraph.errors")

    @tool
    def drop(table: str) -> str:
        """Drop."""
        raise errors.GraphInterrupt

    with pytest.raises(errors.GraphInterrupt):
        drop.invoke(asked("drop", {"table": "t"}), config)
    (call,) = calls()
    assert (call.status, call.ending) == (None, "paused")


def test_calls_that_never_end_are_bounded(store: Path, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(langchain.handler, "_MAX_OPEN_CALLS", 2)
    handler = ToolTraceCallbackHandler()
    runs = [uuid4() for _ in range(3)]
    for run in runs:  # each in a task or a thread of its own
        copy_context().run(handler.on_tool_start, {"name": "add"}, "1", run_id=run)
    for run in runs:
        handler.on_tool_end(1, run_id=run)
    assert sorted(call.ending for call in calls()) == ["abandoned", "returned", "returned"]


def test_wrong_options_are_refused(store: Path) -> None:
    with pytest.raises(tt.TooltraceError, match="no option 'colour'"):
        ToolTraceCallbackHandler(colour="green")


def test_install_records_every_run_until_it_is_removed(store: Path, installed: None, calls: Calls) -> None:
    tt.install("langchain")
    add.invoke(asked("add", {"a": 1, "b": 2}, "c1"))
    langchain.remove()
    add.invoke(asked("add", {"a": 1, "b": 2}, "c2"))
    langchain.install()
    add.invoke(asked("add", {"a": 1, "b": 2}, "c3"))
    assert [call.call_id for call in calls()] == ["c1", "c3"]


def test_a_run_with_its_own_handler_is_recorded_once(installed: None, config: dict[str, Any], calls: Calls) -> None:
    add.invoke(asked("add", {"a": 1, "b": 2}, "c1"), {"callbacks": [ToolTraceCallbackHandler(version="2")]})
    assert [(call.call_id, call.tool_version) for call in calls()] == [("c1", "2")]


def test_a_decorated_tool_is_one_row_with_the_decorators_options(installed: None, calls: Calls, store: Path) -> None:
    @tool
    @tt.trace_tool(version="7")
    def weigh(item: str) -> str:
        """Weigh."""
        return f"{item}: 3 kg"

    weigh.invoke(asked("weigh", {"item": "a"}, "c1"))
    (call,) = calls()
    assert (call.tool_version, call.text, call.call_id) == ("7", "a: 3 kg", "c1")
    assert messages(store) == {"c1": "a: 3 kg"}


def test_calls_inside_a_tool_are_its_children(installed: None, calls: Calls) -> None:
    @tool
    def outer(a: int) -> int:
        """Call another tool."""
        return add.invoke({"a": a, "b": 1})

    outer.invoke(asked("outer", {"a": 1}, "c1"))
    add.invoke(asked("add", {"a": 1, "b": 2}, "c2"))
    found = {call.call_id: call for call in calls()}
    inside = next(call for name, call in found.items() if name not in ("c1", "c2"))
    assert (inside.parent_span_id, found["c2"].parent_span_id) == (found["c1"].span_id, None)


@pytest.mark.parametrize("decorated", [False, True])
def test_an_interrupt_of_langgraph_waits_for_input_until_the_run_is_resumed(
    store: Path, installed: None, calls: Calls, decorated: bool
) -> None:
    pytest.importorskip("langgraph")
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode
    from langgraph.types import Command, interrupt

    def drop(table: str) -> str:
        """Drop."""
        return f"{interrupt('really?')}: {table}"

    function = StructuredTool.from_function(tt.trace_tool(drop) if decorated else drop)
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([function]))
    graph.set_entry_point("tools")
    run = graph.compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "chat"}}
    request = {"name": "drop", "args": {"table": "t"}, "id": "c1"}
    run.invoke({"messages": [AIMessage("", tool_calls=[request])]}, thread)
    run.invoke(Command(resume="yes"), thread)
    paused, resumed = calls()
    assert (paused.call_id, paused.ending, paused.conversation_id) == ("c1", "paused", "chat")
    assert (resumed.call_id, resumed.status, resumed.attempt) == ("c1", "success", 1)
    check_review(store, paused, resumed, "input")


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_a_tool_that_an_agent_does_not_have_is_refused(installed: None, store: Path, calls: Calls, how: str) -> None:
    pytest.importorskip("langgraph")
    from langchain.agents import create_agent
    from langchain_core.language_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage

    class Model(FakeMessagesListChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    wanted = [asked("add", {"a": 1, "b": 2}, "c1"), asked("teleport", {"to": "Mars"}, "c2")]
    cut = {"name": "add", "args": '{"a": 1, "b":', "id": "c3", "error": None, "type": "invalid_tool_call"}
    answers = [AIMessage("", tool_calls=wanted, invalid_tool_calls=[cut]), AIMessage("done")]
    agent = create_agent(Model(responses=answers), [add], name="clerk")
    question: Any = ({"messages": [("user", "go")]}, {"configurable": {"thread_id": "chat"}})
    state = agent.invoke(*question) if how == "invoke" else asyncio.run(agent.ainvoke(*question))
    ran, refused, malformed = sorted(calls(), key=lambda call: call.call_id)
    assert (malformed.tool, malformed.ending, malformed.code, malformed.conversation_id, malformed.agent) == (
        *("add", "refused", "INVALID_PARAM", "chat", "clerk"),
    )
    assert (ran.tool, ran.status) == ("add", "success")
    assert (refused.tool, refused.call_id, refused.conversation_id) == ("teleport", "c2", "chat")
    assert (refused.ending, refused.status, refused.code, data(refused.arguments)) == (
        "refused",
        None,
        "NOT_FOUND",
        {"to": "Mars"},
    )
    told = next(message.content for message in state["messages"] if getattr(message, "tool_call_id", None) == "c2")
    assert messages(store)["c2"] == told
    row = tt.query("failure_rate", tool="teleport").select("asked", "attempts", "failures", "refused").rows
    assert row == [(1, 0, 0, 1)]
