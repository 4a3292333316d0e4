"""Error codes of HTTP statuses, and the wait that a response's headers demand.

Sources: RFC 9110, RFC 6585, the RateLimit header fields.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from tooltrace.core.codes import ToolErrorCode as C
from tooltrace.core.codes import advice_for
from tooltrace.normalize.exceptions.codes import ErrorClassification

STATUSES: dict[int, ErrorClassification] = {
    # 401: the server does not know the caller, who can reach nothing: ACCESS_DENIED. 403: it knows the caller, who
    # may not access this one thing: PERMISSION_DENIED, like EACCES for a file.
    401: ErrorClassification(C.ACCESS_DENIED),
    407: ErrorClassification(C.ACCESS_DENIED),
    511: ErrorClassification(C.ACCESS_DENIED),
    402: ErrorClassification(C.PERMISSION_DENIED),
    403: ErrorClassification(C.PERMISSION_DENIED),
    451: ErrorClassification(C.PERMISSION_DENIED),
    404: ErrorClassification(C.NOT_FOUND),
    410: ErrorClassification(C.NOT_FOUND),
    **dict.fromkeys((400, 405, 406, 411, 413, 414, 415, 416, 422, 428, 431), ErrorClassification(C.INVALID_PARAM)),
    **dict.fromkeys((408, 504, 522, 524, 598, 599), ErrorClassification(C.TIMEOUT)),
    409: ErrorClassification(C.CONFLICT),
    423: ErrorClassification(C.CONFLICT),
    412: ErrorClassification(C.CONFLICT, retryable=False),  # the precondition is part of the call itself
    429: ErrorClassification(C.RATE_LIMIT),
    420: ErrorClassification(C.RATE_LIMIT),
    **dict.fromkeys((425, 502, 503, 520, 521, 523, 525, 527, 529, 530), ErrorClassification(C.SERVICE_UNAVAILABLE)),
    **dict.fromkeys((501, 505, 506, 508, 510, 526), ErrorClassification(C.API_ERROR, retryable=False)),
}
"""Classification by status.

Any other status below 500 is the caller's fault; any other from 500 on is the server's fault, and may pass.
"""

_LONGEST = 366 * 86400
_EPOCH = 10**9
"""Reset values above this are points in time, not seconds to wait."""
_RESETS = ("ratelimit-reset", "x-ratelimit-reset-after", "x-ratelimit-reset", "x-rate-limit-reset", "ratelimit")
_REMAINING = ("x-ratelimit-remaining", "ratelimit-remaining", "x-rate-limit-remaining")
_IN_LIST = r"(?:^|[;,\s])(?:reset|t)=(\d+)"
_NUMBER = r"\d{1,16}(?:\.\d{1,9})?"


def of_status(status: int, headers: Mapping[str, str] | None = None) -> ErrorClassification:
    """Return the classification of a ``status`` that is not a success.

    ``headers``: by name in lower case.
    """
    known = STATUSES.get(status) or ErrorClassification(C.API_ERROR, 500 <= status < 600)
    if not headers:
        return known
    spent = any(headers.get(name) == "0" for name in _REMAINING)
    if status == 403 and (spent or "retry-after" in headers):  # GitHub reports a rate limit as 403
        known = STATUSES[429]
    # A wait is of no use if the same call can never succeed.
    if (advice_for(known.code).retryable if known.retryable is None else known.retryable) is False:
        return known
    return known._replace(retry_after_s=retry_after(headers, resets=known.code == C.RATE_LIMIT))


def retry_after(headers: Mapping[str, str], *, resets: bool = True) -> float | None:
    """Return the seconds after which the server accepts the next request; None if it does not say.

    ``headers``: by name in lower case. ``resets``: use the headers that say when a rate limit starts anew, too.
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        wait = _number(headers.get(name))
        if wait is not None:
            return _sane(wait / 1000)
    value = headers.get("retry-after")
    if value is not None:
        number = _number(value)
        wait = _until(value, headers.get("date")) if number is None else number
        if wait is not None:
            return _sane(wait)
    return next((wait for name in _RESETS if (wait := _reset(headers.get(name))) is not None), None) if resets else None


def lower_headers(headers: Any) -> dict[str, str]:
    """Return a client's headers by name in lower case.

    Keeps only texts, and only the first two hundred headers.
    """
    # hasattr on the type: an instance may compute any attribute, as a mock does.
    pairs = headers.items() if hasattr(type(headers), "items") else headers
    out: dict[str, str] = {}
    for number, (name, value) in enumerate(pairs):
        if number >= 200:
            break
        if isinstance(name, str) and isinstance(value, str):
            out.setdefault(name.lower(), value[:2000])
    return out


def _number(value: str | None) -> float | None:
    return float(value) if value is not None and re.fullmatch(_NUMBER, value.strip(), re.ASCII) else None


def _until(value: str, now: str | None) -> float | None:
    """Return the seconds until the HTTP date ``value``.

    ``now``: the server's own time, used instead of our clock if it is present.
    """
    then = _date(value)
    if then is None:
        return None
    start = _date(now) if now else None
    return max(0.0, then - (time.time() if start is None else start))


def _date(value: str) -> float | None:
    try:
        when = parsedate_to_datetime(value)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _reset(value: str | None) -> float | None:
    """Return the seconds until a rate limit starts anew.

    ``value`` holds seconds to wait, seconds or milliseconds since 1970, an ISO date, or a list of parameters.
    """
    if not value:
        return None
    listed = re.search(_IN_LIST, value, re.ASCII)
    number = float(listed[1]) if listed else _number(value)
    if number is None:
        return _sane(_iso(value))
    if number > _EPOCH * 100:  # milliseconds: as seconds it would be after the year 5000
        number /= 1000
    return _sane(max(0.0, number - time.time()) if number > _EPOCH else number)


def _iso(value: str) -> float | None:
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        return None
    return max(0.0, (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - time.time())


def _sane(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0.0 <= seconds <= _LONGEST else None
