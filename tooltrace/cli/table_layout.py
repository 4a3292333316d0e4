"""The cells of a table for people, and the choice of the columns and rows of a result that it shows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from tooltrace.cli.sanitize import clean
from tooltrace.core.plural import format_count
from tooltrace.core.visible import BLANK
from tooltrace.report.json_values import json_safe
from tooltrace.store.result import QueryResult, ResultColumn, Row
from tooltrace.wording.numbers import NUMERIC_UNITS, format_number

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


NAME_WIDTH = 16
"""Minimum width of a column of names, unless they are shorter."""
TEXT_WIDTH = 24
"""Minimum width of a column of sentences, unless they are shorter."""
_ESSENTIAL = 4
"""Number of the first important columns without which a table does not say what it is about."""
ID_WIDTH = 36
"""Maximum length of a word without spaces that is never broken, such as an id."""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The rows and columns that a table shows, and those that it leaves out."""

    positions: tuple[int, ...]
    """Positions of the shown columns."""
    rows: tuple[Row, ...]
    empty: tuple[str, ...] = ()
    """Names of the columns that say nothing in these rows."""
    narrow: tuple[str, ...] = ()
    """Names of the columns for which the terminal is too narrow."""
    left_out: int = 0
    """Number of rows that say nothing."""
    without: tuple[str, ...] = ()
    """Names of the columns that are 0 or NULL in those rows."""
    cut: int = 0
    """Number of further rows, beyond a limit."""
    name_width: int = ID_WIDTH
    """Maximum width of an unbroken name of a group."""

    def note(self) -> str:
        """Return sentences on what is left out, or an empty text."""
        if not self.rows:
            return ""
        nothing = " and ".join(self.without)
        parts = [f"{format_count(self.left_out, 'row')} without {nothing}"] if self.left_out else []
        parts += [f"columns without values ({', '.join(self.empty)})"] if self.empty else []
        parts += [f"columns for a wider terminal ({', '.join(self.narrow)})"] if self.narrow else []
        sentences = (
            [f"{len(self.rows):,} of {format_count(len(self.rows) + self.cut, 'row')} (--limit)."] if self.cut else []
        )
        sentences += [f"Hidden: {'; '.join(parts)}. Show everything: --all"] if parts else []
        return " ".join(sentences)


def everything(result: QueryResult, limit: int | None = None) -> TableLayout:
    """Return the layout with every column and ``limit`` rows.

    The limits of intervals are not columns of a table: they stand beside the figure.
    """
    shown = tuple(at for at, column in enumerate(result.fields) if not column.end_of and column.unit != "parts")
    rows = tuple(result.rows[:limit])
    return TableLayout(shown, rows, cut=len(result.rows) - len(rows))


def choose(
    result: QueryResult,
    *,
    important: Sequence[str] = (),
    hidden: Collection[str] = (),
    limit: int | None = None,
    width: int,
) -> TableLayout:
    """Return the layout without rows and columns that say nothing, in at most ``width`` characters.

    ``important``: the columns to show first; the others follow in their own order. ``hidden``: a row in which all these
    columns are 0 or NULL is left out, unless that holds for all rows. Columns of groups are always shown. A result of one
    row keeps all its columns, and is printed as a list where it is too wide.
    """
    filled = _rows_with_data(result, hidden)
    rows = filled[:limit]
    shown, empty = _columns_with_data(result, rows)
    narrow: set[int] = set()
    name_width = ID_WIDTH
    if len(result.rows) > 1:
        narrow = _narrow(result, rows, shown, important, width, name_width)
        if {result.fields[at].name for at in narrow} & set(important[:_ESSENTIAL]):
            # long names are folded before the table drops what it is about
            name_width = max(NAME_WIDTH, width // 4)
            narrow = _narrow(result, rows, shown, important, width, name_width)
    return TableLayout(
        tuple(at for at in shown if at not in narrow),
        tuple(rows),
        empty=tuple(empty),
        narrow=tuple(result.fields[at].name for at in shown if at in narrow),
        left_out=len(result.rows) - len(filled),
        without=tuple(name for name in hidden if name in result.columns),
        cut=len(filled) - len(rows),
        name_width=name_width,
    )


def min_width(column: ResultColumn, cells: Sequence[str], id_width: int = ID_WIDTH) -> int:
    """Return the minimum readable width of a column: figures and ids unbroken, sentences in several lines.

    ``id_width``: from this length on, a word is broken.
    """
    heading = max(map(len, title(column).split()), default=1)
    longest = max(map(len, cells), default=0)
    if column.unit not in NUMERIC_UNITS:
        word = max((len(word) for cell in cells for word in cell.split()), default=0)
        has_sentences = any(" " in cell for cell in cells)
        longest = min(longest, max(min(TEXT_WIDTH, id_width), min(word, id_width)) if has_sentences else id_width)
    return max(longest, heading)


def total_width(columns: Sequence[ResultColumn], cells: Sequence[Sequence[str]], id_widths: Sequence[int]) -> int:
    """Return the minimum readable width of a table; ``id_widths``: as in ``min_width``, of each column."""
    return sum(min_width(column, [line[at] for line in cells], id_widths[at]) + 2 for at, column in enumerate(columns))


def _rows_with_data(result: QueryResult, hidden: Collection[str]) -> list[Row]:
    at = [result.columns.index(name) for name in hidden if name in result.columns]
    rows = [row for row in result.rows if any(row[position] for position in at)] if at else []
    return rows or list(result.rows)


def _columns_with_data(result: QueryResult, rows: Sequence[Row]) -> tuple[list[int], list[str]]:
    shown: list[int] = []
    empty: list[str] = []
    for at, column in enumerate(result.fields):
        if column.end_of or column.unit == "parts" or at == unit_column(result):
            continue
        if (
            at < result.groups
            or not column.meaning
            or not rows
            or any(row[at] if column.unit in ("aside", "mark") else row[at] is not None for row in rows)
        ):
            shown.append(at)
        else:
            empty.append(column.name)
    return shown, empty


def _narrow(
    result: QueryResult,
    rows: Sequence[Row],
    shown: Sequence[int],
    important: Sequence[str],
    width: int,
    name_width: int,
) -> set[int]:
    """Return the positions of the columns that do not fit into ``width``."""
    cells = format_cells(result, rows, shown)
    widths = {
        at: min_width(result.fields[at], [line[i] for line in cells], name_width if at < result.groups else ID_WIDTH)
        + 2
        for i, at in enumerate(shown)
    }
    rank = {name: number for number, name in enumerate(important)}
    left = width - sum(widths[at] for at in shown if at < result.groups)
    narrow: set[int] = set()
    for at in sorted(
        (at for at in shown if at >= result.groups), key=lambda at: (rank.get(result.fields[at].name, len(rank)), at)
    ):
        # behind the first column that does not fit, a column of details would stand alone
        if widths[at] > left or (narrow and result.fields[at].name not in rank):
            narrow.add(at)
        else:
            left -= widths[at]
    return narrow
