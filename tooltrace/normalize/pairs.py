"""A value and its error: ``(None, "no such user")``, ``(value, ValueError(…))``."""

from __future__ import annotations

from tooltrace.normalize.parts import failure, read_error
from tooltrace.normalize.returned_exception import of_exception
from tooltrace.normalize.rule import Reads, Rule, Seen, builtin
from tooltrace.normalize.see import PAIR
from tooltrace.response import ToolResponse


@builtin("value_and_exception", "certain", Reads(kinds=(PAIR,)))
def _value_and_exception(seen: Seen) -> ToolResponse | None:
    """The second of two is an exception: the tool failed, and the first is what it has all the same."""
    return of_exception(seen.data["exception"], data=seen.data["value"]) if _holds(seen, "exception") else None


@builtin("nothing_and_message", "heuristic", Reads(kinds=(PAIR,)))
def _nothing_and_message(seen: Seen) -> ToolResponse | None:
    """No value, and an error in words, as Go's functions answer. It may be a second value, so it is not certain."""
    return failure(**read_error(seen.data["error"])) if _holds(seen, "error") else None


RULES: tuple[Rule, ...] = (_value_and_exception, _nothing_and_message)
"""Those of pairs."""


def _holds(seen: Seen, member: str) -> bool:
    return seen.is_a(PAIR) and isinstance(seen.data, dict) and member in seen.data
