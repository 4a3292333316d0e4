"""Retries with stamina. Inside one ``tt.context(call_id=…)`` each retry is the next attempt of the same call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx
import stamina

import tooltrace as tt

T = TypeVar("T")
_RETRIED = (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE)
_LIMITS: dict[str, Any] = {"attempts": 3, "timeout": None, "wait_initial": 0.02, "wait_max": 0.1, "wait_jitter": 0}


class _Retryable(Exception):
    """A response with an error that another attempt may avoid."""

    def __init__(self, response: tt.ToolResponse) -> None:
        super().__init__(response.text)
        self.response = response


def retry(attempt: Callable[[], T]) -> T:
    """Return the result of ``attempt``, retried if that may help; the last result if all attempts fail."""
    try:
        for attempt_context in stamina.retry_context(on=_should_retry, **_LIMITS):
            with attempt_context:
                return _checked(attempt())
    except _Retryable as last:
        return last.response  # type: ignore[return-value]  # T is ToolResponse where _Retryable was raised
    raise AssertionError("unreachable")


async def retry_async(attempt: Callable[[], Awaitable[T]]) -> T:
    """Retry a coroutine function as :func:`retry` does."""
    try:
        async for attempt_context in stamina.retry_context(on=_should_retry, **_LIMITS):
            with attempt_context:
                return _checked(await attempt())
    except _Retryable as last:
        return last.response  # type: ignore[return-value]
    raise AssertionError("unreachable")


def _checked(result: T) -> T:
    if isinstance(result, tt.ToolResponse) and result.error and result.error.retryable:
        raise _Retryable(result)
    return result


def _should_retry(error: Exception) -> bool | float:
    """Whether another attempt may succeed; a number of seconds if the required wait is known."""
    if isinstance(error, _Retryable):
        return _seconds((error.response.stats or {}).get("retry_after_s"))
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in _RETRIED and _seconds(error.response.headers.get("Retry-After"))
    return isinstance(error, httpx.TimeoutException)


def _seconds(retry_after: Any) -> bool | float:
    return True if retry_after is None else float(retry_after)
