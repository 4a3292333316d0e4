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

from tooltrace.cli.json_values import plain
from tooltrace.cli.sanitize import clean
from tooltrace.store.result import QueryResult

_MARKUP = re.compile(r"([\\`*\[\]<>|])")


def write(answer: QueryResult, form: str) -> None:
    """Print ``answer`` in the format ``form``: table, json, csv or markdown."""
    if form == "table":
        from tooltrace.cli.table import write_table

        write_table(answer)
        return
    text = _FORMS[form](answer)
    click.echo(clean(text, lines=True) if sys.stdout.isatty() else text, nl=False)


def as_json(answer: QueryResult) -> str:
    """Return a JSON array of objects, one per line."""
    objects = (json.dumps(_object(answer, row), ensure_ascii=False, allow_nan=False) for row in answer.rows)
    body = ",\n ".join(objects)
    return f"[{body}]\n"


def as_csv(answer: QueryResult) -> str:
    """Return a CSV text: a header line, and one line for each row; NULL is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in answer.fields])
    writer.writerows([_cell(value) for value in row] for row in answer.rows)
    return out.getvalue()


def as_markdown(answer: QueryResult) -> str:
    """Return a Markdown table; characters that Markdown would interpret are escaped."""
    names = [_escape(column.name) for column in answer.fields]
    rows = ([_escape(_cell(value)) for value in row] for row in answer.rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (names, ["---"] * len(names), *rows))


def _object(answer: QueryResult, row: tuple[Any, ...]) -> dict[str, Any]:
    return {column.name: plain(value, column.unit) for column, value in zip(answer.fields, row, strict=True)}


def _cell(value: Any) -> str:
    value = plain(value)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _escape(cell: str) -> str:
    return _MARKUP.sub(r"\\\1", clean(cell))


_FORMS: dict[str, Callable[[QueryResult], str]] = {"json": as_json, "csv": as_csv, "markdown": as_markdown}
