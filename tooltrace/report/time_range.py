"""The time range of a page or a report, and the one before it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Literal, TypeVar

from tooltrace.analysis.parameters import QueryParameter
from tooltrace.errors import BadParameter

End = TypeVar("End", datetime, str)
"""One end of a range: a time in naive UTC, or a person's input, such as ``7d`` or ``2026-11-08``."""

Begin = Literal["default", "first", "given"]
"""How the beginning of a range was chosen: the default span, the first record, or by the user."""

_SPAN = re.compile(r"(\d{1,6})([smhdw])")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange(Generic[End]):
    """The time from ``since`` up to ``until``, and optionally one tool. An end that is None is open."""

    since: End | None = None
    until: End | None = None
    tool: str | None = None
    begins: Begin = "given"

    @property
    def params(self) -> dict[str, Any]:
        """The range as parameters of a query, without open ends."""
        known = {"since": self.since, "until": self.until, "tool": self.tool}
        return {name: value for name, value in known.items() if value is not None}

    @property
    def length(self) -> timedelta | None:
        """The time between the ends; None where an end is open, or not yet a time."""
        if isinstance(self.since, datetime) and isinstance(self.until, datetime):
            return self.until - self.since
        return None

    @property
    def before(self) -> datetime | str | None:
        """Start of the equally long range that ends at ``since``; None where it cannot be computed.

        For a span up to now the result is a span too ("14d" for "7d"): it moves with the clock as ``since`` does.
        """
        if self.since is None:
            return None
        if isinstance(self.since, str) and self.until is None and (span := _SPAN.fullmatch(self.since)):
            return f"{2 * int(span[1])}{span[2]}"
        now = datetime.now(UTC)
        try:
            since, until = parse_time("since", self.since, now), parse_time("until", self.until, now)
            return since - (until - since) if since < until else None
        except (BadParameter, OverflowError):  # the query reports the wrong parameter
            return None


def fixed_range(
    *, since: str | None, until: str | None, tool: str | None = None, now: datetime | None = None
) -> TimeRange[datetime]:
    """Return a range of fixed times, the same for all queries of a report. Raises BadParameter.

    ``since`` and ``until`` are spans back from ``now``, dates or times; without ``until`` the range ends now.
    """
    now = now or datetime.now(UTC)
    start, end = parse_time("since", since, now) if since else None, parse_time("until", until or None, now)
    if start is not None and start >= end:
        raise BadParameter(f"parameter 'since' ({start} UTC) must be before 'until' ({end} UTC)")
    return TimeRange(since=start, until=end, tool=tool)


def parse_time(name: str, value: datetime | str | None, now: datetime) -> datetime:
    """Return ``value`` as naive UTC; None is ``now``. Raises BadParameter with the parameter's name."""
    found = QueryParameter(name=name, type="timestamp", meaning="").bind(now if value is None else value, now)
    assert isinstance(found, datetime)
    return found
