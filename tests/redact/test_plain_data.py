"""The encoders in C write the same JSON as the walk in Python, with None, NaN and infinities anywhere."""

from __future__ import annotations

import datetime as dt
import enum
import math
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tooltrace.redact import plain_data
from tooltrace.redact.plain_data import plain_json
from tooltrace.redact.shrink import _longest_container, shrink
from tooltrace.redact.snapshot import snapshot
from tooltrace.redact.walk import MAX_NODES, Walk, walked_json


class Colour(enum.Enum):
    RED = math.nan


class Text(str):
    """A subclass, whose code no encoder may run."""

    __slots__ = ()

    def __str__(self) -> str:
        raise AssertionError("the code of a recorded object ran")


leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
    | st.sampled_from(
        ["NaN", "Infinity", "null", "\u02c8\u007f", Text("NaN"), Colour.RED, math.inf, -math.inf, math.nan]
    )
    | st.uuids()
    | st.datetimes(timezones=st.just(dt.UTC))
)
plain = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=6)
    ),
    max_leaves=40,
)


@settings(max_examples=examples(100))
@given(value=st.lists(plain, max_size=6))
def test_a_snapshot_is_what_the_walk_writes(value: list[Any]) -> None:
    assert snapshot(value) == walked_json(Walk(MAX_NODES), value)


@pytest.mark.parametrize(
    ("special", "text"), [(None, None), (math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]
)
def test_one_special_value_does_not_need_the_walk(
    special: float | None, text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> bytes:
        raise AssertionError(f"the walk reads {arguments}")

    monkeypatch.setattr("tooltrace.redact.snapshot.walked_json", refuse)
    rows = [{"n": n, "text": "x" * 20} for n in range(5_000)]
    taken = snapshot({"rows": rows, "next": special})
    assert type(taken) is bytes
    assert orjson.loads(taken) == {"rows": rows, "next": text}


def test_a_float_that_only_begins_like_infinity_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"a": None, "b": 1.7e308, "c": -1.7e308}
    assert plain_json(value) == orjson.dumps(value)
    monkeypatch.setattr(plain_data, "_pack", lambda _: b"")
    assert plain_json({"a": None}) == b'{"a":null}'


@settings(max_examples=examples(50))
@given(value=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), plain, max_size=8))
def test_the_size_of_the_longest_member_is_known_from_the_others(value: dict[str, Any]) -> None:
    raw = plain_json(value)
    if raw is None:
        return
    items = list(value.items())
    position, size = _longest_container(items, len(raw))
    if size is not None:
        assert size == len(plain_json(items[position][1]) or b"")
    assert shrink(value, len(raw), 10_000_000) == raw, "all members are kept where there is room"
