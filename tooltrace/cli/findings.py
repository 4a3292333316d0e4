"""``tooltrace findings``: what is wrong with the tools, since when, what it costs, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

import click

from tooltrace.cli.options import FORMATS, examples, history_options, output_options, place_option, tool_option
from tooltrace.cli.wrapping import echo_sentence
from tooltrace.diagnosis.diagnose import diagnose_store
from tooltrace.diagnosis.finding import Finding, as_result
from tooltrace.diagnosis.summary import cost
from tooltrace.diagnosis.wording import english
from tooltrace.report.history_window import ALL
from tooltrace.store.base import StoreBackend


@click.command(
    short_help="List what is wrong with the tools, and what to do.",
    epilog=examples(
        "tooltrace findings", "tooltrace findings --tool search", "tooltrace findings --since 24h --format json"
    ),
)
@history_options
@tool_option()
@output_options(*FORMATS)
@place_option
def findings(*, since: str | None, until: str | None, tool: str | None, form: str, store: StoreBackend) -> None:
    """List what is wrong with the tools: the most urgent first, with what it costs and what to do.

    The whole history is read: a tool that broke 9 days ago is broken, whatever the range. --since leaves out what ended before it.
    """
    found = diagnose_store(store, None if since == ALL else since, until=until, tool=tool)
    if form != "table":
        from tooltrace.cli.output import write

        write(as_result(found), form)
        return
    print_findings(found)
    if not found:
        click.echo("No finding.")


def print_findings(found: Sequence[Finding]) -> None:
    """Print the sentence of each of ``found``, what to do, what it costs, and the command that shows more."""
    for one in found:
        state = "" if one.open else ", over"
        echo_sentence(f"{one.severity} ({one.kind}{state}): {one.sentence}")
        spent = cost(one)
        echo_sentence(f"  {one.next_step}{f' {english(spent)}' if spent else ''} [{one.query}]")
