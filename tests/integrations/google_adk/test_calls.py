"""Agents of Google's ADK with a scripted model; their tools are recorded as they are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.integrations.capabilities import Observed, check, check_review, messages
from tooltrace.core.lru import LruMap
from tooltrace.core.records import ToolCall

pytest.importorskip("google.adk", reason="needs google-adk: make test-google-adk")

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, LongRunningFunctionTool
from google.genai import types

from tooltrace.integrations import google_adk as integration
from tooltrace.integrations import reviews
from tooltrace.integrations.google_adk import plugin

OWNERS = (PluginManager,)
pytestmark = [pytest.mark.usefixtures("installed"), pytest.mark.filterwarnings("ignore")]  # the framework's own

Calls = Callable[[], list[ToolCall]]
Turn = list[tuple[str, dict[str, Any], str]]


class Script(BaseLlm):
    """A model that calls these tools, all of a turn at once, and then is done."""

    model: str = "script"
    turns: list[Any] = []
    requests: list[Any] = []

    async def generate_content_async(self, request: Any, *_: Any, **__: Any) -> AsyncIterator[LlmResponse]:
        declared = [t.model_dump(exclude_none=True) for t in request.config.tools or []]
        self.requests.append((declared, [c.model_dump(exclude_none=True) for c in request.contents]))
        parts = [types.Part(text="done")]
        if self.turns:
            parts = [
                types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=arguments))
                for name, arguments, call_id in self.turns.pop(0)
            ]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def read(path: str) -> str:
    """Read."""
    raise FileNotFoundError(f"no such file: {path}")


@tt.trace_tool(version="7")
def weigh(item: str) -> str:
    """Weigh."""
    return "3 kg"


def drop(table: str) -> str:
    """Drop."""
    return f"dropped {table}"


def ship(item: str) -> dict[str, str]:
    """Ship."""
    return {"status": "pending"}


class Chat:
    """A session of an agent with a scripted model."""

    def __init__(self, *turns: Turn, plugins: Any = None, **options: Any) -> None:
        self.model = Script(turns=list(turns), requests=[])
        tools = [add, read, weigh, FunctionTool(drop, require_confirmation=True), LongRunningFunctionTool(ship)]
        agent = LlmAgent(name="clerk", model=self.model, tools=tools, **options)
        self.runner = InMemoryRunner(agent, app_name="desk", plugins=plugins)
        self.session: Any = None

    def say(self, *parts: types.Part, session_id: str | None = None, config: Any = None) -> list[Any]:
        async def run() -> list[Any]:
            if self.session is None:
                self.session = await self.runner.session_service.create_session(
                    app_name="desk", user_id="me", session_id=session_id
                )
            message = types.Content(role="user", parts=list(parts) or [types.Part(text="go")])
            running = self.runner.run_async(
                user_id="me", session_id=self.session.id, new_message=message, run_config=config
            )
            return [event async for event in running]

        return asyncio.run(run())


def confirmation(events: list[Any], *, confirmed: bool) -> types.Part:
    (asked,) = (c for e in events for c in e.get_function_calls() if c.name == "adk_request_confirmation")
    response = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": confirmed})
    return types.Part(function_response=response)


def data(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def test_a_call_has_id_agent_session_and_the_models_text(calls: Calls, store: Path) -> None:
    chat = Chat([("add", {"a": 1, "b": 2}, "c1")])
    chat.say()
    (call,) = calls()
    assert (call.tool, call.call_id, call.agent, call.conversation_id) == ("add", "c1", "clerk", chat.session.id)
    assert (call.model, call.status, call.ending) == ("script", "success", "returned")
    assert call.tool_description == "Add two numbers."
    assert (data(call.arguments), data(call.result)) == ({"a": 1, "b": 2}, 3)
    assert data(call.attributes)["google_adk.invocation_id"]
    tt.flush()
    with tt.connect(store) as db:
        assert db.sql("SELECT seen_text FROM tool_calls").fetchall() == [('{"result":3}',)]


def test_failures_in_the_tool_and_before_it(calls: Calls) -> None:
    with pytest.raises(FileNotFoundError):
        Chat([("add", {"a": 1}, "c1")], [("nothing", {}, "c2")], [("read", {"path": "a.txt"}, "c3")]).say()
    wrong, unknown, failed = calls()
    assert (wrong.call_id, wrong.status, wrong.ending, wrong.code) == ("c1", None, "refused", "INVALID_PARAM")
    assert (unknown.tool, unknown.status, unknown.ending, unknown.code) == ("nothing", None, "refused", "NOT_FOUND")
    assert (failed.code, failed.ending, failed.error_type) == ("NOT_FOUND", "raised", "FileNotFoundError")


def test_calls_of_one_turn_are_separate(calls: Calls) -> None:
    Chat([("add", {"a": n, "b": n}, f"c{n}") for n in range(10)]).say()
    assert {call.call_id: data(call.result) for call in calls()} == {f"c{n}": 2 * n for n in range(10)}


def test_a_decorated_tool_is_one_row_with_the_frameworks_context(calls: Calls) -> None:
    chat = Chat([("weigh", {"item": "a"}, "c1")], [("weigh", {}, "c2")])
    chat.say()
    weighed, rejected = calls()
    assert (weighed.tool_version, weighed.call_id, data(weighed.result)) == ("7", "c1", "3 kg")
    assert (weighed.agent, weighed.conversation_id) == ("clerk", chat.session.id)
    assert (rejected.call_id, rejected.code) == ("c2", "INVALID_PARAM"), "the decorator never saw the call"


@pytest.mark.parametrize(("confirmed", "ending"), [(True, "returned"), (False, "declined")])
def test_a_confirmation_is_a_pause(calls: Calls, store: Path, confirmed: bool, ending: str) -> None:
    chat = Chat([("drop", {"table": "t"}, "c1")])
    chat.say(confirmation(chat.say(), confirmed=confirmed))
    paused, resumed = calls()
    assert (paused.call_id, paused.ending, paused.status, paused.attempt) == ("c1", "paused", None, 1)
    assert (resumed.call_id, resumed.ending, resumed.attempt) == ("c1", ending, 1)
    check_review(store, paused, resumed, "confirmation", "approved" if confirmed else "declined")


def test_a_long_running_tool_is_a_pause_until_its_result_comes(calls: Calls, store: Path) -> None:
    chat = Chat([("ship", {"item": "a"}, "c1")])
    chat.say()
    response = types.FunctionResponse(id="c1", name="ship", response={"status": "shipped"})
    chat.say(types.Part(function_response=response))
    paused, resumed = calls()
    assert (paused.tool, paused.ending, paused.status) == ("ship", "paused", None)
    check_review(store, paused, resumed, "external")
    assert (resumed.call_id, resumed.attempt, data(resumed.result)) == ("c1", 1, {"status": "shipped"})
    assert (resumed.agent, resumed.duration_ms, data(resumed.arguments)) == ("clerk", None, {"item": "a"})


@pytest.mark.parametrize("same_process", [True, False])
def test_the_result_of_a_long_running_tool_may_come_to_a_new_runner(
    calls: Calls, store: Path, monkeypatch: pytest.MonkeyPatch, same_process: bool
) -> None:
    chat = Chat([("ship", {"item": "a"}, "c1")])
    chat.say()
    if not same_process:  # all that a process has in memory of the call
        monkeypatch.setattr(plugin, "_started", LruMap(10))
        monkeypatch.setattr(reviews, "pending", LruMap(10))
    other = Chat()
    other.runner.session_service, other.session = chat.runner.session_service, chat.session
    response = types.FunctionResponse(id="c1", name="ship", response={"status": "shipped"})
    other.say(types.Part(function_response=response))
    paused, resumed = calls()
    assert (paused.ending, resumed.ending, data(resumed.result)) == ("paused", "returned", {"status": "shipped"})
    assert (resumed.call_id, resumed.agent, resumed.model) == ("c1", "clerk", "script")
    assert (resumed.tool_description, data(resumed.arguments)) == (paused.tool_description, {"item": "a"})
    tt.flush()
    with tt.connect(store) as db:
        assert db.execute("SELECT decision, resumed_span_id FROM gates").fetchall() == [("approved", resumed.span_id)]


def test_a_confirmation_in_another_process_answers_the_gate(
    calls: Calls, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = Chat([("drop", {"table": "t"}, "c1")])
    events = chat.say()
    monkeypatch.setattr(reviews, "pending", LruMap(10))
    other = Chat()
    other.runner.session_service, other.session = chat.runner.session_service, chat.session
    other.say(confirmation(events, confirmed=False))
    assert [call.ending for call in calls()] == ["paused", "declined"]
    tt.flush()
    with tt.connect(store) as db:
        assert db.execute("SELECT decision FROM gates").fetchall() == [("declined",)]


class Cache(BasePlugin):
    """A plugin that answers instead of the tool, or fails."""

    def __init__(self, answer: Any) -> None:
        super().__init__(name="cache")
        self.answer = answer

    async def before_tool_callback(self, **_: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_response_of_another_plugin_is_recorded(calls: Calls) -> None:
    Chat([("add", {"a": 1, "b": 2}, "c1")], plugins=[Cache({"result": 7})]).say()
    (call,) = calls()
    assert (call.status, data(call.result)) == ("success", {"result": 7})


def test_a_call_that_a_plugin_prevents_is_recorded(calls: Calls) -> None:
    with pytest.raises(RuntimeError, match="full"):
        Chat([("add", {"a": 1, "b": 2}, "c1")], plugins=[Cache(ValueError("full"))]).say()
    (call,) = calls()
    assert (call.call_id, call.status, call.ending) == ("c1", "error", "raised")


def test_the_plugin_alone_records_its_runner_only(calls: Calls) -> None:
    integration.remove()
    Chat([("add", {"a": 1, "b": 2}, "c1")], plugins=[integration.ToolTracePlugin()]).say()
    Chat([("add", {"a": 1, "b": 2}, "c2")]).say()
    assert [call.call_id for call in calls()] == ["c1"]


def test_remove_stops_runners_that_exist(calls: Calls) -> None:
    chat = Chat([("add", {"a": 1, "b": 2}, "c1")], [], [("add", {"a": 1, "b": 2}, "c2")])
    chat.say()
    integration.remove()
    assert chat.runner.plugin_manager.plugins == []
    chat.say()
    assert [call.call_id for call in calls()] == ["c1"]


def test_messages_and_schemas_are_the_same_without_the_integration(calls: Calls) -> None:
    def observed() -> list[Any]:
        chat = Chat([("add", {"a": 1, "b": 2}, "c1"), ("add", {"a": 1}, "c2")], [("nothing", {}, "c3")])
        chat.say()
        return chat.model.requests

    recorded = observed()
    integration.remove()
    assert observed() == recorded
    assert len(calls()) == 3


def test_a_fault_of_the_recorder_does_not_reach_the_framework(
    lenient: None, monkeypatch: pytest.MonkeyPatch, calls: Calls
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault")

    monkeypatch.setattr("tooltrace.integrations.google_adk.plugin.FrameworkCall", broken)
    monkeypatch.setattr("tooltrace.integrations.google_adk.plugin.get_recorder", broken)
    events = Chat([("add", {"a": 1, "b": 2}, "c1")]).say()
    assert events[-1].content.parts[0].text == "done"


def test_an_unknown_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    integration.remove()
    with monkeypatch.context() as patch:
        patch.delattr(PluginManager, "run_before_tool_callback")
        with pytest.raises(tt.TooltraceError, match="version of google-adk"):
            integration.install()


def test_the_table_of_the_docs(calls: Calls, store: Path) -> None:
    from google.adk.agents.run_config import RunConfig, StreamingMode

    turns = [("add", {"a": 1, "b": 2}, "c1"), ("add", {"a": 1}, "c3"), ("nosuch", {"x": 1}, "c4")]
    Chat(*[[turn] for turn in turns], [("weigh", {"item": "a"}, "c7")]).say(session_id="chat")
    with pytest.raises(FileNotFoundError):
        Chat([("read", {"path": "p"}, "c2")]).say()
    Chat([("drop", {"table": "t"}, "c5")]).say()
    Chat([("add", {"a": 1, "b": 2}, "c6")]).say(config=RunConfig(streaming_mode=StreamingMode.SSE))
    found: dict[str, list[ToolCall]] = {}
    for call in calls():
        found.setdefault(call.call_id, []).append(call)
    one = {call_id: rows[0] for call_id, rows in found.items()}
    check("google_adk", Observed(
        one["c1"], one["c2"], messages(store), one["c3"], one["c4"], one["c5"], one["c6"], found["c7"],
    ))  # fmt: skip
