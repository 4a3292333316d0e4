"""Helpers of the rule tests: any JSON data, and whether a response preserves all of it."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import strategies as st

from tooltrace.core.response import ToolResponse
from tooltrace.normalize import CERTAIN_RULES, RULES, normalize
from tooltrace.normalize.terms import snake_case

ALL, CERTAIN = RULES, CERTAIN_RULES

text = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["timeout", "Not found", "Error: x", "错误：x", "success", "error", "404", "boom", "none", " padded "]
)
scalar = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | text
)
anything = st.recursive(
    scalar | st.sampled_from([404, 500, 0, 1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)


def objects(*names: str, sure: dict[str, st.SearchStrategy[Any]] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of the members ``names``, of any type, with strangers among them, and with those of ``sure``."""
    known = st.dictionaries(st.sampled_from(names), anything, max_size=len(names))
    return st.builds(
        lambda first, more, last: {**first, **more, **last},
        st.fixed_dictionaries(sure or {}),
        known,
        st.dictionaries(text, anything, max_size=2),
    ).map(lambda made: {**made})


def read(value: Any) -> ToolResponse:
    """``value`` by all rules."""
    return normalize(value)


STATUSES = ("success", "partial", "error", "fail", "failed", "failure", "exception")
FLAGS = frozenset({"success", "ok", "is_success", "succeeded", "failed", "is_error", "has_error", "partial", "error"})
"""Members that, being true or false, become the status."""


def leaves(value: Any) -> list[Any]:
    """The scalars in ``value`` that say something, but for flags."""
    if isinstance(value, dict):
        members = (item for name, item in value.items() if not (isinstance(item, bool) and snake_case(name) in FLAGS))
        return [leaf for item in members for leaf in leaves(item)]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None or value == "" else [value]


def lost(value: Any, response: ToolResponse) -> list[Any]:
    """The scalars of ``value`` that are nowhere in ``response``.

    A status may have become the response's, and a list of signals the names of its signals.
    """
    members = {name: item for name, item in value.items() if item not in STATUSES} if isinstance(value, dict) else value
    found = [*leaves(orjson.loads(response.model_dump_json())), *(response.signals or {})]
    found += [leaf for item in found if isinstance(item, str) for leaf in leaves(_parsed(item))]
    words = "\n".join(item for item in found if isinstance(item, str))
    return [leaf for leaf in leaves(members) if not _is_in(leaf, found, words)]


def _parsed(words: str) -> Any:
    try:
        return orjson.loads(words)
    except ValueError:
        return None


def _is_in(leaf: Any, found: list[Any], words: str) -> bool:
    if any(type(leaf) is type(item) and leaf == item for item in found):
        return True
    if isinstance(leaf, bool):
        return orjson.dumps(leaf).decode() in words
    if isinstance(leaf, int | float):
        return leaf in [item for item in found if isinstance(item, int | float)] or str(leaf) in words
    return leaf in words or orjson.dumps(leaf).decode()[1:-1] in words
