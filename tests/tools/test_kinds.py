"""Kinds of objects that may be registered, and how their results are read."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import tooltrace as tt
from tests.tools.shared import Calls, Kit, R, adouble, both, double, positional, run
from tooltrace.errors import ConfigError
from tooltrace.tools import ToolRegistry, tool


class Callable_:
    def __call__(self, n: int) -> int:
        return 2 * n

    def helper(self) -> None: ...


class AsyncCallable:
    async def __call__(self, n: int) -> int:
        return 2 * n


def hidden_coroutine(n: int) -> Any:
    return adouble(n)


KINDS: dict[str, Any] = {
    "function": double,
    "coroutine": adouble,
    "lambda": lambda n: 2 * n,
    "method": Kit(2).times,
    "async method": Kit(2).atimes,
    "partial": functools.partial(positional, by=2),
    "partial of a method": functools.partial(Kit(2).times),
    "callable object": Callable_(),
    "async callable object": AsyncCallable(),
    "hidden coroutine": hidden_coroutine,
    "positional only": positional,
    "cached": functools.lru_cache(double),
}


@both
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_callable(calls: Calls, how: str, kind: str, traced: bool) -> None:
    function = tt.trace_tool(name="traced")(KINDS[kind]) if traced else KINDS[kind]
    registry = ToolRegistry()
    registry.register(function, name="it")
    assert run(registry, how, "it", {"n": 4}).payload == 8
    assert run(registry, how, "it", {"n": "x"}).code in ("INVALID_PARAM", None if kind == "lambda" else "INVALID_PARAM")
    first, _ = calls()
    assert (first.tool, first.status, first.ending) == ("it", "success", "returned")


class TracedKit:
    def __init__(self) -> None:
        self.n = 3

    @tt.trace_tool(name="t_method", version="7")
    def method(self) -> int:
        return self.n

    @tt.trace_tool(name="t_amethod")
    async def amethod(self) -> int:
        return self.n

    @classmethod
    @tt.trace_tool(name="t_class")
    def klass(cls) -> int:
        return 3

    @tt.trace_tool(name="t_static")
    @staticmethod
    def static() -> int:
        return 3

    @tt.trace_tool(name="t_stream")
    def stream(self) -> Iterator[int]:
        yield from range(self.n)

    @tt.trace_tool
    @tt.trace_tool(name="inner")
    def twice(self) -> int:
        return self.n


@both
def test_a_traced_function_is_recorded_once_with_its_own_spec(calls: Calls, how: str) -> None:
    registry = ToolRegistry([TracedKit()])
    names = {"t_method", "t_amethod", "t_class", "t_static", "t_stream", "twice"}
    assert set(registry.names) == names
    for name in sorted(names):
        assert run(registry, how, name).payload in (3, [0, 1, 2])
    found = calls()
    assert [call.tool for call in found] == sorted(names)
    assert {call.tool_version for call in found if call.tool == "t_method"} == {"7"}


def test_a_registered_traced_function_stays_traced(calls: Calls) -> None:
    traced = tt.trace_tool(double)
    registry = ToolRegistry([traced, functools.partial(tt.trace_tool(name="p")(positional), by=3)])
    assert registry.execute("double", {"n": 1}).payload == 2
    assert registry.execute("p", {"n": 1}).payload == 3
    assert traced(5) == 10
    assert [call.tool for call in calls()] == ["double", "p", "double"]


# streams


@both
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("hidden", [False, True])
def test_a_stream_is_consumed(calls: Calls, how: str, asynchronous: bool, hidden: bool) -> None:
    items: list[Any] = []

    def stream() -> Iterator[Any]:
        yield from items

    async def astream() -> AsyncIterator[Any]:
        for item in items:
            yield item

    function: Any = astream if asynchronous else stream
    registry = ToolRegistry()
    registry.register((lambda: function()) if hidden else function, name="stream")
    for given, text, data in [
        (["a", "b"], "ab", "ab"),
        ([1, "b"], "", [1, "b"]),
        (["a", R.partial("last", reason="r")], "last", None),
    ]:
        items[:] = given
        response = run(registry, how, "stream")
        assert (response.text, response.payload) == (text, data)
    assert [call.status for call in calls()] == ["success", "success", "partial"]


@both
def test_a_stream_that_breaks_off(calls: Calls, how: str) -> None:
    async def astream() -> AsyncIterator[int]:
        yield 1
        raise ConnectionError("gone")

    def stream() -> Iterator[int]:
        yield 1
        raise ConnectionError("gone")

    def answer() -> Any:
        yield "a"
        return R.success("the value it returns")

    registry = ToolRegistry([astream, stream, answer])
    for name in ("astream", "stream"):
        assert run(registry, how, name).code == "NETWORK_ERROR"
    assert run(registry, how, "answer").text == "the value it returns"
    assert [call.ending for call in calls()] == ["raised", "raised", "returned"]


# register


def test_as_a_decorator(store: Any) -> None:
    registry = ToolRegistry()

    @registry.register
    def one(n: int) -> int:
        return n

    @registry.register(name="zwei", version="2")
    def two(n: int) -> int:
        return n

    assert one(5) == two(5) == 5
    assert registry.names == ["one", "zwei"]
    assert "zwei" in registry
    assert "two" not in registry
    assert len(registry) == 2


def test_a_name_is_unique() -> None:
    registry = ToolRegistry([double])
    with pytest.raises(ConfigError, match="already registered"):
        registry.register(double)
    with pytest.raises(ConfigError, match="already registered"):
        registry.register(Mixed)
    assert registry.names == ["double"], "a toolkit is taken whole, or not at all"
    registry.register(adouble, name="double", replace=True)
    assert registry.names == ["double"]


class Mixed:
    def fine(self) -> None: ...

    def double(self) -> None: ...


@pytest.mark.parametrize(
    "options",
    [
        {"cach": True},
        {"cache": -1},
        {"cache": float("nan")},
        {"cache": "long"},
        {"call_limit": 0},
        {"call_limit": True},
        {"call_limit": 1.5},
        {"name": " "},
        {"name": ""},
        {"hidden": [5]},
        {"capture": "some"},
        {"retryable": "TimeoutError"},
    ],
)
def test_options_that_cannot_be_meant(options: Any) -> None:
    registry = ToolRegistry()
    with pytest.raises(ConfigError):
        registry.register(double, **options)
    assert registry.names == []


def test_wrong_registries_and_marks() -> None:
    for wrong in ({"call_limit": 0}, {"cache_size": 0}, {"hooks": [5]}):
        with pytest.raises(ConfigError):
            ToolRegistry(**wrong)
    with pytest.raises(ConfigError, match="must decorate a function"):
        tool(Kit)
    with pytest.raises(ConfigError, match="applies to one tool"):
        ToolRegistry().register(Kit, name="x")
