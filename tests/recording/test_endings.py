"""How an attempt ended, what the tool reported, and which attempt of which call it was."""

from __future__ import annotations

import asyncio
import functools
import json
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

import tooltrace as tt
from tooltrace.core.records import ToolCall

Calls = Callable[[], list[ToolCall]]
R = tt.ToolResponse


def one(calls: Calls) -> ToolCall:
    (call,) = calls()
    return call


# the table of endings


def raises(error: BaseException) -> Any:
    def tool() -> None:
        raise error

    return tool


@pytest.mark.parametrize(
    ("tool", "ending", "status", "code"),
    [
        (lambda: 5, "returned", "success", None),
        (lambda: None, "returned", "success", None),
        (lambda: R.success("x"), "returned", "success", None),
        (lambda: R.partial("x", reason="cut"), "returned", "partial", None),
        (lambda: R.error("ORDER_NOT_FOUND", "no"), "returned", "error", "ORDER_NOT_FOUND"),
        (lambda: R.error(tt.ToolErrorCode.TIMEOUT, "slow"), "returned", "error", "TIMEOUT"),
        (raises(FileNotFoundError("f")), "raised", "error", "NOT_FOUND"),
        (raises(TimeoutError()), "raised", "error", "TIMEOUT"),
        (raises(ValueError("v")), "raised", "error", "INVALID_PARAM"),
        (raises(Exception("e")), "raised", "error", "EXECUTION_ERROR"),
        (raises(asyncio.CancelledError()), "cancelled", None, None),
        (raises(KeyboardInterrupt()), "cancelled", None, None),
        (raises(SystemExit(3)), "cancelled", None, None),
        (raises(GeneratorExit()), "abandoned", None, None),
    ],
)
def test_endings(calls: Calls, tool: Any, ending: str, status: str | None, code: str | None) -> None:
    try:
        tt.trace_tool(tool)()
    except BaseException:  # noqa: BLE001, S110
        pass
    call = one(calls)
    assert (call.ending, call.status, call.code) == (ending, status, code)
    assert call.duration_ms is not None and call.duration_ms >= 0


def consume_all(stream: Any) -> None:
    for _ in stream:
        pass


def consume_one(stream: Any) -> None:
    next(stream)


def close_after_one(stream: Any) -> None:
    next(stream)
    stream.close()


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(
    ("consume", "fails", "ending", "status"),
    [
        ("all", None, "returned", "success"),
        ("all", KeyError("late"), "raised", "error"),
        ("all", KeyboardInterrupt(), "cancelled", None),
        ("drop", None, "abandoned", None),
        ("close", None, "abandoned", None),
        ("throw", None, "raised", "error"),
    ],
)
def test_endings_of_streams(
    calls: Calls, asynchronous: bool, hidden: bool, consume: str, fails: Any, ending: str, status: Any
) -> None:
    def generator() -> Any:
        yield "a"
        yield "b"
        if fails is not None:
            raise fails

    async def agenerator() -> Any:
        for item in generator():
            yield item

    def plain() -> Any:
        return agenerator() if asynchronous else generator()

    tool = tt.trace_tool(plain if hidden else agenerator if asynchronous else generator)

    async def adrive() -> None:
        stream = tool()
        await anext(stream)
        if consume == "all":
            async for _ in stream:
                pass
        elif consume == "close":
            await stream.aclose()
        elif consume == "throw":
            await stream.athrow(ValueError("from outside"))
        else:
            del stream
            for _ in range(20):  # turns of the event loop, in which it closes what nobody holds any more
                await asyncio.sleep(0)

    def drive() -> None:
        stream = tool()
        next(stream)
        if consume == "all":
            consume_all(stream)
        elif consume == "close":
            stream.close()
        elif consume == "throw":
            stream.throw(ValueError("from outside"))

    try:
        asyncio.run(adrive()) if asynchronous else drive()
    except (Exception, KeyboardInterrupt):  # noqa: BLE001, S110
        pass
    call = one(calls)
    assert (call.ending, call.status) == (ending, status)
    if ending == "abandoned":
        assert call.error_type is None and call.code is None
    assert json.loads(call.stats or "{}")["items"] == (2 if consume == "all" else 1)


def test_a_stream_that_nobody_started_is_no_attempt_unless_the_tool_itself_ran(calls: Calls) -> None:
    def generator() -> Any:
        yield 1

    tt.trace_tool(generator)()
    assert calls() == []
    tt.trace_tool(lambda: generator())()
    call = one(calls)
    assert (call.ending, call.status, call.duration_ms) == ("abandoned", None, None)


def test_a_stream_separates_first_item_tool_and_consumer(calls: Calls) -> None:
    """Each time is as long as what was done in it at least, and together they are no longer than the whole."""
    gate = threading.Event()  # never set: a wait of some length
    first, tools, consumers = 0.0, 0.0, 0.0

    def waited(seconds: float) -> float:
        begun = time.perf_counter()
        gate.wait(seconds)
        return (time.perf_counter() - begun) * 1000

    @tt.trace_tool
    def tool() -> Any:
        nonlocal first, tools
        first = tools = waited(0.05)
        yield 1
        tools += waited(0.02)
        yield 2

    begun = time.perf_counter()
    for _ in tool():
        consumers += waited(0.1)
    whole = (time.perf_counter() - begun) * 1000
    call = one(calls)
    assert call.first_item_ms is not None and call.duration_ms is not None and call.consumer_ms is not None
    rounding = 0.01
    assert first - rounding <= call.first_item_ms <= call.duration_ms
    assert tools - rounding <= call.duration_ms
    assert consumers - rounding <= call.consumer_ms
    assert call.duration_ms + call.consumer_ms <= whole + rounding


def test_a_stream_of_text_is_read_as_one(calls: Calls) -> None:
    assert list(tt.trace_tool(lambda: (c for c in "héllo"))()) == list("héllo")
    call = one(calls)
    assert call.text == "héllo"
    assert json.loads(call.result or "") == list("héllo")


def test_the_response_that_ends_a_stream_is_the_result(calls: Calls) -> None:
    @tt.trace_tool
    def returns() -> Any:
        yield "a"
        return R.error("NOT_FOUND", "nothing")

    @tt.trace_tool
    def yields() -> Any:
        yield "a"
        yield R.partial("most", reason="cut")

    list(returns())
    list(yields())
    assert [(c.status, c.ending) for c in calls()] == [("error", "returned"), ("partial", "returned")]


# results


def test_a_result_that_is_no_response_is_recorded_as_it_is_read(calls: Calls) -> None:
    tool = tt.trace_tool(lambda x: x)
    for value in ("words", {"a": 1}, None, 0, False, [], ""):
        tool(value)
    seen = [(c.rule, c.rule_grade, c.text, c.result, c.status) for c in calls()]
    assert seen == [
        ("plain", "certain", "words", '"words"', "success"),
        ("plain", "certain", None, '{"a":1}', "success"),
        ("none", "certain", None, None, "success"),
        ("plain", "certain", None, "0", "success"),
        ("plain", "certain", None, "false", "success"),
        ("plain", "certain", None, "[]", "success"),
        ("plain", "certain", "", '""', "success"),
    ]


def test_everything_that_a_response_carries_is_recorded(calls: Calls) -> None:
    response = R.error(
        "ORDER_NOT_FOUND", "no such order", type="validation", retryable=True, suggestion="ask", user_message="Sorry",
        next_action="ask_user", text="the text", data={"n": 1}, confidence=0.5, signals={"overlap": 0.5},
        sources=[tt.Source(type="api", id="7", label="L", url="https://x.test", section="s")],
        stats={"rows": 1}, context={"k": "v"}, explanation="why", meta=tt.ResponseMeta(cached=True),
    )  # fmt: skip
    tool = tt.trace_tool(version="3", tool_type="datastore", name="orders", description="D")(lambda: response)
    assert tool() is response
    c = one(calls)
    assert (c.tool, c.tool_version, c.tool_type, c.tool_description) == ("orders", "3", "datastore", "D")
    assert (c.status, c.code, c.error_type, c.error_message) == (
        "error",
        "ORDER_NOT_FOUND",
        "validation",
        "no such order",
    )
    assert (c.retryable, c.suggestion, c.user_message, c.next_action) == (True, "ask", "Sorry", "ask_user")
    assert (c.text, c.result, c.confidence, c.signals) == ("the text", '{"n":1}', 0.5, '{"overlap":0.5}')
    assert json.loads(c.sources or "") == [
        {"type": "api", "id": "7", "label": "L", "url": "https://x.test", "section": "s"}
    ]
    assert (c.stats, c.context, c.explanation, c.cached) == ('{"rows":1}', '{"k":"v"}', "why", True)
    assert c.rule == "tool_response"


@pytest.mark.parametrize("bad", [1.01, -0.1, float("nan"), float("inf"), "nan", "7", Decimal("NaN"), Decimal(2), 2, -1])
def test_a_confidence_that_is_none_is_refused_when_a_response_is_made(bad: Any) -> None:
    with pytest.raises(ValidationError, match="confidence"):
        R.success("x", confidence=bad)


@pytest.mark.parametrize("good", [0, 1, 0.0, 1.0, 0.3, None])
def test_a_confidence_in_range_is_kept(good: Any) -> None:
    assert R.success("x", confidence=good).confidence == good


@pytest.mark.parametrize("bad", [3, -1, math.nan, math.inf, "high", True])
def test_a_foreign_confidence_out_of_range_is_missing_and_flagged(calls: Calls, bad: Any) -> None:
    tt.trace_tool(confidence=lambda _: bad)(lambda: 1)()
    tt.trace_tool(lambda: R.model_construct(status="success", confidence=bad, meta=tt.ResponseMeta()))()
    for call in calls():
        assert call.confidence is None and call.flags == '["confidence_out_of_range"]'


def test_confidence_and_sources_of_the_decorator(calls: Calls) -> None:
    source = tt.Source(type="file", id="f")
    tt.trace_tool(confidence=0.25, sources=[source])(lambda: 1)()
    tt.trace_tool(confidence=lambda r: r / 10, sources=lambda r: [source])(lambda: 7)()
    tt.trace_tool(confidence=0.1)(lambda: R.success(confidence=0.9))()
    a, b, c = calls()
    assert (a.confidence, b.confidence, c.confidence) == (0.25, 0.7, 0.9)
    assert a.sources == b.sources == '[{"type":"file","id":"f"}]'


def test_a_reader_of_confidence_or_sources_that_raises_costs_neither_the_result_nor_the_record(calls: Calls) -> None:
    def bad(_: Any) -> Any:
        raise RuntimeError

    assert tt.trace_tool(confidence=bad, sources=bad)(lambda: 5)() == 5
    assert tt.trace_tool(sources=lambda _: ["no source"])(lambda: 5)() == 5
    assert [c.flags for c in calls()] == ['["confidence_failed","sources_failed"]', '["sources_failed"]']


def test_retryable_exceptions(calls: Calls) -> None:
    for options in ({}, {"retryable": KeyError}, {"retryable": [OSError, LookupError]}):
        with pytest.raises(KeyError):
            tt.trace_tool(**options)(raises(KeyError("k")))()
    assert [c.retryable for c in calls()] == [False, True, True]


def test_metadata_only(calls: Calls) -> None:
    tt.trace_tool(capture="metadata")(lambda secret: {"secret": secret})("x")
    tt.trace_tool(capture="metadata")(lambda: None)()
    tt.trace_tool(capture="metadata")(lambda: R.success("private", {"private": 1}, stats={"private": 1}))()
    list(tt.trace_tool(capture="metadata")(lambda: iter_private())())
    rows = calls()
    for call in rows:
        assert call.arguments is None and call.result is None and call.text is None
        assert "private" not in repr(call)
    assert [c.rule for c in rows] == ["plain", "none", "tool_response", "plain"]
    assert {c.status for c in rows} == {"success"}


def iter_private() -> Any:
    yield "private"


def test_an_unknown_option_is_refused_at_decoration() -> None:
    for bad in ({"nme": "x"}, {"capture": "some"}):
        with pytest.raises(tt.TooltraceError):
            tt.trace_tool(**bad)(lambda: 1)
    with pytest.raises(tt.TooltraceError):
        tt.trace_tool(5)  # type: ignore[call-overload]


# attempts


def test_the_same_call_id_again_is_the_next_attempt_in_whichever_thread_or_task(calls: Calls) -> None:
    tool = tt.trace_tool(name="t")(lambda: 1)

    def work(_: int) -> None:
        with tt.context(call_id="call_7"):
            tool()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(20)))

    async def task() -> None:
        with tt.context(call_id="call_7"):
            await asyncio.sleep(0)
            tool()

    async def main() -> None:
        await asyncio.gather(*(task() for _ in range(20)))

    asyncio.run(main())
    rows = calls()
    assert {c.call_id for c in rows} == {"call_7"}
    assert sorted(c.attempt for c in rows) == list(range(1, 41))


def test_without_a_call_id_it_is_the_span_id(calls: Calls) -> None:
    tt.trace_tool(lambda: 1)()
    assert (call := one(calls)).call_id == call.span_id and call.attempt == 1


def test_a_tool_inside_a_tool_is_another_call(calls: Calls) -> None:
    inner = tt.trace_tool(name="inner")(lambda: 1)

    @tt.trace_tool(name="outer")
    def outer() -> None:
        inner()
        with tt.context(call_id="asked_inside"):
            inner()

    @tt.trace_tool(name="stream")
    def stream() -> Any:
        inner()
        yield 1

    with tt.context(call_id="c1", conversation_id="conv", agent_name="bob", tenant="t1"):
        outer()
        for _ in stream():
            inner()
    rows = calls()
    assert [(c.tool, c.call_id if c.call_id != c.span_id else None) for c in rows] == [
        ("outer", "c1"), ("inner", None), ("inner", "asked_inside"), ("stream", "c1"), ("inner", None), ("inner", "c1"),
    ]  # fmt: skip
    assert {(c.conversation_id, c.agent) for c in rows} == {("conv", "bob")}
    assert all(json.loads(c.attributes or "{}") == {"tenant": "t1"} for c in rows)
    assert rows[1].parent_span_id == rows[0].span_id and rows[5].parent_span_id is None


def test_contexts_nest_and_end(calls: Calls) -> None:
    tool = tt.trace_tool(lambda: 1)
    with tt.context(conversation_id="a", x=1):
        with tt.context(agent_name="b", y=2):
            tool()
        tool()
    tool()
    a, b, c = calls()
    assert (a.conversation_id, a.agent, a.attributes) == ("a", "b", '{"x":1,"y":2}')
    assert (b.conversation_id, b.agent, b.attributes) == ("a", None, '{"x":1}')
    assert (c.conversation_id, c.agent, c.attributes) == (None, None, None)


def test_what_the_surroundings_said_is_kept_as_it_was(calls: Calls) -> None:
    tags = ["a"]
    with tt.context(tags=tags):
        tt.trace_tool(lambda: None)()
        tags.append("b")
        tt.trace_tool(lambda: None)()
        tags.append("c")
    assert [c.attributes for c in calls()] == ['{"tags":["a"]}', '{"tags":["a","b"]}']


def test_ids_that_are_no_text_are_recorded_as_text(calls: Calls) -> None:
    import uuid

    name = uuid.uuid4()
    with tt.context(call_id=name, conversation_id=5, agent_name=6):  # type: ignore[arg-type]
        tt.trace_tool(version=2.5)(lambda: None)()  # type: ignore[call-overload]
    tt.TraceLogger().record("t", 1, call_id=7)  # type: ignore[arg-type]
    a, b = calls()
    assert (a.call_id, a.conversation_id, a.agent, a.tool_version, b.call_id) == (str(name), "5", "6", "2.5", "7")


# TraceLogger


def test_a_block_of_the_logger(calls: Calls) -> None:
    log = tt.TraceLogger(version="2", tool_type="extension")
    with log.call("s", {"q": 1}, call_id="c7") as call:
        assert call.span_id
        tt.trace_tool(name="inside")(lambda: 1)()
        call.finish(R.success("hey"))
    with pytest.raises(ZeroDivisionError), log.call("s", {"q": 1}, call_id="c7"):
        _ = 1 / 0
    with log.call("s", {"q": 1}, call_id="c7"):
        pass
    with log.call("s", call_id="c7", attempt=9) as call:
        call.finish(TimeoutError("caught"))
    ok, inside, failed, unsaid, caught = calls()
    assert (ok.tool, ok.tool_version, ok.tool_type, ok.call_id, ok.attempt) == ("s", "2", "extension", "c7", 1)
    assert (ok.status, ok.text, ok.arguments) == ("success", "hey", '{"q":1}')
    assert inside.parent_span_id == ok.span_id
    assert (failed.attempt, failed.status, failed.ending) == (2, "error", "raised")
    assert (unsaid.attempt, unsaid.status, unsaid.ending, unsaid.rule) == (3, None, "returned", None)
    assert (caught.attempt, caught.status, caught.code) == (9, "error", "TIMEOUT")


def test_an_asynchronous_block_of_the_logger(calls: Calls) -> None:
    log = tt.TraceLogger()

    async def one_call(n: int) -> None:
        async with log.call("s", {"n": n}) as call:
            await asyncio.sleep(0.001)
            tt.trace_tool(name="inside")(lambda: n)()
            call.finish(n)

    async def main() -> None:
        await asyncio.gather(*map(one_call, range(10)))
        task = asyncio.create_task(one_call(99))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())
    rows = calls()
    outer = {c.span_id: json.loads(c.arguments or "")["n"] for c in rows if c.tool == "s"}
    inner = [c for c in rows if c.tool == "inside"]
    assert len(outer) == 11 and len(inner) == 10
    assert all(outer[c.parent_span_id or ""] == json.loads(c.result or "") for c in inner)
    assert [c.ending for c in rows if c.ending != "returned"] == ["cancelled"]


def test_a_call_recorded_after_the_fact(calls: Calls) -> None:
    log = tt.TraceLogger()
    first = log.record("s", ValueError("bad"), call_id="c", arguments={"q": 1}, duration_ms=12.5)
    second = log.record("s", {"x": 1}, call_id="c")
    rows = {c.span_id: c for c in calls()}
    a, b = rows[first or ""], rows[second or ""]
    assert (a.duration_ms, a.attempt, a.status, a.code, a.arguments) == (12.5, 1, "error", "INVALID_PARAM", '{"q":1}')
    assert (b.duration_ms, b.attempt, b.status, b.result) == (None, 2, "success", '{"x":1}')


# every kind of callable


class Service:
    """A service."""

    def method(self, q: str) -> str:
        """M."""
        return q

    async def amethod(self, q: str) -> str:
        return q

    traced = tt.trace_tool(method)
    traced_async = tt.trace_tool(amethod)

    @tt.trace_tool
    @classmethod
    def outer_class(cls, q: str) -> str:
        return cls.__name__ + q

    @classmethod
    @tt.trace_tool
    def inner_class(cls, q: str) -> str:
        return cls.__name__ + q

    @tt.trace_tool(name="renamed")
    @staticmethod
    def outer_static(q: str) -> str:
        return q

    @staticmethod
    @tt.trace_tool
    def inner_static(q: str) -> str:
        return q

    @tt.trace_tool
    def stream(self, q: str) -> Any:
        yield q

    def __call__(self, q: str) -> str:
        """Call it."""
        return q


class AsyncCallable:
    async def __call__(self, q: str) -> str:
        return q


class Child(Service):
    pass


def hides(function: Any) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


async def afunc(q: str, k: int = 0) -> str:
    await asyncio.sleep(0)
    return q


def func(q: str, k: int = 0) -> str:
    """First
    line.

    Second."""
    return q


async def agen(q: str) -> Any:
    yield q


def finish(value: Any) -> Any:
    if hasattr(value, "__next__"):
        return next(iter(list(value)))
    if hasattr(value, "__anext__"):

        async def drain() -> Any:
            return [x async for x in value][0]

        return asyncio.run(drain())
    return asyncio.run(value) if hasattr(value, "__await__") else value


@pytest.mark.parametrize(
    ("tool", "name", "answer"),
    [
        (tt.trace_tool(func), "func", "Q"),
        (tt.trace_tool(afunc), "afunc", "Q"),
        (tt.trace_tool(agen), "agen", "Q"),
        (Service().traced, "method", "Q"),
        (Service().traced_async, "amethod", "Q"),
        (tt.trace_tool(Service().method), "method", "Q"),
        (Service.outer_class, "outer_class", "ServiceQ"),
        (Child().outer_class, "outer_class", "ChildQ"),
        (Child.inner_class, "inner_class", "ChildQ"),
        (Service.outer_static, "renamed", "Q"),
        (Service().inner_static, "inner_static", "Q"),
        (Service().stream, "stream", "Q"),
        (tt.trace_tool(Service()), "Service", "Q"),
        (tt.trace_tool(AsyncCallable()), "AsyncCallable", "Q"),
        (tt.trace_tool(functools.partial(func, k=2)), "func", "Q"),
        (tt.trace_tool(functools.partial(afunc, k=2)), "afunc", "Q"),
        (functools.partial(tt.trace_tool(func), k=2), "func", "Q"),
        (tt.trace_tool(functools.lru_cache(func)), "func", "Q"),
        (functools.lru_cache(tt.trace_tool(func)), "func", "Q"),
        (tt.trace_tool(name="hidden")(hides(func)), "hidden", "Q"),
        (tt.trace_tool(name="hidden")(hides(afunc)), "hidden", "Q"),
        (tt.trace_tool(name="hidden")(hides(agen)), "hidden", "Q"),
        (hides(tt.trace_tool(agen)), "agen", "Q"),
    ],
)
def test_kinds(calls: Calls, tool: Any, name: str, answer: str) -> None:
    assert finish(tool("Q")) == answer
    call = one(calls)
    assert (call.tool, call.status) == (name, "success")
    arguments = json.loads(call.arguments or "{}")
    assert "self" not in arguments and "cls" not in arguments
    assert "Q" in str(arguments)
    assert answer in str(call.result)


def test_a_context_manager_in_either_order(calls: Calls) -> None:
    def body(q: str) -> Any:
        yield q

    with contextmanager(tt.trace_tool(name="inner")(body))("x") as x:
        assert x == "x"
    with tt.trace_tool(name="outer")(contextmanager(body))("x") as x:
        assert x == "x"
    assert [(c.tool, c.status) for c in calls()] == [("inner", "success"), ("outer", "success")]


def test_arguments_have_the_names_of_the_signature(calls: Calls) -> None:
    @tt.trace_tool
    def tool(a: int, /, b: int, *rest: int, c: int = 3, **more: int) -> None: ...

    tool(1, 2, 3, 4, c=5, d=6)
    tool(1, b=2)
    assert [json.loads(c.arguments or "") for c in calls()] == [
        {"a": 1, "b": 2, "rest": [3, 4], "c": 5, "d": 6},
        {"a": 1, "b": 2},
    ]


def test_the_description_is_the_first_paragraph(calls: Calls) -> None:
    tt.trace_tool(func)("x")
    tt.trace_tool(Service())("x")
    assert [c.tool_description for c in calls()] == ["First line.", "Call it."]


def test_what_has_no_name_of_its_own_is_named(calls: Calls) -> None:
    assert tt.trace_tool(functools.partial(func, k=1)).__name__ == "func"
    assert tt.trace_tool(AsyncCallable()).__name__ == "AsyncCallable"


def test_what_a_cache_offers_is_still_there() -> None:
    tool = tt.trace_tool(functools.lru_cache(func))
    tool("a")
    tool("a")
    assert tool.cache_info().hits == 1  # type: ignore[attr-defined]
