"""``tooltrace tail``: attempts as they come."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tooltrace.cli.options import store_option
from tooltrace.errors import StoreLocked, StoreMissing

if TYPE_CHECKING:
    from rich.text import Text

    from tooltrace.cli.follow import Follower

INTERVAL = 0.5
"""Seconds between two looks at the store."""

STYLES = {"success": "green", "partial": "yellow", "error": "bold red"}


@click.command(short_help="Show attempts as they come.")
@click.option("--tool", help="This tool only.")
@click.option("--status", type=click.Choice(list(STYLES)), help="This status only.")
@click.option(
    "-n",
    "number",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Begin with the last so many.",
)
@click.option("--follow/--no-follow", default=True, help="Go on with what comes, from every process; end with Ctrl-C.")
@store_option
def tail(*, tool: str | None, status: str | None, number: int, follow: bool, store: Path) -> None:
    """Show attempts as they come: when they ended, and how."""
    from tooltrace.cli.follow import Follower
    from tooltrace.cli.table import console

    out = console()
    try:
        for row in _rows(Follower(store, tool=tool, status=status), number, follow=follow):
            out.print(line(row), soft_wrap=True)
    except KeyboardInterrupt:
        return


def line(row: dict[str, Any]) -> Text:
    """One attempt: local time, tool, status and ending, duration, attempt, call, code, message."""
    from rich.text import Text

    from tooltrace.cli.table import person
    from tooltrace.cli.text import clean

    said = row["status"] or row["ending"]
    how = said if row["ending"] in ("returned", said) else f"{said}/{row['ending']}"
    at = row["ended_at"].replace(tzinfo=UTC).astimezone()
    text = Text().append(f"{at:%H:%M:%S}.{at.microsecond // 1000:03} ", "dim")
    text.append(f"{clean(row['tool']):<16} ", "bold")
    text.append(f"{clean(how):<14} ", STYLES.get(row["status"], "magenta"))
    taken = "" if row["duration_ms"] is None else f"{person(row['duration_ms'], 'ms')} ms"
    text.append(f"{taken:>12}  #{row['attempt']} {clean(row['call_id'])}")
    rest = "  ".join(clean(row[name]) for name in ("code", "message") if row[name])
    return text.append(f"  {rest}") if rest else text


def _rows(follower: Follower, number: int, *, follow: bool) -> Iterator[dict[str, Any]]:
    said: set[str] = set()
    try:
        yield from follower.last(number)
    except (StoreMissing, StoreLocked) as error:
        if not follow:
            raise
        _wait_for(error, said)
    while follow:
        time.sleep(INTERVAL)
        try:
            yield from follower.more()
        except StoreLocked as error:
            _wait_for(error, said)


def _wait_for(error: StoreMissing | StoreLocked, said: set[str]) -> None:
    """Say, once, what tail waits for."""
    from tooltrace.cli.group import sentence
    from tooltrace.cli.text import clean

    text = clean(sentence(error))
    if text not in said:
        said.add(text)
        click.echo(f"tooltrace: {text} (waiting)", err=True)
