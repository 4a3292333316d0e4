"""A value and its error: ``(None, "no such user")``, ``(value, ValueError(…))``."""

from __future__ import annotations

from typing import Any

from tooltrace.normalize.parts import failure
from tooltrace.normalize.returned_exception import of_exception
from tooltrace.normalize.rule import Rule, Seen, builtin
from tooltrace.normalize.see import PAIR
from tooltrace.response import ToolResponse


@builtin("value_and_exception", "certain")
def _value_and_exception(seen: Seen) -> ToolResponse | None:
    """The second of two is an exception: the tool failed, and the first is what it has all the same."""
    error = _error(seen)
    return of_exception(error, data=seen.data.get("value")) if isinstance(error, dict) else None


@builtin("nothing_and_message", "heuristic")
def _nothing_and_message(seen: Seen) -> ToolResponse | None:
    """No value, and a text, as Go's functions answer. The text may be a second value, so it is not certain."""
    error = _error(seen)
    return failure(error.strip()) if isinstance(error, str) and error.strip() else None


RULES: tuple[Rule, ...] = (_value_and_exception, _nothing_and_message)
"""Those of pairs."""


def _error(seen: Seen) -> Any:
    return seen.data.get("error") if seen.is_a(PAIR) and isinstance(seen.data, dict) else None
