"""The encoder in C writes the same JSON as the walk in Python, and sees only what was counted before."""

from __future__ import annotations

import datetime as dt
import enum
import json
import math
import os
import subprocess
import sys
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tooltrace.redact.plain_data import MAX_DEPTH, json_of, left_over, plain_json
from tooltrace.redact.snapshot import BUDGET, snapshot
from tooltrace.redact.walk import to_json_bytes


class Colour(enum.Enum):
    RED = math.nan


class Text(str):
    """A subclass, whose code no encoder may run."""

    __slots__ = ()

    def __str__(self) -> str:
        raise AssertionError("the code of a recorded object ran")


names = st.text(st.characters(exclude_categories=["Cs"]))
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(
        ["NaN", "Infinity", "null", "\u02c8\u007f", Text("NaN"), Colour.RED, math.inf, -math.inf, math.nan]
    )
    | st.uuids()
    | st.times()
    | st.dates()
    | st.datetimes(timezones=st.sampled_from([None, dt.UTC, dt.timezone(dt.timedelta(hours=2))]))
)
plain = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=6) | st.tuples(inner, inner) | st.dictionaries(names, inner, max_size=6),
    max_leaves=40,
)


@pytest.mark.long
@settings(max_examples=examples(100))
@given(value=st.lists(plain, max_size=6))
def test_a_snapshot_is_what_the_walk_writes(value: list[Any]) -> None:
    assert snapshot(value) == to_json_bytes(value)
    raw = plain_json(value)
    assert raw is None or raw == to_json_bytes(value)


@pytest.mark.parametrize("make", [lambda inner: [inner], lambda inner: (inner,), lambda inner: {"a": inner}])
def test_the_encoder_gets_no_data_deeper_than_it_can_write(make: Any) -> None:
    value: Any = "bottom"
    for _ in range(MAX_DEPTH + 1):
        value = make(value)
    assert plain_json(value) == orjson.dumps(value)
    assert plain_json(make(value)) is None
    assert b"<too deep>" in to_json_bytes(make(value))


def test_shared_parts_count_in_each_of_their_places() -> None:
    value: Any = ["lol"]
    for _ in range(9):
        value = [value] * 9
    left = left_over(value, BUDGET)
    assert left is not None and left < 0
    (key, text) = "k" * 1000, "x" * 1000
    for shared in ([text] * 2000, [{key: 1}] * 2000, [{text}] * 2000):
        assert plain_json(shared) is None


@pytest.mark.parametrize(
    "value",
    [{1: "a"}, [Text("a")], [Colour.RED], [math.nan], [b"a"], [{1}], [dt.time(tzinfo=dt.UTC)], [object()], "text", 5],
)
def test_what_the_encoder_would_write_otherwise_is_not_plain(value: Any) -> None:
    assert left_over(value, BUDGET) is None


@pytest.mark.processes
def test_what_is_nested_as_deep_as_possible_stays_within_the_buffer_of_the_encoder() -> None:
    """Python's debug allocator ends the process where bytes beyond an object were written."""
    program = """
import json, random
from tooltrace.redact.plain_data import MAX_DEPTH, json_of
from tooltrace.redact.redaction import Redaction
from tooltrace.redact.walk import to_json_bytes

random.seed(1)

def nested(levels, leaf):
    for _ in range(levels):
        leaf = [leaf] if levels % 2 else {"a": leaf}
    return leaf

for _ in range(1500):
    deep = {random.choice("abc") * random.randint(1, 40) + str(n): nested(random.randint(MAX_DEPTH - 9, 250), "x") for n in range(5)}
    to_json_bytes(deep)
    assert json.loads(json_of(deep)) == deep
    Redaction().redact_text(json.dumps({"password": "correct horse", **deep}))
"""
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("sorted_names", [False, True])
def test_json_of_any_depth_is_read_back(sorted_names: bool) -> None:
    data: Any = {"b": 2**60, "a": None}
    for _ in range(220):
        data = {"b": [data], "a": 1.5}
    written = json_of(data, sorted_names=sorted_names)
    assert json.loads(written) == data
    assert written == json_of(json.loads(json.dumps(data, sort_keys=sorted_names)))
