"""``tooltrace paths``: what follows what in conversations, as a table or as a graph."""

from __future__ import annotations

from typing import Any

import click

from tooltrace.analysis import find
from tooltrace.cli.errors import UsageError
from tooltrace.cli.options import (
    FORMATS,
    examples,
    history_options,
    limit_option,
    output_options,
    place_option,
    tool_option,
)
from tooltrace.cli.query import all_option, by_option, columns_option, min_n_option
from tooltrace.cli.sanitize import clean
from tooltrace.store.base import StoreBackend

GRAPHS = ("dot", "mermaid")
EDGES = 40
"""Number of pairs in a graph unless --limit is passed: a graph of more is hard to read."""


@click.command(
    short_help="Show which step follows which, as a table or a graph.",
    epilog=examples(
        "tooltrace paths",
        "tooltrace paths --tool fetch --since 24h",
        "tooltrace paths --by agent",
        "tooltrace paths --format mermaid",
        "tooltrace paths --format dot -o paths.dot",
    ),
)
@history_options
@tool_option()
@click.option("--agent", metavar="NAME", help="Only the calls of this agent.")
@by_option
@min_n_option
@columns_option
@all_option
@limit_option(f"Maximum number of pairs, the most frequent first; {EDGES} in a graph by default.")
@output_options(*FORMATS, *GRAPHS)
@place_option
def paths(
    *,
    since: str | None,
    until: str | None,
    tool: str | None,
    agent: str | None,
    by: list[str] | None,
    min_n: int | None,
    columns: list[str] | None,
    everything: bool,
    limit: int | None,
    form: str,
    store: StoreBackend,
) -> None:
    """Show which step follows which in conversations, and how often the next step fails.

    A graph has one node for each tool, and an arrow for each pair: dashed after an error, dotted after a call that
    reported nothing. Its label has the number of times, and the share of next steps that failed; the share is in
    parentheses where there are too few.
    """
    from tooltrace.cli.named_query import QueryOutput, in_stated_window, run_query

    if by is not None and form in GRAPHS:
        raise UsageError(f"--by groups the rows of a table; {form} is one graph: leave --by out, or pass --agent")
    given = {"since": since, "until": until, "tool": tool, "agent": agent, "min_n": min_n}
    params: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    query = find("paths")
    if form not in GRAPHS:
        output = QueryOutput(form=form, limit=limit, columns=tuple(columns or ()), everything=everything)
        run_query(query, by, params, output, store)
        return
    from tooltrace.report.path_graph import as_dot, as_mermaid, path_edges

    result = store.query(in_stated_window(query, None, {**params, "limit": limit or EDGES}, store))
    graph = (as_dot if form == "dot" else as_mermaid)(path_edges(result))
    click.echo(clean(graph, lines=True), nl=False)
