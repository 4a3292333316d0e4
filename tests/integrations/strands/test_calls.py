"""Agents of Strands with a scripted model; their tools are recorded as they are."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.integrations.capabilities import Observed, check, check_review, messages
from tooltrace.core.records import ToolCall

strands: Any = pytest.importorskip("strands", reason="needs strands-agents: make test-strands")

from strands import ToolContext, tool
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookProvider, HookRegistry
from strands.models import Model
from strands.tools.executors import _executor

from tooltrace.integrations import strands as integration

Calls = Callable[[], list[ToolCall]]

OWNERS = (_executor, HookRegistry)
pytestmark = [pytest.mark.usefixtures("installed"), pytest.mark.filterwarnings("ignore")]  # the framework's own


class Script(Model):
    """A model that calls these tools, all of a turn at once, and then is done."""

    def __init__(self, *turns: list[tuple[str, dict[str, Any], str]]) -> None:
        self.turns = list(turns)
        self.requests: list[Any] = []
        self.config = {"model_id": "script"}

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> dict[str, Any]:
        return self.config

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, tool_specs: Any = None, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.requests.append((json.loads(json.dumps([m["content"] for m in messages])), tool_specs))
        yield {"messageStart": {"role": "assistant"}}
        turn = self.turns.pop(0) if self.turns else []
        for name, arguments, call_id in turn:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": call_id}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            yield {"contentBlockStop": {}}
        if not turn:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if turn else "end_turn"}}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def read(path: str) -> str:
    """Read."""
    raise FileNotFoundError(f"no such file: {path}")


@tool
@tt.trace_tool(version="7")
def weigh(item: str) -> str:
    """Weigh."""
    return "3 kg"


@tool(context=True)
def drop(table: str, tool_context: ToolContext) -> str:
    """Drop."""
    return f"dropped {table}" if tool_context.interrupt("drop", reason=table) == "yes" else "no"


TOOLS = [add, read, weigh, drop]


def agent(*turns: list[tuple[str, dict[str, Any], str]], **options: Any) -> Any:
    return strands.Agent(name="clerk", model=Script(*turns), tools=TOOLS, callback_handler=None, **options)


def data(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def seen(store: Path) -> dict[str, Any]:
    tt.flush()
    with tt.connect(store) as db:
        return dict(db.sql("SELECT call_id, seen_text FROM tool_calls WHERE ending <> 'paused'").fetchall())


def test_a_call_has_id_agent_conversation_and_the_models_text(calls: Calls, store: Path) -> None:
    clerk = agent([("add", {"a": 1, "b": 2}, "c1")])
    clerk("go")
    (call,) = calls()
    assert (call.tool, call.call_id, call.agent, call.conversation_id) == ("add", "c1", "clerk", clerk.session_id)
    assert (call.model, call.status, call.ending) == ("script", "success", "returned")
    assert call.tool_description == "Add two numbers."
    assert (data(call.arguments), call.text) == ({"a": 1, "b": 2}, "3")
    assert seen(store) == {"c1": "3"}


def test_failures_in_the_tool_and_before_it(calls: Calls, store: Path) -> None:
    agent([("read", {"path": "a.txt"}, "c1")], [("add", {"a": "one"}, "c2")], [("nothing", {}, "c3")])("go")
    failed, wrong, unknown = calls()
    assert (failed.code, failed.ending, failed.error_type) == ("NOT_FOUND", "raised", "FileNotFoundError")
    assert (wrong.ending, wrong.code, data(wrong.arguments)) == ("refused", "INVALID_PARAM", {"a": "one"})
    assert (unknown.tool, unknown.status, unknown.ending, unknown.code) == ("nothing", None, "refused", "NOT_FOUND")
    assert seen(store)["c1"] == "Error: FileNotFoundError - no such file: a.txt"


def test_calls_of_one_turn_are_separate(calls: Calls) -> None:
    agent([("add", {"a": n, "b": n}, f"c{n}") for n in range(10)])("go")
    assert {call.call_id: call.text for call in calls()} == {f"c{n}": str(2 * n) for n in range(10)}


def test_a_decorated_tool_is_one_row_with_the_frameworks_context(calls: Calls) -> None:
    clerk = agent([("weigh", {"item": "a"}, "c1")], [("weigh", {"stone": "a"}, "c2")])
    clerk("go")
    weighed, rejected = calls()
    assert (weighed.tool_version, weighed.call_id, data(weighed.result)) == ("7", "c1", "3 kg")
    assert (weighed.agent, weighed.conversation_id) == ("clerk", clerk.session_id)
    assert (rejected.call_id, rejected.code) == ("c2", "INVALID_PARAM"), "the decorator never saw the call"


def test_an_interrupt_is_a_pause_and_the_resumed_call_the_same_attempt(calls: Calls, store: Path) -> None:
    clerk = agent([("drop", {"table": "t"}, "c1")])
    result = clerk("go")
    assert result.stop_reason == "interrupt"
    clerk([{"interruptResponse": {"interruptId": i.id, "response": "yes"}} for i in result.interrupts])
    paused, resumed = calls()
    assert (paused.call_id, paused.ending, paused.status, paused.attempt) == ("c1", "paused", None, 1)
    assert (resumed.call_id, resumed.ending, resumed.text, resumed.attempt) == ("c1", "returned", "dropped t", 1)
    check_review(store, paused, resumed, "input")


class Approval(HookProvider):
    """A hook that asks a person before a tool runs."""

    def register_hooks(self, registry: Any, **_: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.before)

    def before(self, event: BeforeToolCallEvent) -> None:
        if event.interrupt("approve") != "yes":
            event.cancel_tool = "not allowed"


@pytest.mark.parametrize(("answer", "ending"), [("yes", "returned"), ("no", "declined")])
def test_a_hook_that_requests_an_approval_is_a_gate(calls: Calls, store: Path, answer: str, ending: str) -> None:
    clerk = agent([("add", {"a": 1, "b": 2}, "c1")], hooks=[Approval()])
    result = clerk("go")
    clerk([{"interruptResponse": {"interruptId": i.id, "response": answer}} for i in result.interrupts])
    paused, resumed = calls()
    assert [(call.call_id, call.ending) for call in (paused, resumed)] == [("c1", "paused"), ("c1", ending)]
    check_review(store, paused, resumed, "confirmation", "approved" if answer == "yes" else "declined")


def test_a_retry_by_a_hook_is_a_second_attempt(calls: Calls) -> None:
    left = [True, False]

    def again(event: AfterToolCallEvent) -> None:
        event.retry = left.pop(0)

    clerk = agent([("read", {"path": "a"}, "c1")])
    clerk.add_hook(again, AfterToolCallEvent)
    clerk("go")
    assert [(call.call_id, call.attempt, call.code) for call in calls()] == [
        ("c1", 1, "NOT_FOUND"),
        ("c1", 2, "NOT_FOUND"),
    ]


def test_a_direct_call_records_its_arguments(calls: Calls) -> None:
    clerk = agent()
    clerk.tool.add(a=1, b=2)
    (call,) = calls()
    assert (call.tool, data(call.arguments), call.text) == ("add", {"a": 1, "b": 2}, "3")


def test_messages_and_schemas_are_the_same_without_the_integration(calls: Calls) -> None:
    turns = [[("add", {"a": 1, "b": 2}, "c1"), ("read", {"path": "a"}, "c2")], [("nothing", {}, "c3")]]

    def observed() -> list[Any]:
        clerk = agent(*turns)
        clerk("go")
        return clerk.model.requests

    recorded = observed()
    integration.remove()
    assert observed() == recorded
    assert len(calls()) == 3


def test_a_fault_of_the_recorder_does_not_reach_the_framework(
    lenient: None, monkeypatch: pytest.MonkeyPatch, calls: Calls
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault")

    monkeypatch.setattr("tooltrace.integrations.strands.execution.FrameworkCall", broken)
    monkeypatch.setattr("tooltrace.integrations.strands.hooks.conversation_of", broken)
    assert agent([("add", {"a": 1, "b": 2}, "c1")])("go").stop_reason == "end_turn"


def test_an_unknown_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    integration.remove()
    with monkeypatch.context() as patch:
        patch.delattr(_executor, "_run_tool")
        with pytest.raises(tt.TooltraceError, match="version of strands-agents"):
            integration.install()


def test_the_table_of_the_docs(calls: Calls, store: Path, tmp_path: Path) -> None:
    import asyncio

    from strands.session.file_session_manager import FileSessionManager

    def clerk(*turns: tuple[str, dict[str, Any], str]) -> Any:
        return agent(*[[turn] for turn in turns], session_manager=FileSessionManager("chat", storage_dir=str(tmp_path)))

    turns = [("add", {"a": 1, "b": 2}, "c1"), ("read", {"path": "p"}, "c2"), ("add", {"a": "x", "b": 2}, "c3")]
    clerk(*turns, ("nosuch", {"x": 1}, "c4"), ("weigh", {"item": "a"}, "c7"), ("drop", {"table": "t"}, "c5"))("go")

    async def streamed() -> None:
        streaming = agent([("add", {"a": 1, "b": 2}, "c6")])
        async for _ in streaming.stream_async("go"):
            pass

    asyncio.run(streamed())
    found: dict[str, list[ToolCall]] = {}
    for call in calls():
        found.setdefault(call.call_id, []).append(call)
    one = {call_id: rows[0] for call_id, rows in found.items()}
    check("strands", Observed(
        one["c1"], one["c2"], messages(store), one["c3"], one["c4"], one["c5"], one["c6"], found["c7"],
    ))  # fmt: skip
