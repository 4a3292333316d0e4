"""Results for people: a table with units, percentages and intervals."""

from __future__ import annotations

import os
import sys
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

from tooltrace.cli.table_layout import (
    ID_WIDTH,
    NAME_WIDTH,
    TableLayout,
    everything,
    format_cells,
    format_value,
    min_width,
    title,
    total_width,
)
from tooltrace.store.result import QueryResult, ResultColumn
from tooltrace.wording.numbers import NUMERIC_UNITS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["console", "format_value", "write_table"]

_WIDE = 10_000
_NARROW = 8
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


def write_table(result: QueryResult, layout: TableLayout | None = None) -> None:
    """Print what ``layout`` shows of ``result``; None shows everything.

    A table that is too wide for the terminal is transposed; its rows become columns.
    """
    out = console()
    layout = layout or everything(result)
    columns = [result.fields[at] for at in layout.positions]
    cells = format_cells(result, layout.rows, layout.positions)
    groups = [at < result.groups for at in layout.positions]
    id_widths = [layout.name_width if group else ID_WIDTH for group in groups]
    if total_width(columns, cells, id_widths) > out.width:
        _write_transposed(columns, cells, out)
    else:
        _write_upright(groups, columns, cells, id_widths, out)


def _write_upright(
    groups: list[bool], columns: list[ResultColumn], cells: list[list[str]], id_widths: list[int], out: Console
) -> None:
    from rich.text import Text

    table = _table()
    numbers = [column.unit in NUMERIC_UNITS for column in columns]
    # Figures, ids and names of groups are not broken across lines.
    unbroken = [
        number
        or _is_unbroken(cells, at, NAME_WIDTH if group and out.width >= _MIN_UNWRAPPED_WIDTH else 0, id_widths[at])
        for at, (number, group) in enumerate(zip(numbers, groups, strict=True))
    ]
    widths = _widths(columns, cells, unbroken, id_widths, out.width)
    for at, (column, number) in enumerate(zip(columns, numbers, strict=True)):
        justify: Literal["left", "right"] = "right" if number else "left"
        table.add_column(
            Text(title(column)), justify=justify, overflow="fold", width=widths[at] if unbroken[at] else None
        )
    for line in cells:
        table.add_row(*map(Text, line))
    out.print(table)


def _is_unbroken(cells: list[list[str]], at: int, name_width: int, id_width: int) -> bool:
    """Whether the texts of a column are ids of at most ``id_width`` characters, or names of at most ``name_width``."""
    longest = _longest(cells, at)
    return longest <= name_width or (longest <= id_width and not any(" " in line[at] for line in cells))


def _widths(
    columns: list[ResultColumn], cells: list[list[str]], unbroken: list[bool], id_widths: list[int], room: int
) -> list[int]:
    """Return the column widths with titles broken into as few lines as fit into ``room``.

    A column whose text may be folded gets its minimum width.
    """
    widths: list[int] = []
    for lines in range(1, 8):
        widths = [
            max(_longest(cells, at), _min_title_width(title(column), lines))
            if unbroken[at]
            else min_width(column, [line[at] for line in cells], id_widths[at])
            for at, column in enumerate(columns)
        ]
        if sum(widths) + 2 * len(widths) <= room:
            break
    return widths


def _min_title_width(text: str, lines: int) -> int:
    """Return the minimum width at which the title ``text``, broken between words, takes at most ``lines`` lines."""
    least = _longest_word(text)
    return next((width for width in range(least, len(text)) if len(wrap(text, width)) <= lines), len(text))


def _write_transposed(columns: list[ResultColumn], cells: list[list[str]], out: Console) -> None:
    """Print the table transposed, with as many rows of the result side by side as fit."""
    from rich.text import Text

    titles = [title(column) for column in columns]
    room = max(out.width - max(map(len, titles)) - 2, _NARROW)
    while cells:
        count = _fitting_count(cells, room)
        table = _table()
        table.add_column(no_wrap=True, style="dim")
        for _ in range(count):
            table.add_column(overflow="fold")
        for at, name in enumerate(titles):
            table.add_row(Text(name), *(Text(line[at]) for line in cells[:count]))
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


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=1)


def _longest(cells: list[list[str]], at: int) -> int:
    return max((len(line[at]) for line in cells), default=0)


def _table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
