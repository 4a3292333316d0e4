"""Objects, classes and toolkits whose methods are registered as tools."""

from __future__ import annotations

import asyncio
import types
from typing import Any

import pytest
from pydantic import BaseModel

import tooltrace as tt
from tests.tools.shared import Calls, Kit, R, adouble, both, double, positional, run
from tooltrace.errors import ConfigError
from tooltrace.tools import ToolRegistry, tool


def test_public_methods_of_an_object_are_tools(store: Any) -> None:
    registry = ToolRegistry([Kit(5)])
    assert registry.names == ["times", "atimes", "kind", "plus"]
    assert registry.execute("times", {"n": 2}).data == 10
    assert registry.execute("atimes", {"n": 2}).data == 10
    assert registry.execute("kind").text == "Kit"
    assert registry.execute("plus", {"n": 2}).data == 3


def test_a_class_is_registered_as_an_instance(store: Any) -> None:
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


def test_the_tools_that_a_toolkit_lists_are_registered() -> None:
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


def test_inherited_methods_are_tools_except_those_of_library_bases() -> None:
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
def test_an_object_with_run_and_no_declared_parameters_accepts_any(store: Any, how: str) -> None:
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


@pytest.mark.parametrize("seconds", [60, None])
def test_the_cache_of_a_carried_function_applies(store: Any, seconds: int | None) -> None:
    registry = ToolRegistry([Carrying(double, cache_results=True, cache_ttl=seconds)])
    assert [registry.execute("double", {"n": 2}).meta.cached for _ in range(2)] == [False, True]
    uncached = ToolRegistry([Carrying(double, cache_results=False, cache_ttl=seconds)])
    assert [uncached.execute("double", {"n": 2}).meta.cached for _ in range(2)] == [False, False]


def test_the_hooks_of_a_carried_function_are_named_because_they_do_not_run(caplog: pytest.LogCaptureFixture) -> None:
    ToolRegistry([Carrying(double)])
    assert not caplog.records
    ToolRegistry([Carrying(double, pre_hook=print, tool_hooks=[print])])
    assert "does not run tool_hooks and pre_hook of the tool 'double'" in caplog.text


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


def test_an_unreadable_signature_is_refused_at_registration() -> None:
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
