"""Rules for a pair ``(value, error)``, and for an exception that a tool returned."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.normalize.response_builders import build_error, read_error
from tooltrace.normalize.result_view import EXCEPTION, PAIR
from tooltrace.normalize.rule import Matches, ResultView, Rule, builtin


@builtin("exception", "certain", Matches(kinds=(EXCEPTION,)))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a returned exception like a raised one."""
    return of_exception(view.data) if view.is_a(EXCEPTION) else None


def of_exception(error: dict[str, Any], **fields: Any) -> ToolResponse:
    """Build the error from the members of an ``ExceptionSummary``."""
    summary = ExceptionSummary(**error)
    return build_error(
        summary.message,
        summary.code,
        type=summary.type,
        retryable=summary.retryable,
        suggestion=summary.suggestion,
        stats=summary.stats,
        **fields,
    )


@builtin("value_and_exception", "certain", Matches(kinds=(PAIR,)))
def _value_and_exception(view: ResultView) -> ToolResponse | None:
    """Read a pair with an exception as an error, with the first item as its data."""
    return of_exception(view.data["exception"], data=view.data["value"]) if _has_error_in(view, "exception") else None


@builtin("nothing_and_message", "heuristic", Matches(kinds=(PAIR,)))
def _nothing_and_message(view: ResultView) -> ToolResponse | None:
    """Read None and an error in words, the form of Go's functions, as an error.

    Heuristic, because the second item may be another value.
    """
    return build_error(**read_error(view.data["error"])) if _has_error_in(view, "error") else None


RULES: tuple[Rule, ...] = (_value_and_exception, _nothing_and_message)
"""The rules for pairs."""


def _has_error_in(view: ResultView, member: str) -> bool:
    return view.is_a(PAIR) and isinstance(view.data, dict) and member in view.data
