"""Numbers as text for people, in the terminal, in Markdown and in documents."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

from tooltrace.wording.i18n import DEFAULT, Translations

UNKNOWN = "–"
NUMERIC_UNITS = ("count", "aside", "share", "ratio", "ms", "number", "points")
"""Units of numbers; their columns are aligned to the right."""
_SPANS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))
_WORDS = Translations(DEFAULT)


def format_number(value: float, unit: str, *, aligned: bool = False, words: Translations = _WORDS) -> str:
    """Format ``value`` with its unit: shares in percent, differences of shares in signed percentage points.

    ``words``: the language of the units of time.
    ``aligned``: for the cells of a column whose title names the unit; milliseconds have no unit, ratios two decimals.
    """
    if unit == "share":
        return f"{100 * value:.1f} %"
    if unit == "points":
        return f"{100 * value:+.1f}" if round(100 * value, 1) else "0.0"
    if unit == "ms":
        return _milliseconds(value) if aligned else _duration(value, words)
    if unit == "ratio" and aligned:
        return f"{value:.2f}"
    if isinstance(value, int):
        return f"{value:,}" if unit in ("count", "aside") or not aligned else str(value)
    return f"{value:.6g}" if aligned else f"{value:.3g}"


def _milliseconds(ms: float) -> str:
    return f"{ms:,.2f}" if abs(ms) < 10 else f"{ms:,.1f}" if abs(ms) < 1000 else f"{ms:,.0f}"


def _duration(ms: float, words: Translations) -> str:
    for size, name in _SPANS:
        if abs(ms) >= size:
            return f"{_three_digits(ms / size)} {words(f'js.unit.{name}')}"
    return f"{_three_digits(1000 * ms)} {words('js.unit.us')}" if ms else f"0 {words('js.unit.ms')}"


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def figure(value: Any, unit: str, words: Translations) -> str:
    """Format any value of a result for a document."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, date | bool | str):
        return str(value)
    text = format_number(value, unit, words=words)
    return f"{text} {words('js.points')}" if unit == "points" else text


def interval(low: Any, high: Any, unit: str, words: Translations) -> str:
    """Format both ends in brackets; empty where both are unknown. Percentage points are not repeated as a unit."""
    if low is None and high is None:
        return ""

    def end(value: Any, infinite: str) -> str:
        if value is None:
            return infinite
        return format_number(value, unit) if unit == "points" else figure(value, unit, words)

    return f"[{end(low, '-∞')}, {end(high, '∞')}]"
