"""A long value is cut while it is read, to what cutting each text first and then the whole gives, byte for byte."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tooltrace.redact.redaction import Redaction
from tooltrace.redact.sanitizer import Pruning, Sanitizer
from tooltrace.redact.texts import MARGIN

LIMIT = 40
texts = st.text(max_size=12) | st.sampled_from(
    ["x" * 39, "y" * (LIMIT + MARGIN + 5), '{"a": "' + "z" * 90 + '"}', '"\\' * 30]
)
leaves = st.none() | st.booleans() | st.integers(-999, 999) | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(texts, inner, max_size=6),
    max_leaves=40,
)


def head(text: str) -> str:
    """The front that is stored of a text without secrets."""
    if len(text) <= LIMIT + MARGIN or text[:1] in ("{", "["):
        return text
    return text[:LIMIT]


def truncated(value: Any) -> Any:
    if isinstance(value, str):
        return head(value)
    if isinstance(value, dict):
        return {key[:LIMIT]: truncated(item) for key, item in value.items()}
    return [truncated(item) for item in value[:LIMIT]] if isinstance(value, list) else value


def pruned(value: Any, left: list[int], *, counted: bool) -> Any:
    """The plain form of a cut: it walks over each leaf, and copies each container."""
    if isinstance(value, str):
        size = len(orjson.dumps(value))
        front = value if size <= left[0] else value[: max(left[0], 0) * len(value) // size]
        left[0] -= size
        return front if front == value else front + "…"
    if isinstance(value, dict):
        out: dict[str, Any] = {}
        for key, item in value.items():
            if left[0] <= 0:
                out["…"] = f"{len(value) - len(out)} more" if counted else "more"
                break
            left[0] -= len(key) + 4
            out[key] = pruned(item, left, counted=counted)
        return out
    if isinstance(value, list):
        items: list[Any] = []
        for item in value:
            if left[0] <= 0:
                items.append(f"… {len(value) - len(items)} more" if counted else "… more")
                break
            left[0] -= 1
            items.append(pruned(item, left, counted=counted))
        return items
    left[0] -= 8
    return value


@given(value=values, counted=st.booleans())
@example(value={}, counted=True)
@example(value=[[[[[[[[[[{"a": ["b" * 60]}]]]]]]]]]], counted=True)
@example(value={"k" * 41: 1, "k" * 42: 2}, counted=True)
@example(value=list(range(60)), counted=False)
def test_a_cut_is_that_of_the_whole_walk(value: Any, counted: bool) -> None:
    cut = Pruning(LIMIT, head, counted=counted).prune(value)
    expected = pruned(truncated(value), [LIMIT], counted=counted)
    assert orjson.dumps(cut) == orjson.dumps(expected)


@given(value=values)
def test_a_value_with_cut_leaves_keeps_its_names_and_lists(value: Any) -> None:
    cut = Pruning(LIMIT, None, counted=True).prune(value)
    assert orjson.dumps(cut) == orjson.dumps(pruned(value, [LIMIT], counted=True))


@given(value=values)
def test_a_field_known_to_be_clean_is_cut_as_one_that_is_searched(value: Any) -> None:
    raw = orjson.dumps(value)
    searched, known = Sanitizer([Redaction()], LIMIT), Sanitizer([Redaction()], LIMIT, clean=True)
    assert searched.sanitize_json("result", raw) == known.sanitize_json("result", raw)
    assert (searched.sizes, searched.truncated) == (known.sizes, known.truncated)


@pytest.mark.parametrize("depth", [1, 5, 200])
def test_data_within_the_limit_is_not_copied(depth: int) -> None:
    value: Any = {"a": [1, "b"]}
    for _ in range(depth):
        value = [value]
    assert Pruning(100_000, head, counted=True).prune(value) is value
