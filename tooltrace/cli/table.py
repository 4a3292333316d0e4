"""Results for people: a table with units, percentages and intervals."""

from __future__ import annotations

import os
import sys
from datetime import date, datetime
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from tooltrace.analysis import ResultColumn
from tooltrace.cli.sanitize import clean
from tooltrace.report.json_values import json_safe
from tooltrace.report.numbers import NUMERIC_UNITS, format_number
from tooltrace.store.result import QueryResult

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WIDE = 10_000
_MAX_TEXT_LENGTH = 200
_NARROW = 8
_NAME = 16
"""Maximum length of a group's name that is never wrapped, if the figures fit without wrapping."""
_MIN_UNWRAPPED_WIDTH = 96
"""Minimum width of a terminal in which names of groups are not wrapped."""
_COLUMN = 40
"""Maximum characters of a text that count for the number of rows side by side; a longer text is folded."""


def console(*, stderr: bool = False) -> Console:
    """Return the console for people: colours on a terminal only, no markup in texts."""
    from rich.console import Console

    file = sys.stderr if stderr else sys.stdout
    width = None if file.isatty() or "COLUMNS" in os.environ else _WIDE
    return Console(file=file, width=width, markup=False, emoji=False, highlight=False)


def write_table(result: QueryResult) -> None:
    """Print ``result``. All-zero auxiliary counts and all-NULL text columns are hidden.

    A table that is too wide is transposed.
    """
    out = console()
    shown = [index for index in range(len(result.fields)) if _is_shown(result, index)]
    columns = [result.fields[index] for index in shown]
    cells = [[_format_cell(result, row, index) for index in shown] for row in result.rows]
    if cells and _min_width(columns, cells) > out.width:
        _write_transposed(columns, cells, out)
    else:
        _write_upright([index < result.groups for index in shown], columns, cells, out)


def _write_upright(groups: list[bool], columns: list[ResultColumn], cells: list[list[str]], out: Console) -> None:
    from rich.text import Text

    table = _table()
    numbers = [column.unit in NUMERIC_UNITS for column in columns]
    # Figures and names of groups are not broken across lines.
    unbroken = [
        number or (group and _longest(cells, at) <= _NAME and out.width >= _MIN_UNWRAPPED_WIDTH)
        for at, (number, group) in enumerate(zip(numbers, groups, strict=True))
    ]
    widths = _widths(columns, cells, unbroken, out.width)
    for at, (column, number) in enumerate(zip(columns, numbers, strict=True)):
        justify: Literal["left", "right"] = "right" if number else "left"
        table.add_column(
            Text(_title(column)), justify=justify, overflow="fold", width=widths[at] if unbroken[at] else None
        )
    for line in cells:
        table.add_row(*map(Text, line))
    out.print(table)


def _widths(columns: list[ResultColumn], cells: list[list[str]], unbroken: list[bool], room: int) -> list[int]:
    """Return the column widths with titles broken into as few lines as fit into ``room``.

    A column whose text may be folded gets its minimum width.
    """
    widths: list[int] = []
    for lines in range(1, 8):
        widths = [
            max(_longest(cells, at), _min_title_width(_title(column), lines))
            if unbroken[at]
            else min(_longest(cells, at), _NAME)
            for at, column in enumerate(columns)
        ]
        if sum(widths) + 2 * len(widths) <= room:
            break
    return widths


def _min_title_width(title: str, lines: int) -> int:
    """Return the minimum width at which ``title``, broken between words, takes at most ``lines`` lines."""
    least = _longest_word(title)
    return next((width for width in range(least, len(title)) if len(wrap(title, width)) <= lines), len(title))


def _write_transposed(columns: list[ResultColumn], cells: list[list[str]], out: Console) -> None:
    """Print the table transposed, with as many rows of the result side by side as fit."""
    from rich.text import Text

    titles = [_title(column) for column in columns]
    room = max(out.width - max(map(len, titles)) - 2, _NARROW)
    while cells:
        count = _fitting_count(cells, room)
        table = _table()
        table.add_column(no_wrap=True, style="dim")
        for _ in range(count):
            table.add_column(overflow="fold")
        for at, title in enumerate(titles):
            table.add_row(Text(title), *(Text(line[at]) for line in cells[:count]))
        table.show_header = False
        out.print(table)
        cells = cells[count:]


def _fitting_count(cells: list[list[str]], room: int) -> int:
    """Return how many of the first rows fit side by side; at least one."""
    for count, line in enumerate(cells):
        room -= min(max(map(len, line)), _COLUMN) + 2
        if room < 0:
            return max(count, 1)
    return len(cells)


def _min_width(columns: list[ResultColumn], cells: list[list[str]]) -> int:
    """Return the minimum readable width of the table: figures unbroken, texts with one word per line."""
    widths = (
        max(
            _longest(cells, at)
            if column.unit in NUMERIC_UNITS
            else max((min(_longest_word(line[at]), _NAME) for line in cells), default=0),
            _longest_word(_title(column)),
        )
        for at, column in enumerate(columns)
    )
    return sum(widths) + 2 * len(columns)


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=1)


def _longest(cells: list[list[str]], at: int) -> int:
    return max((len(line[at]) for line in cells), default=0)


def _table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))


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
    return text if len(text) <= _MAX_TEXT_LENGTH else f"{text[:_MAX_TEXT_LENGTH]}…"


def _format_cell(result: QueryResult, row: tuple[Any, ...], index: int) -> str:
    column = result.fields[index]
    text = format_value(row[index], column.unit)
    limits = {end.end_of: row[at] for at, end in enumerate(result.fields) if end.end_of}
    low, high = limits.get(("low", column.name)), limits.get(("high", column.name))
    if low is None or high is None or row[index] is None:
        return text
    ends = (format_number(end, column.unit, aligned=True).removesuffix(" %") for end in (low, high))
    return f"{text} [{', '.join(ends)}]"


def _title(column: ResultColumn) -> str:
    name = clean(column.name)
    name = name if name.startswith("attributes.") else name.replace("_", " ") if column.meaning else name
    if column.unit == "ms" and not name.endswith(" ms"):
        return f"{name} ms"
    return f"{name} (UTC)" if column.unit == "time" else name


def _is_shown(result: QueryResult, index: int) -> bool:
    column = result.fields[index]
    if column.end_of or column.unit == "parts":
        return False
    if index < result.groups or not column.meaning or not result.rows:
        return True
    if column.unit in ("aside", "mark"):
        return any(row[index] for row in result.rows)
    return column.unit not in ("text", "json") or any(row[index] is not None for row in result.rows)
