"""``tooltrace query``: run a named query."""

from __future__ import annotations

from typing import Any

import click

from tooltrace.analysis import catalogue, find, query_store
from tooltrace.cli.options import FORMATS, format_option, place_or_journals_option
from tooltrace.cli.sanitize import clean
from tooltrace.errors import StoreMissing
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import QueryResult, Statement


@click.command(short_help="Run a named query, or list all queries.")
@click.argument("name", required=False)
@click.option(
    "--by",
    help="Group by these dimensions, comma-separated: tool, version, code, agent, …, attributes.NAME. 'none' gives one row.",
)
@click.option("--since", help="Start of the time range: 30m, 24h, 7d (back from now), or an ISO date or time.")
@click.option("--until", help="End of the time range, in the same form as --since.")
@click.option("--tool", help="Only this tool.")
@click.option("--min-n", type=click.IntRange(min=0), help="Minimum number of observations for a verdict.")
@click.option("-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="Any other parameter of the query.")
@click.option(
    "--explain",
    is_flag=True,
    help="Print the SQL with its comment and macros, ready for `tooltrace sql`, without running it.",
)
@format_option(*FORMATS)
@place_or_journals_option
def query(
    *,
    name: str | None,
    by: str | None,
    params: tuple[str, ...],
    explain: bool,
    journals_only: bool,  # noqa: ARG001 - the option --store reads it
    form: str,
    store: StoreBackend,
    **common: Any,
) -> None:
    """Run the named query NAME. Without NAME, list all queries."""
    if name is None:
        from tooltrace.cli.output import write

        write(_catalogue(), form)
        return
    from tooltrace.store.macros import with_definitions

    names = None if by is None else [part.strip() for part in by.split(",") if part.strip()]
    groups = [] if names == ["none"] else names
    values = {**{key: value for key, value in common.items() if value is not None}, **_parse_params(params)}
    if explain:
        click.echo(clean(with_definitions(find(name).render_with_values(groups, **values)), lines=True), nl=False)
        return
    _run(name, groups, values, form, store)


def _run(name: str, by: list[str] | None, params: dict[str, Any], form: str, store: StoreBackend) -> None:
    from tooltrace.cli.output import write

    statement = find(name).statement(by, **params)
    try:
        result = store.query(statement)
    except StoreMissing:
        if form != "table":  # programs get an empty result in their format; people get only the message
            columns = [(column, "VARCHAR") for column in find(name).columns(by)]
            write(QueryResult.of_rows(columns, (), statement), form)
        raise
    write(result, form)
    if result.note:
        click.echo(result.note, err=True)
    if not result.rows:
        click.echo(_empty_message(params, store), err=True)


def _catalogue() -> Any:
    rows = [(name, query.header.alias or None, query.question) for name, query in catalogue().items()]
    columns = [("query", "VARCHAR"), ("alias", "VARCHAR"), ("question", "VARCHAR")]
    return QueryResult.of_rows(columns, rows, Statement(sql=""))


def _parse_params(params: tuple[str, ...]) -> dict[str, str]:
    for param in params:
        if "=" not in param:
            raise click.BadParameter(f"must be NAME=VALUE. Got {param!r}", param_hint="--param")
    return {name.strip(): value for name, _, value in (param.partition("=") for param in params)}


def _empty_message(params: dict[str, Any], store: StoreBackend) -> str:
    reason = ", ".join(f"{name} {value}" for name, value in params.items())
    if not reason and not query_store(store, "recent", limit=1).fetchall():
        reason = "no call has been recorded"
    return clean(f"No results in {store}{f' ({reason})' if reason else ''}.")
