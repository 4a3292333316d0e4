"""What the option ``retryable`` says of an exception or a response: classes, predicates, or both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeAlias

from tooltrace.core.response import ToolResponse
from tooltrace.errors import ConfigError
from tooltrace.faults import pass_on_signal
from tooltrace.redact.inspection import is_subclass

RetryRule: TypeAlias = type[BaseException] | Callable[[Any], object]
"""A class of exceptions, or a predicate on the exception or the ToolResponse."""
Retryable: TypeAlias = RetryRule | Iterable[RetryRule]

FAILED = "retryable_failed"
"""Flag of a response or exception about which a predicate raised."""


def checked_retryable(retryable: Any, tool: str) -> tuple[RetryRule, ...]:
    """Return the rules of the option ``retryable``. Raises ConfigError for one that is neither a class nor a predicate."""
    given = (retryable,) if callable(retryable) else retryable
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise _refused(retryable, tool)
    rules = tuple(given)
    for rule in rules:
        if not (issubclass(rule, BaseException) if isinstance(rule, type) else callable(rule)):
            raise _refused(rule, tool)
    return rules


def judged(rules: tuple[RetryRule, ...], outcome: Any) -> tuple[bool | None, tuple[str, ...]]:
    """Return whether the same call may succeed after ``outcome``, None where no rule says so, and flags.

    A class says yes or nothing. A predicate says what it returns; None is nothing, and a wait, which stamina accepts, is yes.
    Of several rules one yes is enough. Runs the user's code, which may raise anything.
    """
    said: bool | None = None
    flags: tuple[str, ...] = ()
    for rule in rules:
        if isinstance(rule, type):
            answer: object = True if is_subclass(rule, type(outcome)) else None
        else:
            try:
                answer = rule(outcome)
                answer = answer if answer is None else isinstance(answer, float | timedelta) or bool(answer)
            except BaseException as error:
                pass_on_signal(error)
                answer, flags = None, (FAILED,)
        if answer:
            return True, flags
        said = said if answer is None else False
    return said, flags


def with_retryable(response: ToolResponse, rules: tuple[RetryRule, ...]) -> tuple[ToolResponse, tuple[str, ...]]:
    """Return ``response`` with what ``rules`` say of its error, where the tool did not state it; and flags."""
    error = response.error
    if error is None or error.stated_retryable is not None:
        return response, ()
    again, flags = judged(rules, response)
    if again is None:
        return response, flags
    return response.model_copy(update={"failure": error.model_copy(update={"retryable": again})}), flags


def _refused(got: object, tool: str) -> ConfigError:
    return ConfigError(
        f"retryable must be exception classes, or functions of the exception or the response, got {got!r} for the tool {tool!r}"
    )
