"""``tooltrace compare``: two values of a dimension, or two windows of time, side by side."""

from __future__ import annotations

import click

from tooltrace.analysis import find
from tooltrace.analysis.sides import is_side
from tooltrace.cli.completion import complete_sides
from tooltrace.cli.errors import UsageError
from tooltrace.cli.gate import exit_on_regression, gate_options
from tooltrace.cli.options import (
    FORMATS,
    examples,
    limit_option,
    output_options,
    place_option,
    tool_option,
    window_options,
)
from tooltrace.cli.query import all_option, by_option, columns_option, min_n_option
from tooltrace.report.gate import RegressionGate
from tooltrace.store.base import StoreBackend, open_store


@click.command(
    short_help="Compare all calls of two sides in figures: is B worse than A?",
    epilog=examples(
        "tooltrace compare version:1.2 version:2.0",
        "tooltrace compare agent:clerk agent:support --tool fetch",
        "tooltrace compare 7d",
        "tooltrace compare 14d..7d 7d --by agent",
        "tooltrace compare 2026-01-01..2026-02-01 2026-02-01..2026-03-01 -f json",
    ),
)
@click.argument("a", metavar="A", required=False, shell_complete=complete_sides)
@click.argument("b", metavar="[B]", required=False, shell_complete=complete_sides)
@by_option
@window_options
@tool_option()
@min_n_option
@columns_option
@all_option
@gate_options("Exit with code 3 if the verdict of any measure is 'worse'; with 'maybe' also if it is 'maybe worse'.")
@limit_option("Maximum number of rows.")
@output_options(*FORMATS)
@place_option
def compare(
    *,
    a: str | None,
    b: str | None,
    by: list[str] | None,
    since: str | None,
    until: str | None,
    tool: str | None,
    min_n: int | None,
    columns: list[str] | None,
    everything: bool,
    gate: RegressionGate | None,
    limit: int | None,
    form: str,
    store: StoreBackend,
) -> None:
    """Compare all calls of two sides A and B in figures, to see whether B is worse.

    'tooltrace diff' compares two conversations call by call instead.

    \b
    version:1.2 version:2.0   two values, within --since and --until
    agent:a agent:b           of any dimension of queries, or attributes.NAME
    7d                        the last 7 days with the 7 days before, or a date
    14d..7d 7d                two windows: from 14 to 7 days ago, and since then

    Each row has a measure, its difference with the 95 % interval, and a verdict: worse, better, maybe_worse,
    maybe_better, unclear or too_few. 'tooltrace report --compare "A B"' writes it as a report.

    Exit codes: 0 success, 1 failure, 2 wrong usage, 3 --fail-on found a regression, 4 --fail-on had nothing to compare.
    """  # noqa: D301 - click needs a real backspace to keep the line breaks
    from tooltrace.cli.named_query import QueryOutput, run_query, sides_missing

    if a is None:
        raise UsageError(sides_missing())
    if b is not None and not is_side(b) and ":" not in b.partition("/")[0]:
        # click gives the second argument to B: behind one side it is the store
        store, b = open_store(b), None
    given = {"before": None if b is None else a, "after": a if b is None else b}
    given |= {"since": since, "until": until, "tool": tool, "min_n": None if min_n is None else str(min_n)}
    params = {name: value for name, value in given.items() if value is not None}
    output = QueryOutput(form=form, limit=limit, columns=tuple(columns or ()), everything=everything)
    result = run_query(find("compare"), by, params, output, store)
    if gate:
        exit_on_regression(result, gate)
