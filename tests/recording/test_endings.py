"""How an attempt ended, and which attempt of which call it was."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import tooltrace as tt
from tests.recording.shared_endings import Calls, R, one, raises


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
        (raises(KeyboardInterrupt()), "cancelled", None, "CANCELLED"),
        (raises(SystemExit(3)), "cancelled", None, "CANCELLED"),
        (raises(GeneratorExit()), "abandoned", None, None),
    ],
)
def test_an_attempt_is_one_record_however_it_ends(
    calls: Calls, tool: Any, ending: str, status: str | None, code: str | None
) -> None:
    try:
        tt.trace_tool(tool)()
    except BaseException:  # noqa: BLE001, S110
        pass
    call = one(calls)
    assert (call.ending, call.status, call.code) == (ending, status, code)
    assert call.duration_ms is not None and call.duration_ms >= 0


def plain(city: str) -> str:
    return plain() if city == "inner" else city  # type: ignore[call-arg]


async def coroutine(city: str) -> str:
    return plain(city)


def stream_of(city: str) -> Any:
    yield plain(city)


async def async_stream_of(city: str) -> Any:
    yield plain(city)


@pytest.mark.parametrize("breaker", [None, tt.CircuitBreaker()])
@pytest.mark.parametrize("tool", [plain, coroutine, stream_of, async_stream_of])
def test_a_call_whose_arguments_do_not_fit_is_refused(
    calls: Calls, tool: Any, breaker: tt.CircuitBreaker | None
) -> None:
    async def run(*args: Any, **named: Any) -> Any:
        made = tt.trace_tool(breaker=breaker)(tool)(*args, **named)
        if hasattr(made, "__aiter__"):
            return [each async for each in made]
        return await made if inspect.iscoroutine(made) else made if isinstance(made, str) else list(made)

    for args, named in (((), {}), (("a", "b"), {}), ((), {"town": "a"}), (("inner",), {})):
        with pytest.raises(TypeError):
            asyncio.run(run(*args, **named))
    found = [(call.ending, call.status, call.code, call.duration_ms is None) for call in calls()]
    assert found == [("refused", None, "INVALID_PARAM", True)] * 3 + [("raised", "error", "INVALID_PARAM", False)]


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


def test_an_unstarted_stream_is_an_attempt_only_if_the_tool_ran(calls: Calls) -> None:
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


@pytest.mark.parametrize(
    ("items", "text", "stored"),
    [
        (["a", "\ud800b"], "a\ufffdb", ["a\ufffdb"]),
        (["a", "\ud800b", {"n": [1]}, None, 2], None, ["a", "\ufffdb", {"n": [1]}, None, 2]),
        ([1, 2.5, True], None, [1, 2.5, True]),
    ],
)
def test_the_items_of_a_stream_are_stored_whatever_they_are(
    items: list[Any], text: str | None, stored: list[Any], calls: Calls
) -> None:
    @tt.trace_tool
    def tool() -> Any:
        yield from items

    assert list(tool()) == items
    call = one(calls)
    assert (call.text, json.loads(call.result or "")) == (text, stored)


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


def test_a_stream_that_a_coroutine_returns_is_followed_to_its_end(calls: Calls) -> None:
    async def items() -> Any:
        yield "a"
        raise ValueError("broken off")

    @tt.trace_tool
    async def tool() -> Any:
        return items()

    async def drive() -> None:
        stream = await tool()
        assert await anext(stream) == "a"
        with pytest.raises(ValueError, match="broken off"):
            await anext(stream)

    asyncio.run(drive())
    call = one(calls)
    assert (call.status, call.ending, call.error_message, call.stats) == (
        "error",
        "raised",
        "broken off",
        '{"items":1}',
    )


BAD = {"ok": False, "error": "no such city"}


@pytest.mark.parametrize("capture", ["full", "metadata"])
@pytest.mark.parametrize(
    ("items", "value", "stated"),
    [
        ([], BAD, ("error", "no such city")),
        ([{"progress": 1}, BAD], None, ("error", "no such city")),
        (["a", "b"], BAD, ("error", "no such city")),
        ([{"progress": 1}, "Error: boom"], None, ("error", "boom")),
        (["Error: ", "boom"], None, ("error", "boom")),
        ([{"progress": 1}, ValueError("boom")], None, ("error", "boom")),
        ([BAD, {"ok": True}], R.error("NOT_FOUND", "nothing"), ("error", "nothing")),
        ([BAD], R.success("cached"), ("error", "no such city")),
        (["x" * 70_000, {"n": 1}, BAD], None, ("error", "no such city")),
        ([BAD, {"ok": True}], {"ok": True}, ("success", None)),
        ([BAD, {"n": 1}], None, ("success", None)),
    ],
)
def test_what_ends_a_stream_is_read_like_any_result(
    items: list[Any], value: Any, stated: Any, capture: Any, calls: Calls
) -> None:
    @tt.trace_tool(capture=capture)
    def tool() -> Any:
        yield from items
        return value

    @tt.trace_tool(capture=capture)
    async def atool() -> Any:
        for item in items:
            yield item

    async def drive() -> None:
        async for _ in atool():
            pass

    list(tool())
    if value is None:
        asyncio.run(drive())
    for call in calls():
        assert (call.status, call.error_message) == stated
        assert (call.result is None) == (capture == "metadata" or isinstance(value, R))
        assert capture == "full" or call.text is call.full_sizes is None


def test_a_rule_of_a_user_reads_what_ends_a_stream(calls: Calls) -> None:
    @tt.rule("gone")
    def gone(result: Any) -> tt.ToolResponse | None:
        return R.error("GONE", "gone") if result == {"left": 0} else None

    @tt.trace_tool(rules=[gone, *tt.RULES])
    def tool() -> Any:
        yield {"left": 1}
        yield {"left": 0}

    list(tool())
    call = one(calls)
    assert (call.status, call.code, json.loads(call.result or "")) == ("error", "GONE", [{"left": 1}, {"left": 0}])


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

    with tt.context(call_id="c1", conversation_id="conv", agent="bob", attributes={"tenant": "t1"}):
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
    with tt.context(conversation_id="a", attributes={"x": 1}):
        with tt.context(agent="b", attributes={"y": 2}):
            tool()
        tool()
    tool()
    a, b, c = calls()
    assert (a.conversation_id, a.agent, a.attributes) == ("a", "b", '{"x":1,"y":2}')
    assert (b.conversation_id, b.agent, b.attributes) == ("a", None, '{"x":1}')
    assert (c.conversation_id, c.agent, c.attributes) == (None, None, None)


def test_context_attributes_are_recorded_as_set(calls: Calls) -> None:
    tags = ["a"]
    with tt.context(attributes={"tags": tags}):
        tt.trace_tool(lambda: None)()
        tags.append("b")
        tt.trace_tool(lambda: None)()
        tags.append("c")
    assert [c.attributes for c in calls()] == ['{"tags":["a"]}', '{"tags":["a","b"]}']


def test_ids_of_other_types_are_recorded_as_text(calls: Calls) -> None:
    import uuid

    name = uuid.uuid4()
    with tt.context(call_id=name, conversation_id=5, agent=6):  # type: ignore[arg-type]
        tt.trace_tool(version=2.5)(lambda: None)()  # type: ignore[call-overload]
    tt.TraceLogger().record("t", 1, call_id=7)  # type: ignore[arg-type]
    a, b = calls()
    assert (a.call_id, a.conversation_id, a.agent, a.tool_version, b.call_id) == (str(name), "5", "6", "2.5", "7")


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
    assert (failed.attempt, failed.status, failed.ending) == (1, "error", "raised")
    assert (unsaid.attempt, unsaid.status, unsaid.ending, unsaid.rule) == (2, None, "returned", None)
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
