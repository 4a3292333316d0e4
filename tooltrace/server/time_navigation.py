"""Steps from one time range to others: earlier, later, wider and narrower."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tooltrace.errors import BadParameter
from tooltrace.report.time_range import TimeRange, parse_time

Step = dict[str, str]
"""``since`` and ``until`` of an address."""

_SHORTEST = timedelta(seconds=4)
_SPAN = re.compile(r"\d+[smhdw]")
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeNavigation:
    """The ends of a time range, naive UTC, and the ranges beside it; None for an open end or a missing range."""

    since: datetime | None
    """None: the complete history."""
    until: datetime
    now: datetime
    earlier: Step | None = None
    later: Step | None = None
    wider: Step | None = None
    narrower: Step | None = None


def navigate(window: TimeRange[str], now: datetime | None = None) -> TimeNavigation | None:
    """Return the ranges beside ``window``; None if its ends are not times, or not in order.

    A range that ends now keeps doing so when it is zoomed. ``later`` is offered for a range that ended before now.
    """
    now = now or datetime.now(UTC)
    try:
        since = None if window.since is None else parse_time("since", window.since, now)
        until = parse_time("until", window.until, now)
    except BadParameter:
        return None
    present = now.replace(tzinfo=None)
    if since is None:
        return TimeNavigation(since=None, until=until, now=present)
    length = until - since
    if length <= timedelta(0):
        return None
    live = window.until is None and window.since is not None and _SPAN.fullmatch(window.since.strip().lower())
    half = length / 2
    # A wider range grows at both ends, but not beyond now.
    shift = min(half, max(present - until, timedelta(0)))
    return TimeNavigation(
        since=since,
        until=until,
        now=present,
        earlier=_step(lambda: (since - length, since)),
        later=_step(lambda: (until, until + length)) if until < present else None,
        wider={"since": _span(2 * length)} if live else _step(lambda: (until + shift - 2 * length, until + shift)),
        narrower=None
        if length < _SHORTEST
        else {"since": _span(half)}
        if live
        else _step(lambda: (since + length / 4, until - length / 4)),
    )


def length_seconds(window: TimeRange[str]) -> int | None:
    """Return the length of ``window`` in whole seconds, at least 1; None if it has no start.

    More than an hour is rounded up to minutes, so that a window that ends now is the same query for a minute.
    """
    ends = navigate(window)
    if ends is None or ends.since is None:
        return None
    seconds = max(round((ends.until - ends.since).total_seconds()), 1)
    return seconds if seconds <= 3600 else -(-seconds // 60) * 60


def _step(ends: Callable[[], tuple[datetime, datetime]]) -> Step | None:
    try:
        since, until = ends()
    except OverflowError:
        return None
    return {"since": _iso(since), "until": _iso(until)}


def _iso(time: datetime) -> str:
    return f"{time.isoformat(timespec='seconds')}Z"


def _span(length: timedelta) -> str:
    """Return ``length`` in the largest unit that divides it."""
    seconds = max(round(length.total_seconds()), 1)
    size, name = next((size, name) for size, name in _UNITS if seconds % size == 0)
    return f"{seconds // size}{name}"
