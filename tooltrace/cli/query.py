"""``tooltrace query``: run a named query."""

from __future__ import annotations

from typing import Any

import click

from tooltrace.cli.completion import complete_columns, complete_dimensions, complete_parameters, complete_queries
from tooltrace.cli.next_command import OVERVIEW, print_next
from tooltrace.cli.options import (
    FORMATS,
    examples,
    history_options,
    limit_option,
    output_options,
    place_or_journals_option,
    tool_option,
)
from tooltrace.cli.sanitize import clean
from tooltrace.cli.wrapping import echo_sentence
from tooltrace.store.base import StoreBackend
from tooltrace.store.database.macros import with_definitions


def _listed(_ctx: click.Context, _param: click.Parameter, text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _grouping(context: click.Context, parameter: click.Parameter, text: str | None) -> list[str] | None:
    """Return the dimensions; an empty list for 'none', None without the option."""
    names = _listed(context, parameter, text)
    return [] if names == ["none"] else names


by_option = click.option(
    "--by",
    callback=_grouping,
    shell_complete=complete_dimensions,
    help="Group by these dimensions, comma-separated: tool, version, code, agent, …, attributes.NAME. 'none' gives one row.",
)
columns_option = click.option(
    "-c",
    "--columns",
    callback=_listed,
    shell_complete=complete_columns,
    metavar="NAMES",
    help="Only these columns, comma-separated.",
)
all_option = click.option(
    "--all",
    "everything",
    is_flag=True,
    help="In a table, also show rows and columns that say nothing, and columns that do not fit. Without NAME, list all queries.",
)
min_n_option = click.option("--min-n", type=click.IntRange(min=0), help="Minimum number of observations for a verdict.")


@click.command(
    short_help="Run a named query, or list them.",
    epilog=examples(
        "tooltrace query",
        "tooltrace query --all",
        "tooltrace query failure_rate",
        "tooltrace query errors --tool fetch --since 24h",
        "tooltrace query calibration --since all",
        "tooltrace query latency --by tool,version --limit 5",
        "tooltrace query recent -p status=error --columns ended_at,tool,code",
        "tooltrace query calibration agent.duckdb -o calibration.csv",
        "tooltrace query retries --explain",
    ),
)
@click.argument("name", required=False, shell_complete=complete_queries)
@by_option
@history_options
@tool_option()
@min_n_option
@click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_parameters,
    help="Any other parameter of the query.",
)
@columns_option
@all_option
@limit_option("Maximum number of rows.")
@click.option(
    "--explain",
    is_flag=True,
    help="Print the SQL with its comment and macros, ready for `tooltrace sql`, without running it.",
)
@output_options(*FORMATS)
@place_or_journals_option
def query(
    *,
    name: str | None,
    by: list[str] | None,
    params: tuple[str, ...],
    columns: list[str] | None,
    everything: bool,
    limit: int | None,
    explain: bool,
    journals_only: bool,  # noqa: ARG001 - the option --store reads it
    form: str,
    store: StoreBackend,
    **common: Any,
) -> None:
    """Run the named query NAME. Without NAME, list the most frequent questions; with --all, all queries.

    A table leaves out what says nothing and what does not fit into the terminal, and names it on standard error.
    JSON, CSV and Markdown have all rows and columns.

    The time range is the last 7 days, or since the first record where the history is shorter; standard error states it.
    """
    if name is None:
        from tooltrace.cli.query_list import write_list

        write_list(form, everything=everything, limit=limit)
        if form == "table":
            if not everything:
                echo_sentence(
                    "These are the most frequent questions; `tooltrace query --all` lists all queries.", err=True
                )
            print_next(OVERVIEW, store)
        return
    from tooltrace.cli.named_query import QueryOutput, find_query, run_query, with_default_span

    found = find_query(name)
    values = {**{key: value for key, value in common.items() if value is not None}, **_parse_params(params)}
    if explain:
        click.echo(
            clean(with_definitions(found.render_with_values(by, **with_default_span(found, values))), lines=True),
            nl=False,
        )
        return
    output = QueryOutput(form=form, limit=limit, columns=tuple(columns or ()), everything=everything)
    run_query(found, by, values, output, store)


def _parse_params(params: tuple[str, ...]) -> dict[str, str]:
    for param in params:
        if "=" not in param:
            raise click.BadParameter(f"must be NAME=VALUE. Got {param!r}", param_hint="--param")
    return {name.strip(): value for name, _, value in (param.partition("=") for param in params)}
