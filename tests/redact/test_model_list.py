"""A list of pydantic models is recorded as the walk over its structure records it."""

from __future__ import annotations

import enum
import math
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from tooltrace.redact.model_list import model_list_json
from tooltrace.redact.snapshot import SNAPSHOT_NODES, snapshot
from tooltrace.redact.walk import Walk, walked_json


class Part(BaseModel):
    """A model with whatever fields it is given."""

    model_config = ConfigDict(extra="allow")

    role: Any = "user"
    content: Any = None


class Colour(enum.Enum):
    """An enum, which the encoder writes itself."""

    RED = "red"


_PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([Colour.RED, b"\xff", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
_MODELS = st.builds(
    lambda fields, more: Part.model_construct(**fields, **more),
    st.fixed_dictionaries({}, optional={"role": _PLAIN, "content": _PLAIN}),
    st.dictionaries(st.sampled_from(["id", "name"]), _PLAIN),
)


@given(st.lists(_MODELS | st.sampled_from([1, None, {"role": "tool"}]), min_size=1, max_size=5))
def test_the_json_is_that_of_the_walk(items: list[Any]) -> None:
    by_items = orjson.loads(walked_json(Walk(100_000), tuple(items)))
    assert orjson.loads(snapshot({"messages": items}))["messages"] == by_items
    found = model_list_json(items, math.inf, math.inf)
    if found is not None:
        assert found.raw == walked_json(Walk(100_000), tuple(items))


def test_a_list_of_messages_takes_the_fast_way() -> None:
    items = [Part(content="hello"), Part(content="", id=4)]
    found = model_list_json(items, math.inf, math.inf)
    assert found is not None
    assert orjson.loads(found.raw) == [{"role": "user", "content": "hello"}, {"role": "user", "content": "", "id": 4}]
    assert found.values == 2 + 2 + 3


@pytest.mark.parametrize("content", [math.nan, math.inf, object(), Part(), 2**70, "\ud800"])
def test_fields_that_the_encoder_does_not_write_as_the_walk_does_are_left_to_the_walk(content: Any) -> None:
    assert model_list_json([Part(content=content)], math.inf, math.inf) is None


def test_more_models_than_the_budget_are_left_to_the_walk_which_cuts_them() -> None:
    items = [Part(content=number) for number in range(SNAPSHOT_NODES)]
    assert model_list_json(items, SNAPSHOT_NODES, math.inf) is None
    assert snapshot({"messages": items}).endswith(b" "), "the snapshot is marked as cut"


def test_models_longer_than_the_budget_are_left_to_the_walk() -> None:
    assert model_list_json([Part(content="x" * 100)], math.inf, 100) is None
