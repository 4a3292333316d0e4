"""``tooltrace query``: run a named query."""

from __future__ import annotations

from typing import Any

import click

from tooltrace.cli.options import FORMATS, format_option, place_option
from tooltrace.store.base import StoreBackend


@click.command(short_help="Put a named question, or list them.")
@click.argument("name", required=False)
@click.option(
    "--by",
    help="Group by these, with commas: tool, version, code, agent, …, attributes.NAME; none for one row.",
)
@click.option("--since", help="From then on: 30m, 24h, 7d, or a date or time in ISO form.")
@click.option("--until", help="Before then; as --since.")
@click.option("--tool", help="This tool only.")
@click.option("--min-n", type=click.IntRange(min=0), help="How many are too few to tell.")
@click.option("-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="Any other parameter of the query.")
@click.option(
    "--explain",
    is_flag=True,
    help="Print the SQL with its comment and its macros, as `tooltrace sql` takes it, and ask nothing.",
)
@format_option(*FORMATS)
@place_option
def query(
    *,
    name: str | None,
    by: str | None,
    params: tuple[str, ...],
    explain: bool,
    form: str,
    store: StoreBackend,
    **common: Any,
) -> None:
    """Put a named question to the store. Without NAME: list the questions."""
    if name is None:
        from tooltrace.cli.output import write

        write(_listed(), form)
        return
    from tooltrace.analysis import find
    from tooltrace.store.macros import with_definitions

    groups = None if by is None else _groups(by)
    given = {**{key: value for key, value in common.items() if value is not None}, **_named(params)}
    asked = find(name)
    if explain:
        from tooltrace.cli.sanitize import clean

        click.echo(clean(with_definitions(asked.render_with_values(groups, **given)), lines=True), nl=False)
        return
    _answer(name, groups, given, form, store)


def _answer(name: str, by: list[str] | None, given: dict[str, Any], form: str, store: StoreBackend) -> None:
    from tooltrace.analysis import find
    from tooltrace.cli.output import write
    from tooltrace.errors import StoreMissing
    from tooltrace.store.result import QueryResult

    statement = find(name).statement(by, **given)
    try:
        result = store.query(statement)
    except StoreMissing:
        if form != "table":  # programs get an empty result in their format; people get only the message
            columns = [(column, "VARCHAR") for column in find(name).columns(by)]
            write(QueryResult.of_rows(columns, (), statement), form)
        raise
    write(result, form)
    if not result.rows:
        click.echo(_nothing(given, store), err=True)


def _listed() -> Any:
    from tooltrace.analysis import catalogue
    from tooltrace.store.result import QueryResult, Statement

    rows = [(name, query.header.alias or None, query.question) for name, query in catalogue().items()]
    columns = [("query", "VARCHAR"), ("alias", "VARCHAR"), ("question", "VARCHAR")]
    return QueryResult.of_rows(columns, rows, Statement(sql=""))


def _groups(by: str) -> list[str]:
    names = [part.strip() for part in by.split(",") if part.strip()]
    return [] if names == ["none"] else names


def _named(params: tuple[str, ...]) -> dict[str, str]:
    for param in params:
        if "=" not in param:
            raise click.BadParameter(f"takes NAME=VALUE, got {param!r}", param_hint="--param")
    return {name.strip(): value for name, _, value in (param.partition("=") for param in params)}


def _nothing(given: dict[str, Any], store: StoreBackend) -> str:
    from tooltrace.analysis import ask
    from tooltrace.cli.sanitize import clean

    asked = ", ".join(f"{name} {value}" for name, value in given.items())
    if not asked and not ask(store, "recent", limit=1).fetchall():
        asked = "no call is recorded there yet"
    return clean(f"Nothing in {store} answers that{f' ({asked})' if asked else ''}.")
