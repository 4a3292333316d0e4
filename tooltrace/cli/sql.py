"""``tooltrace sql``: any question, in SQL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tooltrace.cli.options import FORMATS, format_option, store_option

if TYPE_CHECKING:
    from tooltrace.cli.answer import Answer


@click.command(short_help="Ask in SQL.")
@click.argument("statement", required=False)
@format_option(*FORMATS)
@store_option
def sql(*, statement: str | None, form: str, store: Path) -> None:
    """Ask in SQL; without STATEMENT (or with -) it is read from standard input.

    Tables: tool_calls (attempts is the same without what the model saw), calls, outcomes, gates, sources, messages, spans, losses. The store is open for reading only.
    """
    from tooltrace.cli.formats import write

    if statement in (None, "-"):
        statement = sys.stdin.read()
    if not (statement or "").strip():
        raise click.UsageError("no SQL: give it as an argument, or on standard input")
    answer = _asked(statement or "", store)
    if answer is not None:
        write(answer, form)
        if not answer.rows:
            click.echo("No rows.", err=True)


def _asked(statement: str, store: Path) -> Answer | None:
    import duckdb

    from tooltrace.cli.answer import read
    from tooltrace.errors import QueryError
    from tooltrace.store.lease import reading

    with reading(store) as con:
        try:
            con.execute("SET python_enable_replacements=false")
            relation = con.sql(statement)
            return None if relation is None else read(relation)
        except duckdb.Error as error:
            raise QueryError(str(error).strip()) from error
