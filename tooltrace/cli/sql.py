"""``tooltrace sql``: run any query in SQL."""

from __future__ import annotations

import sys

import click

from tooltrace.cli.columns import list_tables
from tooltrace.cli.errors import UsageError
from tooltrace.cli.options import FORMATS, examples, limit_option, output_options, place_or_journals_option
from tooltrace.cli.store_name import is_file
from tooltrace.core.plural import format_count
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import QueryResult, Statement, limited


@click.command(
    short_help="Run a query in SQL.",
    epilog=examples(
        "tooltrace sql 'SELECT tool, count(*) AS n FROM tool_calls GROUP BY tool'",
        "tooltrace sql \"SELECT * FROM calls WHERE status = 'error'\" -n 3 -f json",
        "tooltrace sql 'FROM outcomes' agent.duckdb -o outcomes.csv",
        "tooltrace sql --tables",
        "tooltrace sql 'SELECT tool, code FROM tool_calls' --save codes",
        "tooltrace sql --saved codes",
    ),
)
@click.argument("statement", required=False)
@click.option("--tables", is_flag=True, help="List the tables; 'tooltrace columns TABLE' lists the columns of one.")
@click.option("--saved", metavar="NAME", help="Run the query that was saved as NAME. '?' lists the saved queries.")
@click.option("--save", metavar="NAME", help="Save the statement in the store as NAME, after it has run.")
@limit_option("Maximum number of rows to print.")
@output_options(*FORMATS)
@place_or_journals_option
def sql(
    *,
    statement: str | None,
    tables: bool,
    saved: str | None,
    save: str | None,
    limit: int | None,
    journals_only: bool,  # noqa: ARG001 - the option --store reads it
    form: str,
    store: StoreBackend,
) -> None:
    """Run a query in SQL. Without STATEMENT, or with -, the statement is read from standard input.

    Tables: tool_calls, attempts (tool_calls without the model's messages), calls, outcomes, gates, sources, messages,
    spans, saved_queries, losses. The store is open for reading only.
    """
    from tooltrace.analysis.saved_queries import require_supported, save_query, saved_query
    from tooltrace.cli.output import write

    if tables:
        list_tables(form)
        return
    if saved == "?":
        write(_saved_list(store), form)
        return
    if saved is not None and (statement is not None or save is not None):
        raise UsageError("--saved runs a saved query: pass neither a statement nor --save")
    if save is not None:
        require_supported(store)
    text = _statement(statement) if saved is None else saved_query(store, saved).sql or ""
    result = store.query(Statement(sql=text))
    if save is not None:
        click.echo(f"Saved as {save_query(store, save, text).name}.", err=True)
    if not result.fields:  # a statement such as SET returns no table
        return
    total = len(result.rows)
    write(result if limit is None else limited(result, limit), form)
    if not total:
        click.echo("No rows.", err=True)
    elif limit is not None and total > limit and form == "table":
        click.echo(f"{limit:,} of {format_count(total, 'row')} (--limit).", err=True)


def _statement(statement: str | None) -> str:
    """Return the statement of the command line or of standard input. Raises UsageError."""
    if statement is not None and is_file(statement):
        raise UsageError(f"{statement!r} is a file: pass the statement first, then the store; - reads standard input")
    if statement is None and sys.stdin.isatty():
        statement = ""
    if statement in (None, "-"):
        statement = sys.stdin.read()
    if not (statement or "").strip():
        raise UsageError(
            "no SQL statement: pass it as an argument, such as 'SELECT tool, code FROM tool_calls', or on standard input"
        )
    return statement or ""


def _saved_list(store: StoreBackend) -> QueryResult:
    """Return the saved queries as a table."""
    from tooltrace.analysis.saved_queries import saved_queries

    columns = [("name", "VARCHAR"), ("saved_by", "VARCHAR"), ("saved_at", "TIMESTAMP"), ("sql", "VARCHAR")]
    found = saved_queries(store).values()
    rows = [(query.name, query.saved_by, query.saved_at.replace(tzinfo=None), query.sql) for query in found]
    return QueryResult.of_rows(columns, rows, Statement(sql=""))
