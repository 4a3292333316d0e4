"""``tooltrace sql``: run any query in SQL."""

from __future__ import annotations

import sys

import click

from tooltrace.cli.options import FORMATS, format_option, place_or_journals_option
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import Statement


@click.command(short_help="Run a query in SQL.")
@click.argument("statement", required=False)
@format_option(*FORMATS)
@place_or_journals_option
def sql(*, statement: str | None, journals_only: bool, form: str, store: StoreBackend) -> None:  # noqa: ARG001 - the option --store reads journals_only
    """Run a query in SQL. Without STATEMENT, or with -, the statement is read from standard input.

    Tables: tool_calls, attempts (tool_calls without the model's messages), calls, outcomes, gates, sources, messages,
    spans, losses. The store is open for reading only.
    """
    from tooltrace.cli.output import write

    if statement in (None, "-"):
        statement = sys.stdin.read()
    if not (statement or "").strip():
        raise click.UsageError("no SQL statement: pass it as an argument, or on standard input")
    result = store.query(Statement(sql=statement or ""))
    if result.fields:  # a statement such as SET returns no table
        write(result, form)
        if not result.rows:
            click.echo("No rows.", err=True)
