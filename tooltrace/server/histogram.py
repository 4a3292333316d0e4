"""Layout of the number of attempts over time, stacked by status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tooltrace.report.time_range import TimeRange, parse_time

HEIGHT: Final = 100.0
"""Height of the highest bar; the drawing is scaled to its place."""
PARTS: Final = 60
"""Maximum number of intervals; one more if the window begins inside an interval."""
LENGTHS: Final = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800),
    *(2592000, 31536000),
)
"""Round lengths of an interval in seconds, as in the query attempt_counts."""
ORDER: Final = ("success", "partial", None, "error")
"""The statuses from the bottom of a bar to its top; None is an attempt that reported no status."""


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """The attempts of one status in one interval; places in percent of the width, heights from the top."""

    status: str | None
    attempts: int
    since: datetime
    until: datetime
    left: float
    width: float
    top: float
    height: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """The bars, the time that they span, and the number of attempts by status."""

    bars: Sequence[HistogramBar]
    since: datetime | None
    until: datetime | None
    total: int
    by_status: Mapping[str | None, int]
    """Counts under all filters but the status: what a click on a status would show."""


def histogram(rows: list[dict[str, Any]], window: TimeRange[str], *, legend: list[dict[str, Any]]) -> Histogram:
    """Return the layout of ``rows`` of the query attempt_counts over the whole ``window``."""
    found: dict[str | None, int] = defaultdict(int)
    for row in legend:
        found[row["status"]] += row["attempts"]
    by_status = {status: found[status] for status in ORDER if found[status]}
    total = sum(row["attempts"] for row in rows)
    if not rows:
        return Histogram((), None, None, total, by_status)
    since, until = _span(rows, window)
    return Histogram(tuple(_bars(rows, since, until)), since, until, total, by_status)


def interval_of(window: TimeRange[str]) -> int | None:
    """Return the seconds of an interval, such that the window has at most ``PARTS``; None for a window with an open start.

    Raises BadParameter.
    """
    if window.since is None:
        return None
    since, until = _ends(window)
    length = (until - since).total_seconds() / PARTS
    return next((seconds for seconds in LENGTHS if seconds >= length), LENGTHS[-1])


def _ends(window: TimeRange[str]) -> tuple[datetime, datetime]:
    now = datetime.now(UTC)
    return parse_time("since", window.since, now), parse_time("until", window.until, now)


def _span(rows: list[dict[str, Any]], window: TimeRange[str]) -> tuple[datetime, datetime]:
    """Return the time of the drawing: the window, or that of the attempts where the start of the window is open.

    It ends with the window, which is now where none is given, and not with the last interval, which may end later. The clock
    of another machine may be ahead: then it ends with the interval of the last attempt.
    """
    first, last = rows[0]["started"], rows[-1]["started"]
    end = last + timedelta(seconds=rows[-1]["seconds"])
    since, until = _ends(window)
    until = until if until > last else end
    return (first, min(end, until)) if window.since is None else (min(first, since), until)


def _bars(rows: list[dict[str, Any]], since: datetime, until: datetime) -> Iterator[HistogramBar]:
    seconds = max((until - since).total_seconds(), 1e-6)
    per_interval: dict[datetime, dict[str | None, int]] = defaultdict(dict)
    for row in rows:
        counts = per_interval[row["started"]]
        counts[row["status"]] = counts.get(row["status"], 0) + row["attempts"]
    highest = max(sum(counts.values()) for counts in per_interval.values())
    length = timedelta(seconds=rows[0]["seconds"])
    for start, counts in per_interval.items():
        top = HEIGHT
        left = 100 * (start - since).total_seconds() / seconds
        width = 100 * min(length, until - start).total_seconds() / seconds
        for status in (*ORDER, *sorted(counts.keys() - set(ORDER), key=str)):
            if attempts := counts.get(status, 0):
                # A single failure among thousands of attempts must remain visible.
                height = max(HEIGHT * attempts / highest, 1.5)
                top -= height
                yield HistogramBar(status, attempts, start, start + length, left, width, top, height)
