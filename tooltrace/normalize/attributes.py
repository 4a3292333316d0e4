"""Attributes of foreign objects, read with care: a property may raise, and a value may be of any type."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tooltrace.codes import ADVICE
from tooltrace.codes import ToolErrorCode as C
from tooltrace.interrupts import pass_on_signal
from tooltrace.normalize.database_codes import of_sqlstate
from tooltrace.normalize.http_status import lower_headers, of_status
from tooltrace.normalize.verdict import Verdict

_STATUS_NAMES = ("status_code", "status", "http_status", "code")


def attribute(owner: Any, *names: str) -> Any:
    """The attribute at the end of this path; None where there is none, or where it raises."""
    for name in names:
        try:
            owner = getattr(owner, name, None)
        except BaseException as error:  # a property of the tool's own
            pass_on_signal(error)
            return None
        if owner is None:
            return None
    return owner


def whole(value: Any) -> int | None:
    """``value`` where it is a whole number, or an enum that is one."""
    kind = type(value)
    return int.__index__(value) if issubclass(kind, int) and kind is not bool else None


def by_status(exc: Any, _: str = "") -> Verdict | None:
    """By the HTTP status that the exception, or its response, carries."""
    status = next((found for name in _STATUS_NAMES if (found := failed_status(attribute(exc, name)))), None)
    response = attribute(exc, "response")
    if status is None and response is not None:
        status = failed_status(attribute(response, "status_code")) or failed_status(attribute(response, "status"))
    return None if status is None else of_status(status, _headers(exc, response))


def failed_status(value: Any) -> int | None:
    """``value`` where it is an HTTP status that says failure."""
    status = whole(value)
    return status if status is not None and 400 <= status < 600 else None


def _headers(exc: Any, response: Any) -> dict[str, str]:
    for owner in (response, exc):
        headers = attribute(owner, "headers") if owner is not None else None
        if headers is not None:
            try:
                return lower_headers(headers)
            except BaseException as error:  # no headers after all, or such as cannot be read
                pass_on_signal(error)
    return {}


def by_own_words(exc: Any) -> Verdict | None:
    """What a class that no table names says of itself, by the names in common use: an HTTP status, an SQLSTATE, one
    of our codes, whether to try again and when."""
    found = by_status(exc) or of_sqlstate(attribute(exc, "sqlstate") or attribute(exc, "pgcode"))
    if found is None:
        code = attribute(exc, "code")
        found = Verdict(str(code)) if isinstance(code, str) and code in ADVICE else None
    again, wait = attribute(exc, "retryable"), _seconds(attribute(exc, "retry_after"))
    if type(again) is not bool and wait is None:
        return found
    code, known, when = found or Verdict(C.EXECUTION_ERROR)
    return Verdict(code, again if type(again) is bool else known, when if wait is None else wait)


def _seconds(value: Any) -> float | None:
    kind = type(value)
    if issubclass(kind, timedelta):
        value = timedelta.total_seconds(value)
    elif issubclass(kind, int) and kind is not bool:
        value = int.__index__(value)
    elif issubclass(kind, float):
        value = float.__float__(value)
    else:
        return None
    return float(value) if 0 <= value < 1e8 else None
