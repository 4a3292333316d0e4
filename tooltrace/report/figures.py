"""Figures as a person reads them, in plain text."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

UNKNOWN = "–"
_SPANS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))


def figure(value: Any, unit: str) -> str:
    """``value`` with its unit: a share in percent, a time in UTC."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, date | bool | str):
        return str(value)
    return _number(value, unit)


def interval(low: Any, high: Any, unit: str) -> str:
    """Both ends, in brackets; nothing where neither is known."""
    if low is None and high is None:
        return ""
    ends = (("-∞" if low is None else figure(low, unit)), ("∞" if high is None else figure(high, unit)))
    return f"[{ends[0]}, {ends[1]}]"


def _number(value: float, unit: str) -> str:
    if unit == "share":
        return f"{100 * value:.1f} %"
    if unit == "points":
        return f"{100 * value:+.1f} pp"
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
