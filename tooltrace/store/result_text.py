"""A result as a table: text for a terminal, HTML for a notebook."""

from __future__ import annotations

import html
import shutil
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len, set_cell_size

from tooltrace.core.visible import visible_name

if TYPE_CHECKING:
    from tooltrace.store.result import QueryResult

MAX_ROWS: Final = 20
"""Rows of a table in a terminal."""
MAX_HTML_ROWS: Final = 100
"""Rows of a table in a notebook."""
MAX_TEXT: Final = 40
"""Characters of a text in a terminal."""
MAX_HTML_TEXT: Final = 500
MAX_NAMES: Final = 4
"""Names of columns that do not fit which the last line has."""
_UNKNOWN: Final = "-"
_LARGE: Final = 1000
"""Numbers from here on have no decimals."""


def as_text(result: QueryResult, max_rows: int = MAX_ROWS) -> str:
    """Return the first ``max_rows`` rows as lines, with the columns that fit into the width of the terminal.

    The last line counts the rows, and names the columns that do not fit.
    """
    rows = result.rows[:max_rows]
    room = shutil.get_terminal_size().columns
    columns: list[list[str]] = []
    for at, name in enumerate(result.columns):
        cells = [visible_name(name), *(_cell(row[at], MAX_TEXT) for row in rows)]
        width = max(map(cell_len, cells))
        room -= width + 2
        if columns and room < -2:  # no space is needed behind the last column
            break
        is_number = any(_is_number(row[at]) for row in rows)
        columns.append([_padded(cell, width, right=is_number) for cell in cells])
    lines = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
    return "\n".join([*lines, _end(result, len(rows), result.columns[len(columns) :])])


def as_html(result: QueryResult) -> str:
    """Return the first rows as a table in HTML; the meaning of a column is the title of its heading."""
    head = "".join(
        f'<th title="{html.escape(field.meaning)}">{html.escape(visible_name(field.name))}</th>'
        for field in result.fields
    )
    body = "".join(f"<tr>{''.join(_html_cell(value) for value in row)}</tr>" for row in result.rows[:MAX_HTML_ROWS])
    end = html.escape(_end(result, min(len(result), MAX_HTML_ROWS), ()))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{end}</p>"


def _html_cell(value: Any) -> str:
    style = ' style="text-align:right"' if _is_number(value) else ""
    return f"<td{style}>{html.escape(_cell(value, MAX_HTML_TEXT))}</td>"


def _cell(value: Any, max_text: int) -> str:
    if value is None:
        return _UNKNOWN
    if isinstance(value, float):
        return f"{value:.0f}" if _LARGE <= abs(value) < 1e15 else f"{value:.3g}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    text = visible_name(str(value))
    return text if len(text) <= max_text else f"{text[: max_text - 1]}…"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _padded(cell: str, width: int, *, right: bool) -> str:
    return " " * (width - cell_len(cell)) + cell if right else set_cell_size(cell, width)


def _end(result: QueryResult, shown: int, left_out: Sequence[str]) -> str:
    count = f"{len(result):,} row{'' if len(result) == 1 else 's'}"
    parts = [count if shown == len(result) else f"{shown:,} of {count}"]
    if left_out:
        names = ", ".join(map(visible_name, left_out[:MAX_NAMES]))
        more = len(left_out) - MAX_NAMES
        parts.append(f"not shown here: {names}{f' and {more} more columns' if more > 0 else ''}")
    return f"({'; '.join([*parts, *([result.note] if result.note else [])])})"
