"""``tooltrace briefing``: a text for an agent's system prompt on the tools that fail now."""

from __future__ import annotations

import click

from tooltrace.cli.completion import complete_tools
from tooltrace.cli.options import examples, place_option
from tooltrace.diagnosis.briefing import briefing as write
from tooltrace.store.base import StoreBackend


@click.command(
    short_help="Print what an agent should know about its tools.",
    epilog=examples(
        "tooltrace briefing", "tooltrace briefing --tool fetch --tool search", "tooltrace briefing --tokens 200"
    ),
)
@click.option("--tool", "tools", multiple=True, shell_complete=complete_tools, help="Only this tool; repeatable.")
@click.option("--tokens", type=click.IntRange(min=0), default=400, show_default=True, help="Longest text, in tokens.")
@place_option
def briefing(*, tools: tuple[str, ...], tokens: int, store: StoreBackend) -> None:
    """Print a text for an agent's system prompt: which tools fail now, since when, and what works instead.

    Nothing is printed where no tool fails or hangs: a finding is stated only where its 95 % interval decides.
    """
    text = write(tools or None, tokens, store=store)
    if text:
        click.echo(text)
