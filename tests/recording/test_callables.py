"""Every kind of callable can be traced."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

import tooltrace as tt
from tests.recording.shared_endings import Calls, one


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


def test_a_keyword_does_not_replace_the_positional_argument_of_its_name(calls: Calls) -> None:
    @tt.trace_tool
    def tool(city: str, /, days: int = 1, *rest: int, **options: Any) -> None:
        """Do nothing."""

    tool("Oslo", city="Rome", unit="C")
    tool("Oslo", 2, 3, rest=4)
    tool("Oslo", unit="C")
    assert [json.loads(call.arguments or "") for call in calls()] == [
        {"city": "Oslo", "unit": "C", "options": {"city": "Rome"}},
        {"city": "Oslo", "days": 2, "rest": [3], "options": {"rest": 4}},
        {"city": "Oslo", "unit": "C"},
    ]


def test_a_thread_pool_has_the_context_where_it_is_passed(calls: Calls) -> None:
    @tt.trace_tool
    def tool(city: str) -> str:
        together.wait()
        return city

    together = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool, tt.context(conversation_id="c", agent="a"):
        assert list(pool.map(tt.copy_context(tool), ["Oslo", "Rome"])) == ["Oslo", "Rome"]
    assert {(call.tool, call.conversation_id, call.agent) for call in calls()} == {("tool", "c", "a")}
    with pytest.raises(tt.TooltraceError, match="needs a function"):
        tt.copy_context("Oslo")  # type: ignore[arg-type]


def test_the_description_is_the_first_paragraph(calls: Calls) -> None:
    tt.trace_tool(func)("x")
    tt.trace_tool(Service())("x")
    assert [c.tool_description for c in calls()] == ["First line.", "Call it."]


def test_callables_without_a_name_get_one(calls: Calls) -> None:
    assert tt.trace_tool(functools.partial(func, k=1)).__name__ == "func"
    assert tt.trace_tool(AsyncCallable()).__name__ == "AsyncCallable"


def test_the_methods_of_a_cache_stay_available() -> None:
    tool = tt.trace_tool(functools.lru_cache(func))
    tool("a")
    tool("a")
    assert tool.cache_info().hits == 1  # type: ignore[attr-defined]
