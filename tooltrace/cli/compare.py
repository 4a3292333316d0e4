"""``tooltrace compare``: two versions, or two time windows, side by side."""

from __future__ import annotations

import click

from tooltrace.analysis import find
from tooltrace.cli.completion import complete_comparisons
from tooltrace.cli.errors import UsageError
from tooltrace.cli.gate import exit_on_regression, gate_options
from tooltrace.cli.next_command import program
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
from tooltrace.errors import BadParameter
from tooltrace.report import compare as parse
from tooltrace.report.gate import RegressionGate
from tooltrace.store.base import StoreBackend


@click.command(
    short_help="Compare two versions or two time windows.",
    epilog=examples(
        "tooltrace compare version:1.2..2.0",
        "tooltrace compare 7d",
        "tooltrace compare 14d..7d --tool fetch",
        "tooltrace compare 2026-01-01/2026-02-01..2026-02-01/2026-03-01 -f json",
    ),
)
@click.argument("sides", metavar="A..B", required=False, shell_complete=complete_comparisons)
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
    sides: str | None,
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
    """Compare two versions or two time windows A and B of each tool, by the query 'compare'.

    \b
    version:A..B   two versions, within --since and --until
    7d             the last 7 days with the 7 days before; a date works too
    14d..7d        from 14 to 7 days ago with the last 7 days
    A/B..C/D       the window from A to B with the one from C to D

    Each row has a measure, its difference with the 95 % interval, and a verdict: worse, better, maybe_worse,
    maybe_better, unclear or too_few. 'tooltrace report --compare A..B' writes it as a report.

    Exit codes: 0 success, 1 failure, 2 wrong usage, 3 --fail-on found a regression, 4 --fail-on had nothing to compare.
    """  # noqa: D301 - click needs a real backspace to keep the line breaks
    from tooltrace.cli.named_query import QueryOutput, run_query, sides_missing

    if sides is None:
        raise UsageError(sides_missing())
    try:
        params = parse(sides, since=since, until=until, tool=tool).params
    except BadParameter as error:
        if ".." not in sides or sides.startswith("version:") or "/" in sides:
            raise
        raise UsageError(f"{error}; to compare two versions: {program()} compare version:{sides}") from error
    if min_n is not None:
        params["min_n"] = min_n
    output = QueryOutput(form=form, limit=limit, columns=tuple(columns or ()), everything=everything)
    result = run_query(find("compare"), by, params, output, store)
    if gate:
        exit_on_regression(result, gate)
