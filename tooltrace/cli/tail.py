"""``tooltrace tail``: show attempts as they arrive."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any

import click

from tooltrace.cli.errors import error_message, until_stopped
from tooltrace.cli.known_names import require_known
from tooltrace.cli.options import examples, format_option, limit_option, place_option, tool_option
from tooltrace.cli.sanitize import clean
from tooltrace.cli.wrapping import print_wrapped
from tooltrace.core.records import ENDINGS
from tooltrace.errors import StoreBusy, StoreLocked, StoreMissing
from tooltrace.report.json_values import json_safe
from tooltrace.store.base import StoreBackend

if TYPE_CHECKING:
    from rich.text import Text

    from tooltrace.cli.live_rows import LoopFollower, RowFollower, RunningFollower

INTERVAL = 0.5
"""Seconds between two queries of the store."""

_INDENT = 13
"""Position of the name of the tool, behind the time."""

STYLES = {"success": "green", "partial": "yellow", "error": "bold red"}


@click.command(
    short_help="Show attempts as they are recorded.",
    epilog=examples(
        "tooltrace tail",
        "tooltrace tail --status error --tool fetch -n 20",
        "tooltrace tail --no-follow --text timeout -f json",
        "tooltrace tail --loops",
    ),
)
@tool_option("Only this tool; repeatable, as are the other filters.", multiple=True)
@click.option("--status", multiple=True, type=click.Choice(list(STYLES)), help="Only this status.")
@click.option("--code", multiple=True, help="Only this error code.")
@click.option(
    "--ending",
    multiple=True,
    type=click.Choice(ENDINGS),
    metavar="ENDING",
    help=f"Only this ending: {', '.join(ENDINGS)}.",
)
@click.option("--agent", multiple=True, help="Only this agent.")
@click.option("--conversation", multiple=True, help="Only this conversation.")
@click.option("--text", help="Only attempts with this text in ids, error, arguments, message or result; ignores case.")
@click.option("--loops", is_flag=True, help="Also show loops of agents while they run, see the query loops.")
@limit_option("Number of past attempts to show first.", default=10, least=0)
@click.option("--follow/--no-follow", default=True, help="Wait for new attempts of all processes, until Ctrl-C.")
@format_option("table", "json", "text")
@place_option
def tail(
    *,
    text: str | None,
    loops: bool,
    limit: int,
    follow: bool,
    form: str,
    store: StoreBackend,
    **filters: tuple[str, ...],
) -> None:
    """Show attempts as they are recorded.

    Each line shows when and how an attempt ended. JSON has one object per line, with times in UTC; 'text' is an earlier
    name of the format 'table'. A call that has run for some seconds has a line of its own before its end, in JSON an object
    with the member 'running'; not with a filter by what is known at the end. --loops adds a line when a loop begins, and when it has twice as many rounds; in JSON, an
    object with the member 'loop'.
    """
    from tooltrace.analysis.running_calls import running_calls
    from tooltrace.cli.live_rows import LoopFollower, RowFollower, RunningFollower, loop_line
    from tooltrace.cli.table import console

    out = console()
    with until_stopped():
        if not follow:  # a tool that has no call yet may have one soon
            begun = {call.tool for call in running_calls(store)} if filters["tool"] else set()
            require_known(store, tools=[tool for tool in filters["tool"] if tool not in begun])
        follower = LoopFollower(store, filters) if loops else None
        running = None
        if not (text or any(filters[name] for name in ("status", "code", "ending"))):
            running = RunningFollower(store, filters)
        for row in _rows(RowFollower(store, text=text, **filters), running, follower, limit, follow=follow):
            if form == "json":
                click.echo(as_json(row))
            elif "running" in row:
                print_wrapped(out, line(_while_it_runs(row["running"])), _INDENT)
            elif "loop" in row:
                print_wrapped(out, loop_line(row["loop"]), _INDENT)
            else:
                print_wrapped(out, line(row, with_message=text is not None), _INDENT)


def as_json(row: dict[str, Any]) -> str:
    """Return one attempt as a JSON object on one line."""

    # escape the text for a terminal, because it is untrusted, and for an encoding that may lack characters
    ascii_only = sys.stdout.isatty() or "utf" not in (sys.stdout.encoding or "").lower()
    return json.dumps(json_safe(row), ensure_ascii=ascii_only)


def line(row: dict[str, Any], *, with_message: bool = False) -> Text:
    """Return one attempt as a line: local time, tool, status and ending, duration, attempt, call, code, message.

    ``with_message``: include the message of attempts without an error as well.
    """
    from rich.text import Text

    from tooltrace.cli.table import format_value

    outcome = row["status"] or row["ending"]
    outcome = outcome if row["ending"] in ("returned", outcome) else f"{outcome}/{row['ending']}"
    at = row["ended_at"].replace(tzinfo=UTC).astimezone()
    text = Text().append(f"{at:%H:%M:%S}.{at.microsecond // 1000:03} ", "dim")
    text.append(f"{clean(row['tool']):<16} ", "bold")
    text.append(f"{clean(outcome):<14} ", STYLES.get(row["status"], "magenta"))
    duration = "" if row["duration_ms"] is None else f"{format_value(row['duration_ms'], 'ms')} ms"
    text.append(f"{duration:>12}  #{row['attempt']} {clean(row['call_id'])}")
    columns = ("code", "message") if with_message or row["status"] == "error" else ("code",)
    rest = "  ".join(clean(row[name]) for name in columns if row[name])
    return text.append(f"  {rest}") if rest else text


def _while_it_runs(call: dict[str, Any]) -> dict[str, Any]:
    """Return a call that runs as the row of an attempt that ends now."""
    ended_at = call["started_at"] + timedelta(seconds=call["seconds"])
    return {
        **call,
        "status": None,
        "ending": call["state"],
        "ended_at": ended_at,
        "duration_ms": 1e3 * call["seconds"],
        "code": None,
    }


def _rows(
    follower: RowFollower, running: RunningFollower | None, loops: LoopFollower | None, number: int, *, follow: bool
) -> Iterator[dict[str, Any]]:
    """Yield attempts, and after them the calls and the loops that run, as ``{"running": call}`` and ``{"loop": row}``."""
    printed: set[str] = set()
    try:
        yield from follower.last(number)
        if running is not None:
            yield from ({"running": call} for call in running.more())
        if loops is not None:
            yield from ({"loop": row} for row in loops.more())
    except (StoreMissing, StoreLocked, StoreBusy) as error:
        if not follow:
            raise
        _print_wait(error, printed)
    while follow:
        time.sleep(INTERVAL)
        try:
            new = follower.more()
            yield from new
            if running is not None:
                yield from ({"running": call} for call in running.more())
            if loops is not None and new:
                yield from ({"loop": row} for row in loops.more())
        except (StoreLocked, StoreBusy) as error:
            _print_wait(error, printed)


def _print_wait(error: StoreMissing | StoreLocked | StoreBusy, printed: set[str]) -> None:
    """Print the reason for waiting, each reason once."""
    text = clean(error_message(error))
    if text not in printed:
        printed.add(text)
        click.echo(f"tooltrace: {text} (waiting)", err=True)
