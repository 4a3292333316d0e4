"""The schema of a tool for a model, from its signature, annotations and docstring."""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Optional, TypedDict, Union

import jsonschema
import pytest
from pydantic import BaseModel, ConfigDict, Field

import tooltrace as tt
from tooltrace.errors import ConfigError
from tooltrace.tools import ToolRegistry

if TYPE_CHECKING:
    from somewhere import Unknown


def parameters(function: Any, **options: Any) -> dict[str, Any]:
    registry = ToolRegistry()
    registry.register(function, **options)
    (schema,) = registry.schemas("plain")
    jsonschema.Draft202012Validator.check_schema(schema["parameters"])
    return schema["parameters"]


def search(query: str, limit: int = 10) -> str:
    """Search the library.

    Use short queries.

    Args:
        query: what to look for
        limit (int): how many results,
            at most
    """
    return query * limit


PARAMETERS = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "what to look for"},
        "limit": {"type": "integer", "default": 10, "description": "how many results, at most"},
    },
    "required": ["query"],
    "additionalProperties": False,
}
DESCRIPTION = "Search the library.\n\nUse short queries."


def test_the_styles() -> None:
    registry = ToolRegistry([search])
    head = {"name": "search", "description": DESCRIPTION}
    assert registry.schemas() == [{"type": "function", "function": {**head, "parameters": PARAMETERS}}]
    assert registry.schemas("openai") == registry.schemas()
    assert registry.schemas(style="anthropic") == [{**head, "input_schema": PARAMETERS}]
    assert registry.schemas(style="plain") == [{**head, "parameters": PARAMETERS}]
    with pytest.raises(ConfigError, match="openai, anthropic, plain"):
        registry.schemas(style="gemini")


def test_a_schema_is_the_callers_own() -> None:
    registry = ToolRegistry([search])
    registry.schemas("plain")[0]["parameters"]["properties"].clear()
    assert registry.schemas("plain")[0]["parameters"] == PARAMETERS


def numpy_style(query, limit=10):
    """Search the library.

    Use short queries.

    Parameters
    ----------
    query : str
        what to look for
    limit : int, optional
        how many results, at most

    Returns
    -------
    str
    """


def rest_style(query, limit=10):
    """Search the library.

    Use short queries.

    :param str query: what to look for
    :param int limit: how many results, at most
    :returns: text
    """


@pytest.mark.parametrize("function", [numpy_style, rest_style])
def test_docstrings_of_other_styles(function: Any) -> None:
    registry = ToolRegistry()
    registry.register(function, name="search")
    (schema,) = registry.schemas("plain")
    assert schema["description"] == DESCRIPTION
    found = schema["parameters"]["properties"]
    assert {name: each["description"] for name, each in found.items()} == {
        "query": "what to look for",
        "limit": "how many results, at most",
    }
    assert found["query"]["type"] == "string", "a type that only the docstring names"


def test_a_docstring_that_is_none_of_them() -> None:
    def odd(x: int) -> None:
        """Args:
        ----- : :param

        :raises"""

    def without(x: int) -> None: ...

    assert parameters(odd)["properties"] == {"x": {"type": "integer"}}
    registry = ToolRegistry([without])
    assert registry.schemas("plain")[0]["description"] == ""


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


class Place(BaseModel):
    city: str
    unit: Unit = Unit.C
    title: str = ""
    within: Optional[Place] = None


@dataclasses.dataclass
class Box:
    w: int
    h: int = 1


class Options(TypedDict):
    deep: bool
    words: NotRequired[list[str]]


def test_definitions_of_nested_models_are_inside_the_parameters() -> None:
    def tool(place: Place, boxes: list[Box], more: dict[str, Place]) -> None: ...

    found = parameters(tool)
    assert found["properties"]["place"] == {"$ref": "#/$defs/Place"}
    assert found["$defs"]["Place"]["properties"]["title"] == {"type": "string", "default": ""}
    validator = jsonschema.Draft202012Validator(found)
    good = {"place": {"city": "x", "within": {"city": "y"}}, "boxes": [{"w": 1}], "more": {"a": {"city": "z"}}}
    assert validator.is_valid(good)
    assert not validator.is_valid({**good, "place": {"city": "x", "within": {"city": 5}}})
    assert not validator.is_valid({**good, "boxes": [{"h": 1}]})


def test_kinds_of_annotations() -> None:
    def tool(
        a: Literal["x", "y"],
        b: Unit,
        c: Optional[int],
        d: int | str,
        e: Union[list[int], None],
        f: dict[str, float],
        g: Options,
        h: date,
        i: Any,
        j,
        k: "Unknown",
        l: list["Unknown"],
        m: tuple[int, str],
        n: Optional[list[Options]] = None,
    ) -> None: ...

    found = parameters(tool)
    properties = found["properties"]
    assert properties["a"] == {"type": "string", "enum": ["x", "y"]}
    assert found["$defs"]["Unit"]["enum"] == ["celsius", "fahrenheit"]
    assert properties["c"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert properties["d"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert properties["f"] == {"type": "object", "additionalProperties": {"type": "number"}}
    assert found["$defs"]["Options"]["required"] == ["deep"]
    assert properties["h"] == {"type": "string", "format": "date"}
    assert properties["i"] == properties["j"] == properties["k"] == properties["l"] == {}
    assert found["required"] == list("abcdefghijklm")


def test_annotated() -> None:
    def tool(
        a: Annotated[int, Field(description="in metres", ge=0, le=9)],
        b: Annotated[int, "in feet"],
        c: Annotated[Optional[str], "a name"] = None,
        d: Annotated[int, Field(ge=1)] = None,
        e: int = Field(default=3, description="from its default", ge=1),
        f: int = Field(description="required all the same"),
    ) -> None:
        """Measure.

        Args:
            a: not this one
            d: from the docstring
        """

    found = parameters(tool)
    assert found["properties"] == {
        "a": {"type": "integer", "description": "in metres", "minimum": 0, "maximum": 9},
        "b": {"type": "integer", "description": "in feet"},
        "c": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "description": "a name"},
        "d": {
            "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
            "default": None,
            "description": "from the docstring",
        },
        "e": {"type": "integer", "default": 3, "description": "from its default", "minimum": 1},
        "f": {"type": "integer", "description": "required all the same"},
    }
    assert found["required"] == ["a", "b", "f"]


def test_the_default_of_a_field_is_passed_to_the_function(store: Any) -> None:
    def tool(
        q: Annotated[str, Field(alias="query")],
        n: int = Field(default=3, ge=1),
        made: list[int] = Field(default_factory=list),
        agent: Any = Field(default="none"),
    ) -> str:
        return f"{q} {n} {made} {agent}"

    registry = ToolRegistry([tool])
    assert registry.execute("tool", {"q": "x"}).text == "x 3 [] none", "the name is the parameter's own"
    assert registry.execute("tool", {"q": "x", "n": "5", "made": ["1"]}).text == "x 5 [1] none"
    assert registry.execute("tool", {"q": "x", "n": 0}).code == "INVALID_PARAM"


def test_names_that_pydantic_reserves() -> None:
    def tool(
        schema: int, copy: int, json: int, _x: int, model_config: int, p0: int, title: str, validate: int
    ) -> None: ...

    names = ["schema", "copy", "json", "_x", "model_config", "p0", "title", "validate"]
    found = parameters(tool)
    assert list(found["properties"]) == found["required"] == names


def test_a_default_outside_json_is_left_out() -> None:
    def tool(x: Any = object(), y: list[int] = [1]) -> None: ...  # noqa: B008, B006

    assert parameters(tool)["properties"] == {
        "x": {},
        "y": {"type": "array", "items": {"type": "integer"}, "default": [1]},
    }


def test_an_iterable_is_a_list_that_can_be_read_twice(store: Any) -> None:
    def tool(a: Iterable[int], b: typing.Iterable | None = None, c: dict[str, Iterable[Options]] = {}) -> str:
        return f"{sum(a)} {len(list(a))} {type(b).__name__} {c}"

    found = parameters(tool)["properties"]
    assert found["a"] == {"type": "array", "items": {"type": "integer"}}
    registry = ToolRegistry([tool])
    given = {"a": ["1", 2], "b": [1], "c": {"x": [{"deep": True}]}}
    assert registry.execute("tool", given).text == "3 2 list {'x': [{'deep': True}]}"
    assert "'a.1'" in registry.execute("tool", {"a": [1, "x"]}).error.message


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]


def test_a_choice_by_a_tag(store: Any) -> None:
    def tool(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> str:
        return type(pet).__name__

    registry = ToolRegistry([tool])
    assert registry.execute("tool", {"pet": {"kind": "cat", "lives": 9}}).text == "Cat"
    assert "missing parameter 'pet.lives'" in registry.execute("tool", {"pet": {"kind": "cat"}}).error.message
    message = registry.execute("tool", {"pet": {"kind": "hamster"}}).error.message
    assert "'pet': expected one of the kinds 'cat', 'dog'" in message
    assert "hamster" not in message


def test_variadic_parameters() -> None:
    def tool(a: int, *rest: int, b: int = 1, **more: int) -> None: ...

    found = parameters(tool)
    assert list(found["properties"]) == ["a", "b"]
    assert found["additionalProperties"] is True


def test_without_parameters() -> None:
    def now() -> None: ...

    assert parameters(now) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_options_at_registration_override_the_docstring() -> None:
    registry = ToolRegistry()
    registry.register(search, name="find", description="Find.", version="3")
    (schema,) = registry.schemas("anthropic")
    assert (schema["name"], schema["description"]) == ("find", "Find.")


def test_a_traced_function_is_described_by_its_tracer() -> None:
    registry = ToolRegistry([tt.trace_tool(name="look", description="Look it up.")(search), tt.trace_tool(search)])
    look, plain = registry.schemas("plain")
    assert (look["name"], look["description"]) == ("look", "Look it up.")
    assert (plain["name"], plain["description"]) == ("search", DESCRIPTION)
    assert look["parameters"] == plain["parameters"] == PARAMETERS


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    pair: tuple[int, int]


def test_a_strict_model_accepts_values_of_its_schema(store: Any) -> None:
    def tool(it: Strict) -> str:
        return f"{it.day:%d.%m.%Y} {it.pair}"

    registry = ToolRegistry([tool])
    given = {"it": {"day": "2026-11-21", "pair": [1, 2]}}
    assert jsonschema.Draft202012Validator(parameters(tool)).is_valid(given)
    assert registry.execute("tool", given).text == "21.11.2026 (1, 2)"
