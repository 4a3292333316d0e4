"""One call through a registry: always a response with advice, always one record."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import json
import threading
import weakref
from typing import Any

import pytest
from opentelemetry.trace import get_current_span

import tooltrace as tt
from tests.tools.shared import Calls, R, both, forecast, run
from tooltrace import faults
from tooltrace.tools import ToolRegistry


@both
def test_a_call(calls: Calls, how: str) -> None:
    registry = ToolRegistry()
    registry.register(forecast, version="2")
    text = '{"place": {"city": "Ulm"}, "days": "5", "unit": "fahrenheit"}'
    response = run(registry, how, "forecast", text, call_id="call_7")
    assert (response.status, response.text) == ("success", "Ulm 5 fahrenheit short")
    (call,) = calls()
    meta = response.meta
    assert (meta.tool_name, meta.tool_version, meta.call_id) == ("forecast", "2", "call_7")
    assert (meta.span_id, meta.trace_id, meta.attempt) == (call.span_id, call.trace_id, 1)
    assert (meta.cached, meta.rule, meta.rule_grade) == (False, "plain", "unread")
    assert meta.duration_ms == call.duration_ms
    assert (call.tool, call.tool_version, call.call_id, call.ending) == ("forecast", "2", "call_7", "returned")
    assert (call.status, call.text, call.cached, call.rule) == ("success", response.text, False, "plain")
    assert json.loads(call.arguments) == {"place": {"city": "Ulm", "zip": 1}, "days": 5, "unit": "fahrenheit"}
    assert call.tool_description == "Say the weather."


@both
def test_the_same_call_id_again_is_the_next_attempt_of_a_call_that_failed(calls: Calls, how: str) -> None:
    fails = iter([True])

    def fetch(url: str) -> str:
        if next(fails, False):
            raise ConnectionError("reset")
        return url

    registry = ToolRegistry([fetch])
    for n in (1, 2, 1):
        assert run(registry, how, "fetch", {"url": "x"}, call_id="c").meta.attempt == n
    response = run(registry, how, "fetch", {"url": "x"})
    assert response.meta.call_id == response.meta.span_id
    assert [call.attempt for call in calls()] == [1, 2, 1, 1]


def test_the_call_id_of_the_surroundings(calls: Calls) -> None:
    registry = ToolRegistry([forecast])
    with tt.context(call_id="around", conversation_id="chat", agent="clerk"):
        assert registry.execute("forecast", {"place": {"city": "x"}}).meta.call_id == "around"
        assert registry.execute("forecast", {"place": {"city": "x"}}, call_id="own").meta.call_id == "own"
    assert {(call.conversation_id, call.agent) for call in calls()} == {("chat", "clerk")}


@both
def test_an_exception_of_a_tool_is_a_response(calls: Calls, how: str) -> None:
    def open_it(path: str) -> str:
        raise FileNotFoundError(path)

    async def later(path: str) -> str:
        raise TimeoutError("too slow")

    def stop(path: str) -> str:
        raise StopIteration("odd")

    registry = ToolRegistry([open_it, later, stop])
    first = run(registry, how, "open_it", {"path": "p"})
    assert (first.code, first.error.type, first.error.message) == ("NOT_FOUND", "FileNotFoundError", "p")
    second = run(registry, how, "later", {"path": "p"})
    assert (second.code, second.error.retryable) == ("TIMEOUT", True)
    assert run(registry, how, "stop", {"path": "p"}).error.type == "StopIteration"
    assert [(c.ending, c.code, c.error_type) for c in calls()] == [
        ("raised", "NOT_FOUND", "FileNotFoundError"),
        ("raised", "TIMEOUT", "TimeoutError"),
        ("raised", "EXECUTION_ERROR", "StopIteration"),
    ]
    assert first.meta.rule == "exception"


@both
def test_an_exception_is_released(store: Any, how: str) -> None:
    class Held:
        pass

    references: list[weakref.ref[Held]] = []

    def tool() -> None:
        local = Held()
        references.append(weakref.ref(local))
        raise ValueError("no")

    async def atool() -> None:
        tool()

    registry = ToolRegistry([tool, atool])
    gc.disable()
    try:
        for name in registry.names:
            assert run(registry, how, name).code == "INVALID_PARAM"
        tt.flush()
        assert [each() for each in references] == [None, None], "no circle keeps the tool's frames"
    finally:
        gc.enable()


@both
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
@pytest.mark.parametrize("coroutine", [False, True])
def test_a_cancellation_propagates(calls: Calls, how: str, error: type[BaseException], coroutine: bool) -> None:
    def tool() -> None:
        raise error

    async def atool() -> None:
        raise error

    registry = ToolRegistry()
    registry.register(atool if coroutine else tool, name="tool")
    with pytest.raises(error):
        run(registry, how, "tool")
    (call,) = calls()
    assert (call.ending, call.status) == ("cancelled", None)


async def test_a_cancelled_call_is_on_record(calls: Calls) -> None:
    started = asyncio.Event()

    async def tool() -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(ToolRegistry([tool]).aexecute("tool"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [call.ending for call in calls()] == ["cancelled"]


@both
def test_a_retryable_exception_is_so_in_the_answer_and_on_record(calls: Calls, how: str) -> None:
    class Busy(Exception):
        pass

    def tool() -> None:
        raise Busy("later")

    registry = ToolRegistry()
    registry.register(tool, retryable=Busy)
    assert run(registry, how, "tool").error.retryable is True
    assert [call.retryable for call in calls()] == [True]


@both
def test_a_response_is_returned_unchanged(calls: Calls, how: str) -> None:
    own = R.partial("half", {"n": 1}, reason="cut", confidence=0.5, sources=[tt.Source(id="s")], next_action="ask_user")

    def tool() -> R:
        return own

    response = run(ToolRegistry([tool]), how, "tool")
    assert response.model_copy(update={"meta": own.meta}) == own
    assert own.meta.span_id is None, "the tool's own object is as it was"
    (call,) = calls()
    assert response.meta.span_id == call.span_id
    assert (call.status, call.confidence, call.next_action, call.text) == ("partial", 0.5, "ask_user", "half")


def test_results_are_read_by_the_tools_rules(calls: Calls) -> None:
    def tool() -> Any:
        return R.error("MY_CODE", "no").model_dump(mode="json")

    rule_says = tt.normalize(tool())
    response = ToolRegistry([tool]).execute("tool")
    assert (response.status, response.code, response.meta.rule) == (
        rule_says.status,
        rule_says.code,
        rule_says.meta.rule,
    )
    assert [(c.status, c.code, c.rule) for c in calls()] == [(response.status, response.code, response.meta.rule)]


@both
def test_confidence_and_sources_come_from_the_tracers_options(calls: Calls, how: str) -> None:
    @tt.trace_tool(confidence=lambda result: result["score"], sources=lambda result: result["from"])
    def tool(score: float) -> dict[str, Any]:
        return {"score": score, "from": [{"id": "d1"}]}

    registry = ToolRegistry([tool])
    response = run(registry, how, "tool", {"score": 0.25})
    assert (response.confidence, response.sources) == (0.25, (tt.Source(id="d1"),))
    assert run(registry, how, "tool", {"score": 7}).confidence is None
    first, second = calls()

    @tt.trace_tool(confidence=0.1, sources=[tt.Source(id="tracer's")])
    def sure() -> R:
        return R.success("x", confidence=0.9, sources=[tt.Source(id="own")])

    own = run(ToolRegistry([sure]), how, "sure")
    assert (own.confidence, own.sources) == (0.9, (tt.Source(id="own"),)), "what the tool says itself goes first"
    assert (first.confidence, json.loads(first.sources)[0]["id"], first.flags) == (0.25, "d1", None)
    assert (second.confidence, json.loads(second.flags)) == (None, ["confidence_out_of_range"])


@both
def test_the_span_is_current_and_context_variables_persist(calls: Calls, how: str) -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="none")

    @tt.trace_tool
    def inner() -> None: ...

    def tool() -> str:
        get_current_span().set_attribute("seen", True)
        inner()
        return name.get()

    async def atool() -> str:
        return tool()

    name.set("kept")
    registry = ToolRegistry([tool, atool])
    for each in ("tool", "atool"):
        assert run(registry, how, each, call_id="c").text == "kept"
    outer, child, other, _ = calls()
    assert child.parent_span_id == outer.span_id
    assert child.call_id != "c", "the model did not ask for the inner one"
    assert json.loads(outer.attributes) == json.loads(other.attributes) == {"seen": True}


async def test_the_span_is_current_no_longer(store: Any) -> None:
    def fails() -> None:
        raise ValueError

    def ends() -> None:
        raise KeyboardInterrupt

    registry = ToolRegistry([fails, ends, forecast])
    before = get_current_span()
    for name in (*registry.names, "unknown"):
        for how in ("sync", "async"):
            try:
                registry.execute(name) if how == "sync" else await registry.aexecute(name)
            except KeyboardInterrupt:
                assert name == "ends"
            assert get_current_span() is before


async def test_calls_at_the_same_time_are_each_their_own(calls: Calls) -> None:
    @tt.trace_tool
    async def inner(n: int) -> int:
        await asyncio.sleep(0)
        return n

    async def outer(n: int) -> int:
        await asyncio.sleep(0)
        return await inner(n)

    registry = ToolRegistry([outer])
    found = await asyncio.gather(*(registry.aexecute("outer", {"n": n}, call_id=f"c{n}") for n in range(20)))
    assert [(response.data, response.meta.call_id) for response in found] == [(n, f"c{n}") for n in range(20)]
    by_span = {call.span_id: call for call in calls()}
    assert len(by_span) == 40
    for call in by_span.values():
        if call.tool == "inner":
            assert by_span[call.parent_span_id].arguments == call.arguments


async def test_a_blocking_tool_does_not_block_the_loop(store: Any) -> None:
    threads: list[int] = []
    go = threading.Event()

    def blocking() -> None:
        threads.append(threading.get_ident())
        assert go.wait()

    task = asyncio.create_task(ToolRegistry([blocking]).aexecute("blocking"))
    while not threads:
        await asyncio.sleep(0)
    go.set()
    assert (await task).ok
    assert threads != [threading.get_ident()]


async def test_a_coroutine_from_sync_code_inside_a_running_loop(calls: Calls) -> None:
    async def tool(n: int) -> int:
        await asyncio.sleep(0)
        return n + 1

    loop = asyncio.get_running_loop()
    assert ToolRegistry([tool]).execute("tool", {"n": 1}).data == 2
    assert asyncio.get_running_loop() is loop
    assert len(calls()) == 1


def test_the_threads_own_loop_stays_set(store: Any) -> None:
    async def tool() -> str:
        return "x"

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        assert ToolRegistry([tool]).execute("tool").text == "x"
        assert asyncio.get_event_loop() is loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()


@both
def test_stop_after_tool_call(calls: Calls, how: str) -> None:
    def tool(ok: bool) -> R:
        return R.success("done") if ok else R.error("TIMEOUT", "slow")

    registry = ToolRegistry()
    registry.register(tool, stop_after_tool_call=True)
    assert run(registry, how, "tool", {"ok": True}).next_action == "stop"
    assert run(registry, how, "tool", {"ok": False}).next_action == "retry", "a failure may be tried again"
    assert run(registry, how, "tool", {}).next_action == "continue"
    assert [call.next_action for call in calls()] == ["stop", None, None], "a row has what was stated"


@pytest.mark.parametrize(
    "options",
    [
        {"requires_confirmation": True},
        {"requires_user_input": True, "user_input_fields": ["q"]},
        {"external_execution": True},
    ],
)
@both
def test_nothing_runs_before_a_person_agrees(calls: Calls, how: str, options: Any) -> None:
    ran: list[str] = []

    def tool(q: str = "") -> None:
        ran.append(q)

    registry = ToolRegistry()
    registry.register(tool, **options)
    response = run(registry, how, "tool", {})
    assert ran == []
    assert response.next_action in ("human_review", "ask_user")
    assert len(calls()) == 1


def test_values_from_a_person_are_not_in_the_models_schema(store: Any) -> None:
    def send(to: str, text: str) -> None: ...

    registry = ToolRegistry()
    registry.register(send, requires_user_input=True, user_input_fields=["to"])
    (schema,) = registry.schemas("plain")
    assert list(schema["parameters"]["properties"]) == ["text"]
    assert "unknown parameter 'to'" in registry.execute("send", {"to": "x", "text": "y"}).error.message
    with pytest.raises(tt.TooltraceError, match="must name parameters of the tool"):
        registry.register(send, name="other", requires_user_input=True, user_input_fields=["whom"])


@both
def test_without_a_recorder_the_tool_runs_all_the_same(
    lenient: None, store: Any, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_span(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("the recorder is broken")

    monkeypatch.setattr("tooltrace.recording.recorder._begin_attempt", no_span)
    response = run(ToolRegistry([forecast]), how, "forecast", {"place": {"city": "x"}}, call_id="c")
    assert response.text == "x 3 celsius short"
    assert (response.meta.call_id, response.meta.span_id) == ("c", None)
    assert response.meta.duration_ms >= 0
    assert faults.faults.drain() == {"fault_begin": 1}
