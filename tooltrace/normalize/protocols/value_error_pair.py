"""Rules for a pair ``(value, error)``, and for an exception that a tool returned."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.normalize.response_builders import build_error, read_error
from tooltrace.normalize.result_view import EXCEPTION, PAIR
from tooltrace.normalize.rule import Matches, ResultView, Rule, builtin


@builtin("exception", "certain", Matches(kinds=(EXCEPTION,)))
def RULE(seen: ResultView) -> ToolResponse | None:
    """Read a returned exception like a raised one."""
    return of_exception(seen.data) if seen.is_a(EXCEPTION) else None


def of_exception(error: dict[str, Any], **fields: Any) -> ToolResponse:
    """Build the error from the members of an ``ExceptionSummary``."""
    said = ExceptionSummary(**error)
    return build_error(
        said.message,
        said.code,
        type=said.type,
        retryable=said.retryable,
        suggestion=said.suggestion,
        stats=said.stats,
        **fields,
    )


@builtin("value_and_exception", "certain", Matches(kinds=(PAIR,)))
def _value_and_exception(seen: ResultView) -> ToolResponse | None:
    """Read a pair with an exception as an error, with the first item as its data."""
    return of_exception(seen.data["exception"], data=seen.data["value"]) if _holds(seen, "exception") else None


@builtin("nothing_and_message", "heuristic", Matches(kinds=(PAIR,)))
def _nothing_and_message(seen: ResultView) -> ToolResponse | None:
    """Read None and an error in words, the form of Go's functions, as an error.

    Heuristic, because the second item may be another value.
    """
    return build_error(**read_error(seen.data["error"])) if _holds(seen, "error") else None


RULES: tuple[Rule, ...] = (_value_and_exception, _nothing_and_message)
"""The rules for pairs."""


def _holds(seen: ResultView, member: str) -> bool:
    return seen.is_a(PAIR) and isinstance(seen.data, dict) and member in seen.data
