"""Parameters of queries, and the conversion of a person's input into values to bind."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, TypedDict

from tooltrace.errors import BadParameter
from tooltrace.store.database.schema import quote_literal

ParamValue = str | int | float | datetime | None
"""A value that is bound in the engine. Times are naive UTC, as in the column ``started_at``."""

Time = str | datetime | date | timedelta
"""A point in time: a span back from now such as ``"7d"``, a timedelta, or a date or time, in UTC unless it has a zone."""


class QueryOptions(TypedDict, total=False):
    """The parameters of all named queries, as keyword arguments. ``docs/reference/queries.md`` has those of each query."""

    agent: str | None
    asked: str | float | Iterable[str | float] | None
    base_s: float | str | None
    after: str | None
    before: Time | None
    before_span: str | None
    before_version: str | None
    call_id: str | None
    cap_s: float | str | None
    chance: float | str | None
    code: str | None
    conversation: str | None
    conversation_id: str | None
    conversations: str | None
    cut: int | str | None
    down_to: Time | None
    down_to_span: str | None
    ending: str | None
    evidence: int | str | None
    failing: int | str | None
    failure_threshold: int | str | None
    field: Literal["arguments", "error", "result", "seen"] | None
    good_share: float | str | None
    id: str | None
    k: int | str | None
    label: Literal["right", "wrong", "any", "none"] | None
    limit: int | str | None
    low_below: float | str | None
    max_confidence: float | str | None
    max_duration_ms: float | str | None
    min_confidence: float | str | None
    min_duration_ms: float | str | None
    min_failures: int | str | None
    min_n: int | str | None
    points: int | str | None
    model_saw_error: Literal["yes", "no"] | None
    objective: float | str | None
    odds: int | str | None
    offset: int | str | None
    outcome: Literal["right", "wrong", "none"] | None
    parts: int | str | None
    ratio: float | str | None
    recovering: int | str | None
    recovery_timeout: int | str | None
    reference: int | str | None
    repeats: int | str | None
    retry_share: float | str | None
    rule: str | None
    rules: Literal["certain", "all"] | None
    seconds: int | str | None
    seed: int | str | None
    since: Time | None
    sort: str | None
    span_id: str | None
    span_s: int | str | None
    spans: str | None
    status: str | None
    text: str | None
    tool: str | None
    trace_id: str | None
    until: Time | None
    version: str | None
    window_s: int | str | None
    without_confidence: Literal["yes", "no"] | None
    words: Literal["yes"] | None


_SPAN = re.compile(r"(\d+)\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryParameter:
    """One parameter of a query, as defined by its heading."""

    name: str
    type: str
    """``timestamp``, ``text``, ``integer``, ``positive``, ``number``, ``share``, ``objective``, ``shares``, ``rules`` or ``side``."""
    meaning: str
    default: ParamValue = None
    required: bool = False

    def bind(self, value: object, now: datetime) -> ParamValue:
        """Convert ``value`` into the value to bind; None gives the default. Spans count back from ``now`` (aware).

        Raises BadParameter with the parameter's name and the values that it accepts.
        """
        if value is None:
            if self.required:
                raise BadParameter(f"parameter {self.name!r} is required: pass {ACCEPTED[self.type]}")
            return self.default
        try:
            return _READERS[self.type](value, now)
        except (ValueError, TypeError, OverflowError):
            raise BadParameter(
                f"parameter {self.name!r} must be {ACCEPTED[self.type]}; got {repr(value)[:80]}"
            ) from None


def time_span(text: str) -> timedelta | None:
    """Return the length of a span such as ``7d``; None for other text. Raises OverflowError."""
    span = _SPAN.fullmatch(text.strip().lower())
    return timedelta(**{_UNITS[span[2]]: int(span[1])}) if span else None


def literal(value: ParamValue) -> str:
    """Return ``value`` as an SQL literal of the same type as when it is bound."""
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, str):
        return quote_literal(value)
    return f"CAST({value!r} AS DOUBLE)" if isinstance(value, float) else str(value)


def _timestamp(value: object, now: datetime) -> datetime:
    if isinstance(value, str):
        span = time_span(value)
        value = datetime.fromisoformat(value.strip()) if span is None else span
    if isinstance(value, timedelta):
        if value < timedelta(0):
            raise ValueError(value)
        value = now - value
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if not isinstance(value, datetime):
        raise TypeError(value)
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


def _text(value: object, _now: datetime) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode()  # a lone surrogate cannot be encoded, and the engine does not accept it
    return value


def _integer(value: object, _now: datetime) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(value)
    number = int(value)
    if not 0 <= number <= _LARGEST:
        raise ValueError(value)
    return number


def _positive(value: object, now: datetime) -> int:
    number = _integer(value, now)
    if number < 1:
        raise ValueError(value)
    return number


def _number(value: object, _now: datetime) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(value)
    number = float(value)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(value)
    return number


def _proportion(value: object, now: datetime) -> float:
    number = _number(value, now)
    if number > 1:
        raise ValueError(value)
    return number


def _objective(value: object, now: datetime) -> float:
    number = _number(value, now)
    return _share(number / 100 if number > 1 else number)


def _shares(value: object, _now: datetime) -> str:
    parts = value.split(",") if isinstance(value, str) else [value] if isinstance(value, float) else value
    if not isinstance(parts, Iterable):
        raise TypeError(value)
    shares = [_share(part) for part in parts]
    if not shares:
        raise ValueError(value)
    return ",".join(map(repr, shares))


def _rules(value: object, _now: datetime) -> str:
    if value not in ("certain", "all"):
        raise ValueError(value)
    return str(value)


def _share(part: object) -> float:
    if not isinstance(part, str | float):
        raise TypeError(part)
    share = float(part)
    if not 0 < share < 1:
        raise ValueError(part)
    return share


ACCEPTED = {
    "timestamp": "a time span back from now (30m, 24h, 7d, 2w), or an ISO date or time (in UTC unless it has a time zone)",
    "text": "text",
    "integer": "a whole number, 0 or more",
    "positive": "a whole number, 1 or more",
    "number": "a number, 0 or more",
    "share": "a number from 0 to 1",
    "objective": "a share between 0 and 1, or a percentage below 100",
    "shares": "one or more numbers between 0 and 1, separated by commas",
    "rules": "'certain' or 'all'",
    "side": "DIMENSION:VALUE, such as version:1.2, or a window of time, such as 14d..7d or 7d",
}
"""Values that each type of parameter accepts, in words."""

_READERS: dict[str, Callable[[object, datetime], ParamValue]] = {
    "timestamp": _timestamp,
    "text": _text,
    "integer": _integer,
    "positive": _positive,
    "number": _number,
    "share": _proportion,
    "objective": _objective,
    "shares": _shares,
    "rules": _rules,
    "side": _text,
}
