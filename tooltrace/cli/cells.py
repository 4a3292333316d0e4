"""Values of a result as text for people: units, percentages and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from tooltrace.cli.sanitize import clean
from tooltrace.core.visible import BLANK
from tooltrace.report.json_values import json_safe
from tooltrace.store.result import QueryResult, ResultColumn, Row
from tooltrace.wording.numbers import format_number

MAX_TEXT_LENGTH = 200


def format_value(value: Any, unit: str = "") -> str:
    """Format ``value`` for people."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return ("yes" if value else "") if unit == "mark" else ("yes" if value else "no")
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, int | float) and unit:
        return format_number(value, unit, aligned=True) + (" pp" if unit == "points" else "")
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int | date):
        return str(value)
    text = clean(value if isinstance(value, str) else str(json_safe(value)))
    if isinstance(value, str) and not value.strip():
        return BLANK
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]}…"


def format_cells(result: QueryResult, rows: Sequence[Row], positions: Sequence[int]) -> list[list[str]]:
    """Format the columns at ``positions`` of ``rows``, a figure with its interval."""
    limits = {end.end_of: at for at, end in enumerate(result.fields) if end.end_of}
    unit_at = unit_column(result)
    return [[_format_cell(result.fields[at], row, at, limits, unit_at) for at in positions] for row in rows]


def unit_column(result: QueryResult) -> int | None:
    """Return the position of the column ``unit``, which holds the unit of the numbers in its row; None without one."""
    return next((at for at, column in enumerate(result.fields) if column.name == "unit" and column.meaning), None)


def title(column: ResultColumn) -> str:
    """Return the heading of a column, with the unit where the cells do not show it."""
    name = clean(column.name)
    name = name if name.startswith("attributes.") else name.replace("_", " ") if column.meaning else name
    if column.unit == "ms" and not name.endswith(" ms"):
        return f"{name} ms"
    return f"{name} (UTC)" if column.unit == "time" else name


def _format_cell(
    column: ResultColumn, row: Row, at: int, limits: dict[tuple[str, str], int], unit_at: int | None
) -> str:
    value, unit = row[at], column.unit
    if unit_at is not None and unit == "number":
        unit = row[unit_at] or unit
        unit = "points" if unit == "share" and column.name == "difference" else unit
    text = format_value(value, unit)
    low, high = (row[limits[side, column.name]] if (side, column.name) in limits else None for side in ("low", "high"))
    if low is None or high is None or value is None:
        return text
    if unit == "number":  # an interval decides how many digits mean something
        text, *ends = (f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}" for number in (value, low, high))
    else:
        ends = [format_number(end, unit, aligned=True).removesuffix(" %") for end in (low, high)]
    return f"{text} [{', '.join(ends)}]"
