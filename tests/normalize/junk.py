"""JSON of any shape, and what a response no longer has of it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tooltrace.core.response import ToolResponse

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None or isinstance(value, bool) else [value]


def lost(value: Any, response: ToolResponse) -> list[Any]:
    """The texts and numbers of ``value`` that the response has nowhere."""
    there = leaves(response.model_dump())
    texts = "\0".join(leaf for leaf in there if isinstance(leaf, str))
    return [leaf for leaf in leaves(value) if leaf not in there and str(leaf) not in texts]
