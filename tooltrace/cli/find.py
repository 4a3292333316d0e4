"""``tooltrace find``: attempts that contain a text."""

from __future__ import annotations

from typing import Any

import click

from tooltrace.analysis import find as named
from tooltrace.cli.options import (
    FORMATS,
    examples,
    history_options,
    limit_option,
    output_options,
    place_option,
    tool_option,
)
from tooltrace.cli.sanitize import clean
from tooltrace.cli.tail import STYLES
from tooltrace.cli.wrapping import print_wrapped
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import QueryResult

FIELDS = ("arguments", "error", "result", "seen")
"""The values of ``--field``; ``seen`` is the text that the model received."""


@click.command(
    name="find",
    short_help="Find a text in arguments, errors, results and messages.",
    epilog=examples(
        "tooltrace find 'no such table'",
        "tooltrace find order --words --field arguments --since all",
        "tooltrace find timeout --tool fetch -f json",
    ),
)
@click.argument("text")
@click.option(
    "--field", type=click.Choice(FIELDS), help="Search this only; 'seen' is the text that the model received."
)
@click.option("--words", is_flag=True, help="Complete words only: 'order' does not match 'reorder'.")
@tool_option()
@click.option("--agent", help="Only this agent.")
@click.option("--conversation", help="Only this conversation.")
@history_options
@limit_option("Maximum number of attempts, the newest first.", default=20)
@output_options(*FORMATS)
@place_option
def find(
    *,
    text: str,
    field: str | None,
    words: bool,
    tool: str | None,
    agent: str | None,
    conversation: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    form: str,
    store: StoreBackend,
) -> None:
    """Find the attempts that contain TEXT, by the query 'find'; letters match in both cases.

    Each attempt is a line and the text around the first match. The other formats have the columns of the query.
    """
    from tooltrace.cli.named_query import QueryOutput, in_stated_window, run_query

    params = {
        "text": text,
        "field": field,
        "words": "yes" if words else None,
        "tool": tool,
        "agent": agent,
        "conversation": conversation,
        "since": since,
        "until": until,
    }
    given: dict[str, Any] = {name: value for name, value in params.items() if value is not None}
    if form != "table":
        run_query(named("find"), None, given, QueryOutput(form=form, limit=limit), store)
        return
    _print(store.query(in_stated_window(named("find"), None, {**given, "limit": limit}, store)), store)


def _print(result: QueryResult, store: StoreBackend) -> None:
    from rich.text import Text

    from tooltrace.cli.table import console

    out = console()
    for row in result.dicts():
        status = row["status"] or row["ending"]
        line = (
            Text().append(f"{row['started_at']:%Y-%m-%d %H:%M:%S} UTC ", "dim").append(f"{clean(row['tool'])} ", "bold")
        )
        line.append(f"{clean(status)} ", STYLES.get(row["status"], "magenta"))
        print_wrapped(out, line.append(f"{clean(row['code'] or '')} {clean(row['call_id'])}".lstrip()), 4)
        around = Text(f"  {row['field']}: ", "dim").append(clean(row["before"]), "default")
        print_wrapped(out, around.append(clean(row["match"]), "bold reverse").append(clean(row["after"]), "default"), 4)
    if not result.rows:
        click.echo(
            clean(f"No attempt in {store} has this text in this time; --since all searches the complete history."),
            err=True,
        )
