"""For any signature of simple types: what the schema allows is run, and what it does not is an answer."""

from __future__ import annotations

import inspect
import json
from keyword import iskeyword
from pathlib import Path
from typing import Any, Literal, Optional

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.tools import ToolRegistry

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
INTEGERS = st.integers(-(2**64), 2**64)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: abs(value) < 2**63)
"""Without whole numbers beyond 64 bits: a JSON Schema calls them integers, and pydantic refuses them for an ``int``."""
JSON = st.recursive(
    st.none() | st.booleans() | INTEGERS | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)

SIMPLE: dict[Any, Any] = {
    int: INTEGERS,
    float: FLOATS | st.integers(-(2**53), 2**53),  # larger integers are rounded to a float
    str: TEXT,
    bool: st.booleans(),
    list[int]: st.lists(INTEGERS, max_size=5),
    dict[str, float]: st.dictionaries(TEXT, FLOATS, max_size=5),
    Optional[str]: st.none() | TEXT,
    Literal["a", 5]: st.sampled_from(["a", 5]),
    int | list[str]: INTEGERS | st.lists(TEXT, max_size=3),
    tuple[int, str]: st.tuples(INTEGERS, TEXT).map(list),
    Any: JSON,
}
"""A type, and the JSON that its schema allows."""

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,12}", fullmatch=True).filter(lambda name: not iskeyword(name))
KINDS = [inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY]
HIDDEN = {"agent", "team", "run_context", "session_state", "self", "cls", "ctx"}


@st.composite
def signatures(draw: st.DrawFn) -> list[inspect.Parameter]:
    names = draw(st.lists(NAMES.filter(lambda name: name not in HIDDEN), max_size=5, unique=True))
    kinds = sorted(draw(st.lists(st.sampled_from(KINDS), min_size=len(names), max_size=len(names))))
    optional = sorted(draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names))))
    found = []
    for name, kind, has_default in zip(names, kinds, optional, strict=True):
        annotation = draw(st.sampled_from(list(SIMPLE)))
        default = draw(SIMPLE[annotation]) if has_default else inspect.Parameter.empty
        found.append(inspect.Parameter(name, kind, annotation=annotation, default=default))
    return found


def tool_of(parameters: list[inspect.Parameter], received: list[dict[str, Any]]) -> Any:
    """A function with that signature, as ``def`` would make it: it is called by the signature's own rules."""
    signature = inspect.Signature(parameters)

    def tool(*args: Any, **kwargs: Any) -> str:
        received.append(signature.bind(*args, **kwargs).arguments)
        return "ran"

    tool.__signature__ = signature
    tool.__annotations__ = {p.name: p.annotation for p in parameters}
    return tool


@given(signatures(), st.data())
def test_values_that_the_schema_allows_reach_the_tool(
    store: Path, parameters: list[inspect.Parameter], data: st.DataObject
) -> None:
    received: list[dict[str, Any]] = []
    registry = ToolRegistry([tool_of(parameters, received)])
    (schema,) = registry.schemas("plain")
    jsonschema.Draft202012Validator.check_schema(schema["parameters"])
    sent = {
        p.name: data.draw(SIMPLE[p.annotation])
        for p in parameters
        if p.default is inspect.Parameter.empty or data.draw(st.booleans())
    }
    jsonschema.Draft202012Validator(schema["parameters"]).validate(sent)
    response = registry.execute("tool", json.dumps(sent) if data.draw(st.booleans()) else sent)
    assert response.text == "ran", response
    kinds = {p.name: p.kind for p in parameters}
    given_values = {name: value for name, value in received[0].items() if name in sent}
    assert {n: list(v) if isinstance(v, tuple) else v for n, v in given_values.items()} == sent
    unsent = set(received[0]) - set(sent)
    assert all(kinds[name] is inspect.Parameter.POSITIONAL_ONLY for name in unsent), "others keep their own defaults"


@given(signatures(), st.dictionaries(NAMES | TEXT, JSON, max_size=4) | JSON, st.data())
def test_anything_sent_is_answered(
    store: Path, parameters: list[inspect.Parameter], sent: Any, data: st.DataObject
) -> None:
    received: list[dict[str, Any]] = []
    registry = ToolRegistry([tool_of(parameters, received)])
    if parameters and isinstance(sent, dict):
        sent = {**sent, data.draw(st.sampled_from(parameters)).name: data.draw(JSON)}
    response = registry.execute("tool", json.dumps(sent))
    if not isinstance(sent, dict):
        assert response.code == "INVALID_FORMAT"
    elif response.text != "ran":
        assert response.code == "INVALID_PARAM"
        assert response.error.message
        assert received == []
        allowed = jsonschema.Draft202012Validator(registry.schemas("plain")[0]["parameters"]).is_valid(sent)
        assert not allowed, "what is refused is against the schema"
    else:
        assert set(sent) <= {p.name for p in parameters}


@given(signatures(), st.data())
def test_a_value_of_no_fitting_kind_is_refused_by_its_name(
    store: Path, parameters: list[inspect.Parameter], data: st.DataObject
) -> None:
    typed = [p for p in parameters if p.annotation in (int, float, bool, str, list[int], dict[str, float])]
    if not typed:
        return
    received: list[dict[str, Any]] = []
    registry = ToolRegistry([tool_of(parameters, received)])
    sent = {p.name: data.draw(SIMPLE[p.annotation]) for p in parameters}
    wrong = data.draw(st.sampled_from(typed)).name
    response = registry.execute("tool", {**sent, wrong: [{"no": "such"}]})
    assert response.code == "INVALID_PARAM"
    assert f"'{wrong}" in response.error.message
    assert received == []


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_text_is_answered(store: Path, sent: str | bytes) -> None:
    def tool(**anything: Any) -> str:
        return "ran"

    assert ToolRegistry([tool]).execute("tool", sent).code in (None, "INVALID_FORMAT")
