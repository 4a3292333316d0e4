"""``tooltrace columns``: the tables for SQL, and the meaning of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tooltrace.cli.completion import complete_tables
from tooltrace.cli.errors import UsageError
from tooltrace.cli.options import FORMATS, examples, limit_option, output_options
from tooltrace.cli.wrapping import print_wrapped
from tooltrace.errors import near
from tooltrace.store.result import QueryResult, Statement, limited

if TYPE_CHECKING:
    from tooltrace.store.database.documented_tables import DocumentedTable


@click.command(
    short_help="List the tables' columns and their meaning.",
    epilog=examples("tooltrace columns tool_calls", "tooltrace columns --format csv", "tooltrace sql --tables"),
)
@click.argument("table", required=False, shell_complete=complete_tables)
@limit_option("Maximum number of rows.")
@output_options(*FORMATS)
def columns(*, table: str | None, limit: int | None, form: str) -> None:
    """List the columns of TABLE, which 'tooltrace sql' can query, with their types and meanings.

    Without TABLE, the columns of all tables are listed. No store is read.
    """
    from tooltrace.cli.output import write
    from tooltrace.store.database.documented_tables import TABLES, documented_tables

    if table is not None and table not in TABLES:
        hint = near(table, TABLES) or f"; the tables are {', '.join(TABLES)}"
        raise UsageError(f"unknown table {table!r}{hint}")
    chosen = [each for each in documented_tables() if table in (None, each.name)]
    if table is None and form == "table":
        _print_all(chosen, limit)
        return
    rows = [(each.name, *column) for each in chosen for column in each.columns]
    if table is None:
        result = _result(("table", "column", "type", "meaning"), rows)
    else:
        result = _result(("column", "type", "meaning"), [row[1:] for row in rows])
    write(result if limit is None else limited(result, limit), form)


def _print_all(tables: Sequence[DocumentedTable], limit: int | None) -> None:
    """Print the columns of each table below its name, so that they fit into a narrow terminal."""
    from rich.text import Text

    from tooltrace.cli.output import write
    from tooltrace.cli.table import console

    left = limit
    for each in tables:
        columns = each.columns[:left]
        if not columns:
            break
        print_wrapped(console(), Text(f"{each.name}: {each.comment}", "bold"), indent=2)
        write(_result(("column", "type", "meaning"), columns), "table")
        left = None if left is None else left - len(columns)


def list_tables(form: str) -> None:
    """Print the tables and views, and what a row of each is."""
    from tooltrace.cli.output import write
    from tooltrace.store.database.documented_tables import documented_tables

    write(_result(("table", "meaning"), [(table.name, table.comment) for table in documented_tables()]), form)


def _result(names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> QueryResult:
    return QueryResult.of_rows([(name, "VARCHAR") for name in names], rows, Statement(sql=""))
