"""``tooltrace tail``: show attempts as they arrive."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC
from typing import TYPE_CHECKING, Any

import click

from tooltrace.cli.errors import until_stopped
from tooltrace.cli.options import format_option, place_option
from tooltrace.errors import StoreLocked, StoreMissing
from tooltrace.store.base import StoreBackend

if TYPE_CHECKING:
    from rich.text import Text

    from tooltrace.cli.live_rows import RowFollower

INTERVAL = 0.5
"""Seconds between two queries of the store."""

STYLES = {"success": "green", "partial": "yellow", "error": "bold red"}
ENDINGS = ("returned", "raised", "cancelled", "abandoned", "paused", "declined", "expired")


@click.command(short_help="Show attempts as they come.")
@click.option("--tool", multiple=True, help="This tool only; again for a further one, as with the other filters.")
@click.option("--status", multiple=True, type=click.Choice(list(STYLES)), help="This status only.")
@click.option("--code", multiple=True, help="This code only.")
@click.option("--ending", multiple=True, type=click.Choice(ENDINGS), help="This ending only.")
@click.option("--agent", multiple=True, help="This agent only.")
@click.option("--conversation", multiple=True, help="This conversation only.")
@click.option("--text", help="Only with this in its ids, error, arguments, answer or result; case does not count.")
@click.option(
    "-n",
    "number",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Begin with the last so many.",
)
@click.option("--follow/--no-follow", default=True, help="Go on with what comes, from every process; end with Ctrl-C.")
@format_option("text", "json")
@place_option
def tail(
    *, text: str | None, number: int, follow: bool, form: str, store: StoreBackend, **wanted: tuple[str, ...]
) -> None:
    """Show attempts as they come: when they ended, and how. As JSON: an object a line, times in UTC."""
    from tooltrace.cli.live_rows import RowFollower
    from tooltrace.cli.table import console

    out = console()
    with until_stopped():
        for row in _rows(RowFollower(store, text=text, **wanted), number, follow=follow):
            if form == "json":
                click.echo(as_json(row))
            else:
                out.print(line(row, said=text is not None), soft_wrap=True)


def as_json(row: dict[str, Any]) -> str:
    """Return one attempt as a JSON object on one line."""
    from tooltrace.cli.json_values import plain

    return json.dumps({name: plain(value) for name, value in row.items()}, ensure_ascii=_wants_ascii())


def _wants_ascii() -> bool:
    """Whether non-ASCII text must be escaped: a terminal shows untrusted text, another encoding may lack characters."""
    return sys.stdout.isatty() or "utf" not in (sys.stdout.encoding or "").lower()


def line(row: dict[str, Any], *, said: bool = False) -> Text:
    """Return one attempt as a line: local time, tool, status and ending, duration, attempt, call, code, message.

    ``said``: whether the message is included for attempts without an error too.
    """
    from rich.text import Text

    from tooltrace.cli.sanitize import clean
    from tooltrace.cli.table import format_value

    how = row["status"] or row["ending"]
    how = how if row["ending"] in ("returned", how) else f"{how}/{row['ending']}"
    at = row["ended_at"].replace(tzinfo=UTC).astimezone()
    text = Text().append(f"{at:%H:%M:%S}.{at.microsecond // 1000:03} ", "dim")
    text.append(f"{clean(row['tool']):<16} ", "bold")
    text.append(f"{clean(how):<14} ", STYLES.get(row["status"], "magenta"))
    taken = "" if row["duration_ms"] is None else f"{format_value(row['duration_ms'], 'ms')} ms"
    text.append(f"{taken:>12}  #{row['attempt']} {clean(row['call_id'])}")
    named = ("code", "said") if said or row["status"] == "error" else ("code",)
    rest = "  ".join(clean(row[name]) for name in named if row[name])
    return text.append(f"  {rest}") if rest else text


def _rows(follower: RowFollower, number: int, *, follow: bool) -> Iterator[dict[str, Any]]:
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
    """Print, once, why tail waits."""
    from tooltrace.cli.errors import sentence
    from tooltrace.cli.sanitize import clean

    text = clean(sentence(error))
    if text not in said:
        said.add(text)
        click.echo(f"tooltrace: {text} (waiting)", err=True)
