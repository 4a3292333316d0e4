"""``tooltrace sql``: any question, in SQL."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tooltrace.address import Address, Place
from tooltrace.cli.options import FORMATS, format_option, place_option

if TYPE_CHECKING:
    from tooltrace.cli.answer import Answer


@click.command(short_help="Ask in SQL.")
@click.argument("statement", required=False)
@format_option(*FORMATS)
@place_option
def sql(*, statement: str | None, form: str, store: Place) -> None:
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


def _asked(statement: str, store: Place) -> Answer | None:
    if isinstance(store, Address):
        return _asked_elsewhere(statement, store)
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


def _asked_elsewhere(statement: str, store: Address) -> Answer:
    from tooltrace.cli.answer import read
    from tooltrace.clickhouse.asking import connect

    with connect(store) as lease:
        return read(lease.sql(statement))
