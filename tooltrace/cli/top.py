"""``tooltrace top``: a live view of the tools of the last minutes."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import until_stopped
from tooltrace.cli.options import examples, limit_option, place_option
from tooltrace.store.base import StoreBackend

if TYPE_CHECKING:
    from rich.console import Console

SORTS = ("failing", "hurt", "calls", "failed", "rate", "retries", "p95", "tool")
STALE_SECONDS = 3.0
"""Seconds after which a view is refreshed without new calls, because its time range moves on."""


@click.command(
    short_help="Show the tools of the last minutes, live.",
    epilog=examples(
        "tooltrace top",
        "tooltrace top agent.duckdb --since 24h --sort hurt",
        "tooltrace top --once -n 5",
    ),
)
@click.option(
    "--since",
    default="15m",
    show_default=True,
    help="Start of the time range: 30s, 15m, 24h (back from now), or an ISO time.",
)
@click.option(
    "--interval", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds between updates."
)
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="failing",
    show_default=True,
    help="Column to sort by; numbers in descending order.",
)
@limit_option("Maximum number of tools.")
@click.option(
    "--once", is_flag=True, help="Print the table once, and exit. This is the default if the output is not a terminal."
)
@place_option
def top(*, since: str, interval: float, sort: str, limit: int | None, once: bool, store: StoreBackend) -> None:
    """Show the tools of the last minutes, of all processes, until Ctrl-C.

    Tools with the most failed calls and cut-off attempts that are certain come first; --sort hurt sorts by the time spent in failed calls.
    The rate is the share of calls that failed, with its 95 % interval. The bars are attempts over time: red if at least
    half of them failed, yellow if any failed. The calls that run for longest come first, see configure(begun_after=…).
    """
    from tooltrace.cli.table import console
    from tooltrace.cli.top_view import load_view

    screen = console()
    if once or not sys.stdout.isatty():
        screen.print(load_view(store, since, sort).table(screen.width, None, limit))
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C, to restore the terminal
    with until_stopped():
        _watch(store, since, sort, interval, screen, limit)


def _watch(store: StoreBackend, since: str, sort: str, interval: float, screen: Console, limit: int | None) -> None:
    from rich.live import Live

    from tooltrace.cli.live_rows import signature
    from tooltrace.cli.top_view import load_view_or_note

    state, at = signature(store), time.monotonic()
    view = load_view_or_note(store, since, sort)
    with Live(console=screen, screen=True, auto_refresh=False) as live:
        while True:
            live.update(view.table(*screen.size, limit), refresh=True)
            time.sleep(interval)
            now = signature(store)
            if now != state or time.monotonic() - at > STALE_SECONDS:
                state, at, view = now, time.monotonic(), load_view_or_note(store, since, sort)
