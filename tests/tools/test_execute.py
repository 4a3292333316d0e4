"""One call through a registry: always an answer that says what to do, always one record."""

from __future__ import annotations

import asyncio
import collections
import contextvars
import enum
import gc
import json
import threading
import weakref
from collections.abc import Callable
from typing import Any, Literal

import pytest
from opentelemetry.trace import get_current_span
from pydantic import BaseModel, Field, field_validator

import tooltrace as tt
from tooltrace import faults
from tooltrace.core.records import ToolCall
from tooltrace.tools import ToolRegistry

Calls = Callable[[], list[ToolCall]]
R = tt.ToolResponse


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


class Place(BaseModel):
    city: str
    zip: int = Field(default=1, ge=1)


def forecast(place: Place, days: int = 3, unit: Unit = Unit.C, mode: Literal["short", "long"] = "short") -> str:
    """Say the weather."""
    assert isinstance(place, Place)
    assert isinstance(unit, Unit)
    return f"{place.city} {days} {unit.value} {mode}"


def run(registry: ToolRegistry, how: str, *args: Any, **kwargs: Any) -> tt.ToolResponse:
    if how == "sync":
        return registry.execute(*args, **kwargs)
    return asyncio.run(registry.aexecute(*args, **kwargs))


both = pytest.mark.parametrize("how", ["sync", "async"])


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
    assert (meta.cached, meta.rule, meta.rule_grade) == (False, "plain", "certain")
    assert meta.duration_ms == call.duration_ms
    assert (call.tool, call.tool_version, call.call_id, call.ending) == ("forecast", "2", "call_7", "returned")
    assert (call.status, call.text, call.cached, call.rule) == ("success", response.text, False, "plain")
    assert json.loads(call.arguments) == {"place": {"city": "Ulm", "zip": 1}, "days": 5, "unit": "fahrenheit"}
    assert call.tool_description == "Say the weather."


@both
def test_the_same_call_id_again_is_the_next_attempt(calls: Calls, how: str) -> None:
    registry = ToolRegistry([forecast])
    for n in (1, 2):
        assert run(registry, how, "forecast", {"place": {"city": "x"}}, call_id="c").meta.attempt == n
    response = run(registry, how, "forecast", {"place": {"city": "x"}})
    assert response.meta.call_id == response.meta.span_id
    assert [call.attempt for call in calls()] == [1, 2, 1]


def test_the_call_id_of_the_surroundings(calls: Calls) -> None:
    registry = ToolRegistry([forecast])
    with tt.context(call_id="around", conversation_id="chat", agent_name="clerk"):
        assert registry.execute("forecast", {"place": {"city": "x"}}).meta.call_id == "around"
        assert registry.execute("forecast", {"place": {"city": "x"}}, call_id="own").meta.call_id == "own"
    assert {(call.conversation_id, call.agent) for call in calls()} == {("chat", "clerk")}


# what is no call


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ('{"city": ', "line 1 column 10"),
        ("{'city': 1}", "line 1 column 2"),
        ('{"a": 1} trailing', "line 1 column 10"),
        ("[1]", "got array"),
        ('"x"', "got string"),
        ("null", "got null"),
        ("3", "got integer"),
        ('{"n": NaN}', "NaN"),
        ('{"n": ' + "9" * 5000 + "}", "digits"),
        ("[" * 100_000, ""),
        (b"\xff{", "breaks"),
        ([1], "got array"),
        (5, "got integer"),
        (object(), "got object"),
    ],
)
@both
def test_what_is_no_json_object(calls: Calls, how: str, sent: Any, words: str) -> None:
    response = run(ToolRegistry([forecast]), how, "forecast", sent, call_id="c")
    assert (response.status, response.code) == ("error", "INVALID_FORMAT")
    assert "JSON object" in response.error.message
    assert words in response.error.message
    assert "JSON object" in response.error.suggestion
    assert response.meta.rule == "registry"
    (call,) = calls()
    assert (call.code, call.ending, call.status, call.rule) == ("INVALID_FORMAT", "returned", "error", "registry")
    assert call.arguments is not None


@pytest.mark.parametrize("sent", ["", "  ", None, "{}", {}, b""])
def test_nothing_is_no_arguments(store: Any, sent: Any) -> None:
    def now() -> str:
        return "noon"

    assert ToolRegistry([now]).execute("now", sent).text == "noon"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "missing parameter 'place'"),
        ({"place": {}}, "missing parameter 'place.city'"),
        ({"place": {"city": 5}}, "parameter 'place.city': expected a valid string, got integer 5"),
        (
            {"place": {"city": "x", "zip": 0}},
            "parameter 'place.zip': expected greater than or equal to 1, got integer 0",
        ),
        ({"place": "Ulm"}, "parameter 'place': expected an object, got string \"Ulm\""),
        ({"place": None}, "got null"),
        ({"place": [1]}, "got array"),
        ({"place": {"city": "x"}, "days": 1.5}, "parameter 'days'"),
        ({"place": {"city": "x"}, "unit": "kelvin"}, "expected 'celsius' or 'fahrenheit', got string \"kelvin\""),
        ({"place": {"city": "x"}, "mode": "s"}, "expected 'short' or 'long'"),
        ({"place": {"city": "x"}, "day": 1}, "unknown parameter 'day'; did you mean 'days'?"),
        ({"place": {"city": "x"}, "Mode": 1}, "did you mean 'mode'?"),
        ({"place": {"city": "x"}, "zzz": 1}, "unknown parameter 'zzz'"),
        ({5: 1, "place": {"city": "x"}}, "unknown parameter '5'"),
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_parameters_that_are_wrong(calls: Calls, arguments: Any, words: str, as_text: bool) -> None:
    response = ToolRegistry([forecast]).execute("forecast", json.dumps(arguments) if as_text else arguments)
    assert (response.code, response.error.retryable, response.next_action) == ("INVALID_PARAM", False, "continue")
    assert words in response.error.message
    assert "place (object, required)" in response.error.suggestion
    (call,) = calls()
    assert (call.code, call.error_message) == ("INVALID_PARAM", response.error.message)


@pytest.mark.parametrize(
    "value", ["\ud800", pytest.param(10**5000, id="huge"), float("nan"), b"bytes", {1, 2}, object(), 2**70]
)
def test_what_json_cannot_say_is_checked_all_the_same(calls: Calls, value: Any) -> None:
    received: list[Any] = []

    def anything(x: Any) -> None:
        received.append(x)

    def number(x: int) -> None: ...

    registry = ToolRegistry([anything, number])
    assert registry.execute("anything", {"x": value}).ok
    assert received[0] is value or received[0] == value or repr(received[0]) == "nan"
    assert registry.execute("number", {"x": value}).code == (None if isinstance(value, int) else "INVALID_PARAM")
    assert len(calls()) == 2


def test_several_faults_are_said_at_once(store: Any) -> None:
    arguments = {"place": {"zip": "x"}, "days": "x", "unit": 3, "more": 1}
    message = ToolRegistry([forecast]).execute("forecast", arguments).error.message
    for words in ("'place.city'", "'place.zip'", "'days'", "'unit'", "'more'"):
        assert words in message


def test_many_faults_are_not_a_flood(store: Any) -> None:
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    response = ToolRegistry([total]).execute("total", {"numbers": ["x" * 1000] * 1000})
    assert len(response.error.message) < 2000
    assert "and 990 more" in response.error.message


def test_the_members_of_a_union_are_no_place(store: Any) -> None:
    def tool(x: int | list[dict[str, int]]) -> None: ...

    message = ToolRegistry([tool]).execute("tool", {"x": [{"a": "b"}]}).error.message
    assert "'x'" in message
    assert "'x.0.a'" in message
    assert "list[" not in message


def test_a_long_or_secret_value_is_not_said_again(calls: Calls) -> None:
    def login(password: int, name: int, pin: int) -> None: ...

    long = "y" * 50
    arguments = {"password": "hunter2", "name": long, "pin": "zebra"}
    response = ToolRegistry([login]).execute("login", arguments)
    assert 'got string "zebra"' in response.error.message
    assert "hunter2" not in response.error.message
    assert long not in response.error.message
    registry = ToolRegistry()
    registry.register(login, capture="metadata")
    assert "zebra" not in registry.execute("login", arguments).error.message
    first, second = calls()
    assert "hunter2" not in repr(first)
    assert (second.arguments, "zebra" in repr(second)) == (None, False)


class Odd(BaseModel):
    x: int

    @field_validator("x")
    @classmethod
    def check(cls, value: int) -> int:
        raise KeyError("no such x")


@both
def test_a_validator_of_the_tools_own_that_fails_otherwise(calls: Calls, how: str) -> None:
    def tool(odd: Odd) -> None: ...

    response = run(ToolRegistry([tool]), how, "tool", {"odd": {"x": 1}})
    assert (response.status, response.code) == ("error", "NOT_FOUND")
    (call,) = calls()
    assert (call.ending, call.error_type) == ("raised", "KeyError")


@both
def test_an_unknown_tool(calls: Calls, how: str) -> None:
    registry = ToolRegistry([forecast])
    response = run(registry, how, "Forcast", '{"place": 1}', call_id="c")
    assert response.code == "NOT_FOUND"
    assert response.error.message == "no tool named 'Forcast'; did you mean 'forecast'?"
    assert "forecast" in response.error.suggestion
    assert response.next_action == "continue", "another tool may do; no person is to be asked"
    assert "did you mean" not in run(registry, how, "zzzzzzz").error.message
    assert run(ToolRegistry(), how, None).code == "NOT_FOUND"
    first, *_ = calls()
    assert (first.tool, first.code, first.call_id, first.arguments) == ("Forcast", "NOT_FOUND", "c", '{"place":1}')
    assert len(calls()) == 3


class Unreadable(collections.UserDict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no")


def test_a_mapping_that_cannot_be_read(calls: Calls) -> None:
    response = ToolRegistry([forecast]).execute("forecast", Unreadable())
    assert response.code == "INVALID_FORMAT"
    assert "Unreadable" in response.error.message
    assert len(calls()) == 1


def test_a_fault_of_ours_is_an_answer_and_nothing_is_run(
    calls: Calls, lenient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any) -> Any:
        raise RuntimeError("a fault of ours")

    ran: list[int] = []

    def tool(n: int) -> None:
        ran.append(n)

    monkeypatch.setattr("tooltrace.tools.argument_errors.faults", fails)
    assert ToolRegistry([tool]).execute("tool", {"n": "x"}).code == "INTERNAL_ERROR"
    assert ran == []
    assert [call.code for call in calls()] == ["INTERNAL_ERROR"]


def test_a_long_list_of_tools_is_cut(store: Any) -> None:
    registry = ToolRegistry()
    for n in range(50):
        registry.register(lambda: None, name=f"tool_{n}")
    assert registry.execute("x").error.suggestion.endswith("and 30 more.")


def test_names_that_a_model_made_up_at_length(calls: Calls) -> None:
    registry = ToolRegistry([forecast])
    assert len(registry.execute("x" * 100_000).error.message) < 200
    assert len(registry.execute("forecast", {"place": {"city": "x"}, "y" * 100_000: 1}).error.message) < 200
    assert len(calls()[0].tool) < 200


# what the tool does


@both
def test_what_a_tool_raises_is_an_answer(calls: Calls, how: str) -> None:
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
def test_an_exception_is_not_held(store: Any, how: str) -> None:
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
def test_a_cancellation_goes_through(calls: Calls, how: str, error: type[BaseException], coroutine: bool) -> None:
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
def test_a_response_keeps_what_it_says(calls: Calls, how: str) -> None:
    own = R.partial("half", {"n": 1}, reason="cut", confidence=0.5, sources=[tt.Source(id="s")], next_action="ask_user")

    def tool() -> R:
        return own

    response = run(ToolRegistry([tool]), how, "tool")
    assert response.model_copy(update={"meta": own.meta}) == own
    assert own.meta.span_id is None, "the tool's own object is as it was"
    (call,) = calls()
    assert response.meta.span_id == call.span_id
    assert (call.status, call.confidence, call.next_action, call.text) == ("partial", 0.5, "ask_user", "half")


def test_what_has_a_rule_is_read_by_it(calls: Calls) -> None:
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
def test_confidence_and_sources_as_the_tracer_was_told(calls: Calls, how: str) -> None:
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
def test_the_span_is_current_and_context_variables_are_kept(calls: Calls, how: str) -> None:
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
        assert go.wait(120)

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
def test_stop_after_call(calls: Calls, how: str) -> None:
    def tool(ok: bool) -> R:
        return R.success("done") if ok else R.error("TIMEOUT", "slow")

    registry = ToolRegistry()
    registry.register(tool, stop_after_call=True)
    assert run(registry, how, "tool", {"ok": True}).next_action == "stop"
    assert run(registry, how, "tool", {"ok": False}).next_action == "retry", "a failure may be tried again"
    assert run(registry, how, "tool", {}).next_action == "continue"
    assert [call.next_action for call in calls()] == ["stop", "retry", "continue"]


@pytest.mark.parametrize(
    "options", [{"requires_confirmation": True}, {"requires_user_input": ["q"]}, {"external_execution": True}]
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


def test_what_a_person_gives_is_not_asked_of_the_model(store: Any) -> None:
    def send(to: str, text: str) -> None: ...

    registry = ToolRegistry()
    registry.register(send, requires_user_input=["to"])
    (schema,) = registry.schemas("plain")
    assert list(schema["parameters"]["properties"]) == ["text"]
    assert "unknown parameter 'to'" in registry.execute("send", {"to": "x", "text": "y"}).error.message
    with pytest.raises(tt.TooltraceError, match="must name parameters of the tool"):
        registry.register(send, name="other", requires_user_input=["whom"])


@both
def test_without_a_recorder_the_tool_runs_all_the_same(
    lenient: None, store: Any, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_span(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("the recorder is broken")

    monkeypatch.setattr("tooltrace.recording.recorder.Recorder._start_span", no_span)
    response = run(ToolRegistry([forecast]), how, "forecast", {"place": {"city": "x"}}, call_id="c")
    assert response.text == "x 3 celsius short"
    assert (response.meta.call_id, response.meta.span_id) == ("c", None)
    assert response.meta.duration_ms >= 0
    assert faults.faults.drain() == {"fault_begin": 1}
