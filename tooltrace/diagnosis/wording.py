"""Figures and names in the sentences of findings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tooltrace.core.plural import format_count
from tooltrace.core.visible import shortened, visible_name

MAX_NAMES = 6
"""Names in a list; the others are counted."""


def percent(share: float | None) -> str:
    """Return a share in percent; one digit behind the point below 10 %."""
    if share is None:
        return "?"
    return f"{100 * share:.1f} %" if 0 < 100 * share < 9.95 else f"{100 * share:.0f} %"


def limits(low: float | None, high: float | None) -> str:
    """Return the interval of a share in parentheses; empty where it is unknown."""
    return "" if low is None or high is None else f" ({percent(low)} to {percent(high)})"


def moment(at: datetime) -> str:
    """Return a time to the minute, in UTC."""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def duration(ms: float) -> str:
    """Return a duration with three digits and its unit."""
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if ms >= size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms:.3g} ms"


def name(value: str) -> str:
    """Return a name of the history, shortened and without hidden characters."""
    return shortened(visible_name(value))


def quoted(text: str) -> str:
    """Return a text of the history in quotes, in one line, shortened and without hidden characters."""
    return f"'{shortened(visible_name(' '.join(text.split())))}'"


def names(values: Sequence[str]) -> str:
    """Return names as a list, of which the last ones are counted."""
    shown = ", ".join(map(name, values[:MAX_NAMES]))
    more = len(values) - MAX_NAMES
    return f"{shown} and {format_count(more, 'other')}" if more > 0 else shown
