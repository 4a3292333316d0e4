"""Results for programs and documents: JSON, CSV, Markdown. Numbers are not rounded."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from typing import Any

import click

from tooltrace.cli.sanitize import clean
from tooltrace.core.spreadsheet import without_formula
from tooltrace.report.json_values import json_safe
from tooltrace.store.result import QueryResult

_MARKUP = re.compile(r"([\\`*\[\]<>|])")


def write(result: QueryResult, form: str) -> None:
    """Print ``result`` in the format ``form``: table, json, csv or markdown."""
    if form == "table":
        from tooltrace.cli.table import write_table

        write_table(result)
        return
    text = _FORMS[form](result)
    click.echo(clean(text, lines=True) if sys.stdout.isatty() else text, nl=False)


def as_json(result: QueryResult) -> str:
    """Return a JSON array of objects, one per line."""
    objects = (
        {column.name: json_safe(value, column.unit) for column, value in zip(result.fields, row, strict=True)}
        for row in result.rows
    )
    body = ",\n ".join(json.dumps(each, ensure_ascii=False, allow_nan=False) for each in objects)
    return f"[{body}]\n"


def as_csv(result: QueryResult) -> str:
    """Return a CSV text: a header line, and one line for each row; NULL is an empty field, and no field is a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([without_formula(column.name) for column in result.fields])
    writer.writerows(
        [_cell(value) if isinstance(value, int | float) else without_formula(_cell(value)) for value in row]
        for row in result.rows
    )
    return out.getvalue()


def as_markdown(result: QueryResult) -> str:
    """Return a Markdown table; characters that Markdown would interpret are escaped."""
    names = [_escape(column.name) for column in result.fields]
    rows = ([_escape(_cell(value)) for value in row] for row in result.rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (names, ["---"] * len(names), *rows))


def _cell(value: Any) -> str:
    value = json_safe(value)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _escape(cell: str) -> str:
    return _MARKUP.sub(r"\\\1", clean(cell))


_FORMS: dict[str, Callable[[QueryResult], str]] = {"json": as_json, "csv": as_csv, "markdown": as_markdown}
