"""Results whose work goes on after the tool has returned them: followed to their end, or recorded as handed over."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import csv
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall

Calls = Callable[[], list[ToolCall]]
Facts = tuple[str | None, str | None, str | None]


def facts(call: ToolCall) -> Facts:
    return call.ending, call.status, call.result


def divide(number: int) -> float:
    return 6 / number


@pytest.mark.parametrize(
    ("make", "items", "expected"),
    [
        (lambda: map(divide, [1, 2]), [6, 3], ("returned", "success", "[6.0,3.0]")),
        (lambda: filter(divide, [1, 2]), [1, 2], ("returned", "success", "[1,2]")),
        (lambda: islice(iter([1, 2, 3]), 2), [1, 2], ("returned", "success", "[1,2]")),
        (lambda: chain([1], ["Error: no answer"]), [1, "Error: no answer"], ("returned", "error", '[1,"Error: no answer"]')),
        (lambda: map(divide, [1, 0, 2]), [6, ZeroDivisionError, 3], ("raised", "error", "[6.0]")),
    ],
    ids=["map", "filter", "islice", "chain", "goes_on_after_an_exception"],
)  # fmt: skip
@pytest.mark.parametrize("how", ["function", "coroutine"])
def test_an_iterator_is_the_same_to_its_consumer_and_read_to_its_end(
    calls: Calls, how: str, make: Callable[[], Iterator[Any]], items: list[Any], expected: Facts
) -> None:
    if how == "function":
        given = tt.trace_tool(name="t")(make)()
    else:

        async def tool() -> Any:
            return make()

        given = asyncio.run(tt.trace_tool(name="t")(tool)())
    assert type(given) is type(make())
    got: list[Any] = []
    while True:
        try:
            got.append(next(given))
        except StopIteration:
            break
        except ZeroDivisionError as error:
            got.append(type(error))
    assert got == items
    assert next(given, "done") == "done"
    assert [facts(call) for call in calls()] == [expected]


def test_calls_inside_an_iterator_are_its_children_and_a_copy_goes_on_alone(calls: Calls) -> None:
    inner = tt.trace_tool(name="inner")(divide)
    given = tt.trace_tool(name="outer")(lambda: map(inner, [1, 2, 3]))()
    assert next(given) == 6
    assert list(copy.copy(given)) == [3, 2]
    assert list(given) == []
    outer = next(call for call in calls() if call.tool == "outer")
    assert outer.parent_span_id is None
    assert [call.parent_span_id for call in calls() if call.tool == "inner"][0] == outer.span_id


@pytest.mark.parametrize("started", [False, True])
def test_an_iterator_that_nobody_reads_to_its_end_is_abandoned(calls: Calls, started: bool) -> None:
    given = tt.trace_tool(name="t")(lambda: map(divide, [1, 2]))()
    if started:
        next(given)
    del given
    gc.collect()
    (call,) = calls()
    assert (call.ending, call.status, call.first_item_ms is not None) == ("abandoned", None, started)


class Stream:
    """What an SDK returns for an answer that is read in parts."""

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> int:
        raise StopAsyncIteration


class Pending:
    def __await__(self) -> Any:
        yield


@pytest.mark.parametrize(
    "make",
    [Stream, Pending, lambda: zip([1], [2], strict=True), lambda: csv.reader(["a"]), lambda: iter(int, 1)],
)
@pytest.mark.parametrize("how", ["function", "logger"])
def test_a_result_whose_end_nobody_sees_is_handed_over(calls: Calls, how: str, make: Callable[[], Any]) -> None:
    result = make()
    if how == "function":
        assert tt.trace_tool(name="t")(lambda: result)() is result
    else:
        tt.TraceLogger().record("t", result)
    (call,) = calls()
    assert (facts(call), call.duration_ms, call.rule) == (("handed_over", None, None), None, None)
    row = tt.query("failure_rate").select("attempts", "failures", "unreported").rows
    assert row == [(0, 0, 1)]


@pytest.mark.parametrize(
    "make", [lambda: iter([1]), lambda: reversed([1]), lambda: iter({}.items()), lambda: open(__file__)]
)
def test_items_that_exist_and_files_are_results(calls: Calls, make: Callable[[], Any]) -> None:
    with contextlib.ExitStack() as stack:
        result = make()
        if hasattr(result, "close"):
            stack.enter_context(result)
        assert tt.trace_tool(name="t")(lambda: result)() is result
    assert [facts(call)[:2] for call in calls()] == [("returned", "success")]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (lambda: 7, ("returned", "success", "7")),
        (lambda: {"ok": False, "error": "no"}, ("returned", "error", '{"ok":false,"error":"no"}')),
        (lambda: 1 / 0, ("raised", "error", None)),
        (None, ("cancelled", None, None)),
    ],
    ids=["result", "stated_failure", "exception", "cancelled"],
)
@pytest.mark.parametrize("how", ["task", "future", "thread", "done"])
def test_a_future_ends_the_attempt_when_it_ends(
    calls: Calls, how: str, end: Callable[[], Any] | None, expected: Facts
) -> None:
    go = threading.Event()

    def work() -> Any:
        go.wait()
        return None if end is None else end()

    async def wait() -> Any:
        await asyncio.to_thread(go.wait)
        return work()

    def finish(future: Any) -> None:
        try:
            future.set_result(work())
        except ZeroDivisionError as error:
            future.set_exception(error)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as pool:
            if how == "thread":
                blocked = pool.submit(go.wait)
                made: Any = pool.submit(work)
            elif how == "task":
                made = loop.create_task(wait())
            else:
                made = loop.create_future()
            if how == "done":
                go.set()
                made.cancel() if end is None else finish(made)
            future = tt.trace_tool(name="t")(lambda: made)()
            assert future is made
            if end is None:
                made.cancel()
            go.set()
            if how == "future" and end is not None:
                finish(made)
            if how == "thread":
                blocked.result()
        with contextlib.suppress(ZeroDivisionError, asyncio.CancelledError):
            await (asyncio.wrap_future(made) if how == "thread" else made)

    asyncio.run(main())
    assert [facts(call) for call in calls()] == [expected]


def test_a_future_that_is_dropped_before_its_end_is_handed_over(calls: Calls) -> None:
    tt.trace_tool(name="t")(lambda: Future())()
    gc.collect()
    assert [facts(call) for call in calls()] == [("handed_over", None, None)]


def test_an_exception_of_a_task_that_nobody_retrieves_is_still_reported(calls: Calls) -> None:
    reported: list[Any] = []

    async def fail() -> None:
        raise ValueError("unseen")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))
        task = tt.trace_tool(name="t")(lambda: loop.create_task(fail()))()
        await asyncio.wait([task])
        del task
        gc.collect()

    asyncio.run(main())
    assert [str(error) for error in reported] == ["unseen"]
    assert [call.ending for call in calls()] == ["raised"]
