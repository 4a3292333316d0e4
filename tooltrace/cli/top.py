"""``tooltrace top``: a live view of the tools of the last minutes."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import until_stopped
from tooltrace.cli.options import place_option
from tooltrace.store.base import StoreBackend

if TYPE_CHECKING:
    from rich.console import Console

SORTS = ("excess", "hurt", "calls", "failed", "rate", "retries", "p95", "tool")
STALE_SECONDS = 3.0
"""Seconds after which a view is refreshed without new calls, because its time range moves on."""


@click.command(short_help="Show the tools of the last minutes, live.")
@click.option("--since", default="15m", show_default=True, help="From then on: 30s, 15m, 24h, or a time in ISO form.")
@click.option(
    "--interval", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds between looks."
)
@click.option("--sort", type=click.Choice(SORTS), default="excess", show_default=True, help="What stands first.")
@click.option("--once", is_flag=True, help="Print it once, and end; so it is where the output is no terminal.")
@place_option
def top(*, since: str, interval: float, sort: str, once: bool, store: StoreBackend) -> None:
    """Show the tools of the last minutes, from every process; end with Ctrl-C.

    First stands what failed more often than in the 7 days before; --sort hurt sorts by the time that failed calls took. Rates
    are of calls that failed, with their 95 % interval. The bars are attempts over time, red where half of them failed or more,
    yellow where any did.
    """
    from tooltrace.cli.table import console
    from tooltrace.cli.top_view import look

    screen = console()
    if once or not sys.stdout.isatty():
        screen.print(look(store, since, sort).table(screen.width, None))
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C, to restore the terminal
    with until_stopped():
        _watch(store, since, sort, interval, screen)


def _watch(store: StoreBackend, since: str, sort: str, interval: float, screen: Console) -> None:
    from rich.live import Live

    from tooltrace.cli.live_rows import signature
    from tooltrace.cli.top_view import look_again

    state, at = signature(store), time.monotonic()
    board = look_again(store, since, sort)
    with Live(console=screen, screen=True, auto_refresh=False) as live:
        while True:
            live.update(board.table(*screen.size), refresh=True)
            time.sleep(interval)
            now = signature(store)
            if now != state or time.monotonic() - at > STALE_SECONDS:
                state, at, board = now, time.monotonic(), look_again(store, since, sort)
