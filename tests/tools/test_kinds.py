"""What may be registered, and what becomes of what it returns."""

from __future__ import annotations

import asyncio
import functools
import types
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError
from tooltrace.tools import ToolRegistry, tool

Calls = Callable[[], list[ToolCall]]
R = tt.ToolResponse


def run(registry: ToolRegistry, how: str, *args: Any) -> tt.ToolResponse:
    return registry.execute(*args) if how == "sync" else asyncio.run(registry.aexecute(*args))


both = pytest.mark.parametrize("how", ["sync", "async"])


def double(n: int) -> int:
    """Twice ``n``."""
    return 2 * n


async def adouble(n: int) -> int:
    return 2 * n


class Kit:
    """A toolkit."""

    def __init__(self, factor: int = 2) -> None:
        self.factor = factor

    def times(self, n: int) -> int:
        """Times the factor."""
        return n * self.factor

    async def atimes(self, n: int) -> int:
        return n * self.factor

    @classmethod
    def kind(cls) -> str:
        return cls.__name__

    @staticmethod
    def plus(n: int) -> int:
        return n + 1

    @property
    def dangerous(self) -> Any:
        raise AssertionError("a property is no tool, and is not run")

    def _private(self) -> None: ...


class Callable_:
    def __call__(self, n: int) -> int:
        return 2 * n

    def helper(self) -> None: ...


class AsyncCallable:
    async def __call__(self, n: int) -> int:
        return 2 * n


def hidden_coroutine(n: int) -> Any:
    return adouble(n)


def positional(n: int, /, by: int = 2, *, plus: int = 0) -> int:
    return n * by + plus


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
    assert run(registry, how, "it", {"n": 4}).data == 8
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
def test_what_is_traced_already_is_recorded_once_by_its_own_spec(calls: Calls, how: str) -> None:
    registry = ToolRegistry([TracedKit()])
    names = {"t_method", "t_amethod", "t_class", "t_static", "t_stream", "twice"}
    assert set(registry.names) == names
    for name in sorted(names):
        assert run(registry, how, name).data in (3, [0, 1, 2])
    found = calls()
    assert [call.tool for call in found] == sorted(names)
    assert {call.tool_version for call in found if call.tool == "t_method"} == {"7"}


def test_a_traced_function_registered_leaves_the_function_traced(calls: Calls) -> None:
    traced = tt.trace_tool(double)
    registry = ToolRegistry([traced, functools.partial(tt.trace_tool(name="p")(positional), by=3)])
    assert registry.execute("double", {"n": 1}).data == 2
    assert registry.execute("p", {"n": 1}).data == 3
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
        assert (response.text, response.data) == (text, data)
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


# toolkits


def test_an_object_gives_its_public_methods(store: Any) -> None:
    registry = ToolRegistry([Kit(5)])
    assert registry.names == ["times", "atimes", "kind", "plus"]
    assert registry.execute("times", {"n": 2}).data == 10
    assert registry.execute("atimes", {"n": 2}).data == 10
    assert registry.execute("kind").text == "Kit"
    assert registry.execute("plus", {"n": 2}).data == 3


def test_a_class_stands_for_an_object_of_it(store: Any) -> None:
    class Needs:
        def __init__(self, key: str) -> None: ...

        def tool(self) -> None: ...

    registry = ToolRegistry()
    assert registry.register(Kit) is Kit
    assert registry.execute("times", {"n": 2}).data == 4
    with pytest.raises(ConfigError, match="register an instance"):
        registry.register(Needs)


def test_only_the_marked_where_any_is_marked(store: Any) -> None:
    class Marked:
        @tool
        def one(self) -> int:
            return 1

        @tool(name="zwei", cache=True, description="Two.")
        async def two(self) -> int:
            return 2

        @staticmethod
        @tool
        def three() -> int:
            return 3

        @tool
        @classmethod
        def four(cls) -> int:
            return 4

        def none(self) -> None: ...

    registry = ToolRegistry([Marked()])
    assert registry.names == ["one", "zwei", "three", "four"]
    assert [registry.execute(name).data for name in registry.names] == [1, 2, 3, 4]
    assert registry.execute("zwei").meta.cached is True
    assert registry.schemas("plain")[1]["description"] == "Two."
    assert asyncio.run(Marked().two()) == 2, "marked, it does what it did"


def test_what_a_toolkit_lists() -> None:
    class Listing:
        def __init__(self) -> None:
            self.tools = ["a", self.b, double]

        def a(self) -> None: ...
        def b(self) -> None: ...
        def c(self) -> None: ...

    module = types.ModuleType("kit")
    module.double, module.other, module.__all__ = double, adouble, ["double"]
    assert ToolRegistry([Listing()]).names == ["a", "b", "double"]
    assert ToolRegistry([module]).names == ["double"]


def test_inherited_methods_are_tools_but_for_those_of_foreign_bases() -> None:
    class Base(BaseModel):
        n: int = 1

        def first(self) -> None: ...

    class Derived(Base):
        def second(self) -> None: ...

        def first(self) -> None: ...

    assert ToolRegistry([Derived()]).names == ["first", "second"]


class Running:
    """As HelloAgents has them."""

    name = "calc"
    description = "Computes."

    def __init__(self, parameters: Any = None) -> None:
        self._parameters = parameters

    def run(self, parameters: dict[str, Any]) -> Any:
        return f"got {parameters}"


class Declared(Running):
    def get_parameters(self) -> Any:
        return self._parameters


def declared(name: str, type: str, description: str = "", required: bool = True, default: Any = None) -> Any:
    return types.SimpleNamespace(name=name, type=type, description=description, required=required, default=default)


@both
def test_an_object_with_run(calls: Calls, how: str) -> None:
    object_ = Declared(
        [
            declared("a-b", "string", "first"),
            declared("n", "integer", required=False, default=5),
            declared("o", "number", required=False),
            declared("any", "weird", required=False),
        ]
    )
    registry = ToolRegistry([object_])
    (schema,) = registry.schemas("plain")
    assert (schema["name"], schema["description"]) == ("calc", "Computes.")
    assert schema["parameters"] == {
        "type": "object",
        "properties": {
            "a-b": {"type": "string", "description": "first"},
            "n": {"type": "integer", "default": 5},
            "o": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
            "any": {"anyOf": [{}, {"type": "null"}], "default": None},
        },
        "required": ["a-b"],
        "additionalProperties": False,
    }
    assert run(registry, how, "calc", {"a-b": "x", "o": "1.5"}).text == "got {'a-b': 'x', 'o': 1.5}"
    assert run(registry, how, "calc", {"n": 1}).code == "INVALID_PARAM"
    assert [call.tool for call in calls()] == ["calc", "calc"]


@both
def test_an_object_with_run_and_no_declared_parameters_takes_any(store: Any, how: str) -> None:
    class Coroutine(Running):
        name = "later"
        version = "3"

        async def run(self, parameters: dict[str, Any]) -> Any:
            return R.error("INVALID_PARAM", "no input") if not parameters else "fine"

    registry = ToolRegistry([Running(), Coroutine()])
    assert run(registry, how, "calc", '{"input": "1+1"}').text == "got {'input': '1+1'}"
    assert run(registry, how, "later", None).code == "INVALID_PARAM"
    assert run(registry, how, "later", {"x": 1}).meta.tool_version == "3"


def test_run_with_other_parameters_is_a_method_like_any_other(store: Any) -> None:
    class Shell:
        name = "shell"
        description = "Runs."

        def run(self, command: str, timeout: int) -> str:
            return f"{command} {timeout}"

    assert ToolRegistry([Shell()]).execute("run", {"command": "ls", "timeout": 5}).text == "ls 5"


class Carrying:
    """As Agno's ``Function``."""

    def __init__(self, entrypoint: Any, **options: Any) -> None:
        self.name, self.description, self.entrypoint = entrypoint.__name__, None, entrypoint
        vars(self).update(options)

    def to_dict(self) -> dict[str, Any]:
        raise AssertionError("no tool")


def test_an_object_that_carries_a_function(store: Any) -> None:
    bound = Carrying(double, description="Carried.", stop_after_tool_call=True, requires_confirmation=None)
    asking = Carrying(positional, requires_confirmation=True)
    giving = Carrying(adouble, requires_user_input=True, user_input_fields=["n"])

    class ToolkitWithFunctions:
        functions = {"double": bound, "positional": asking}
        async_functions = {"adouble": giving}

        def register(self) -> None: ...

    registry = ToolRegistry([ToolkitWithFunctions()])
    assert set(registry.names) == {"double", "positional", "adouble"}
    response = registry.execute("double", {"n": 2})
    assert (response.data, response.next_action) == (4, "stop")
    assert {each["name"]: each["description"] for each in registry.schemas("plain")}["double"] == "Carried."
    assert registry.execute("positional", {"n": 2}).status == "partial", "a person is asked first"
    assert registry.execute("adouble", {}).status == "partial"
    assert ToolRegistry([bound]).names == ["double"]


def test_a_class_with_run(store: Any) -> None:
    assert ToolRegistry([Running]).execute("calc", {"x": 1}).text == "got {'x': 1}"


def test_a_traced_run_is_recorded_once(calls: Calls) -> None:
    class Traced(Running):
        @tt.trace_tool(version="4")
        def run(self, parameters: dict[str, Any]) -> Any:
            return f"{self.name} {parameters}"

    response = ToolRegistry([Traced()]).execute("calc", {"x": 1})
    assert response.text == "calc {'x': 1}"
    assert [(call.tool, call.tool_version) for call in calls()] == [("calc", "4")]


def test_what_cannot_be_read_is_refused_at_registration() -> None:
    class Broken(Running):
        def get_parameters(self) -> Any:
            raise RuntimeError("no")

    for wrong, words in [
        (5, "not a tool"),
        (None, "not a tool"),
        (Broken(), "get_parameters"),
        (object(), "not a tool"),
        (lambda x: x, "name="),
        (Declared([declared("", "string"), declared("", "string")]), ""),
    ]:
        registry = ToolRegistry()
        if words:
            with pytest.raises(ConfigError, match=words):
                registry.register(wrong)
            assert registry.names == []


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


def test_a_name_is_given_once() -> None:
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
