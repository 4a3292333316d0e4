"""Figures as plain text for people."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

from tooltrace.report.i18n import Translations

UNKNOWN = "–"
_SPANS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))


def figure(value: Any, unit: str, words: Translations) -> str:
    """Format ``value`` with its unit: shares in percent, differences of shares in percentage points, times in UTC."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, date | bool | str):
        return str(value)
    return f"{points(value)} {words('js.points')}" if unit == "points" else _number(value, unit)


def points(value: float) -> str:
    """Format a difference of shares in percentage points, with its sign; zero has no sign."""
    return f"{100 * value:+.1f}" if round(100 * value, 1) else "0.0"


def interval(low: Any, high: Any, unit: str, words: Translations) -> str:
    """Format both ends in brackets; empty where both are unknown. Percentage points are not repeated as a unit."""
    if low is None and high is None:
        return ""

    def end(value: Any, beyond: str) -> str:
        if value is None:
            return beyond
        return points(value) if unit == "points" else figure(value, unit, words)

    return f"[{end(low, '-∞')}, {end(high, '∞')}]"


def _number(value: float, unit: str) -> str:
    if unit == "share":
        return f"{100 * value:.1f} %"
    if unit == "ms":
        return _duration(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3g}"


def _duration(ms: float) -> str:
    for size, name in _SPANS:
        if abs(ms) >= size:
            return f"{_three(ms / size)} {name}"
    return f"{_three(1000 * ms)} µs" if ms else "0 ms"


def _three(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
