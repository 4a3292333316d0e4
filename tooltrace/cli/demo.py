"""``tooltrace demo``: run scripted agents, and report the recorded calls."""

from __future__ import annotations

from pathlib import Path

import click

from tooltrace.cli.errors import CommandError
from tooltrace.cli.options import examples, store_option
from tooltrace.core.plural import format_count


@click.command(
    short_help="Run scripted agents, and show the recorded calls.",
    epilog=examples(
        "tooltrace demo",
        "tooltrace demo demo.duckdb --calls 100",
    ),
)
@click.option("--calls", type=click.IntRange(min=1), default=1000, show_default=True, help="Number of calls to make.")
@click.option(
    "--days",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Days of past calls to record before; 0: none.",
)
@click.option(
    "--seed", type=int, default=7, show_default=True, help="Seed of the plan; the same seed gives the same statuses."
)
@store_option
def demo(calls: int, days: int, seed: int, store: Path) -> None:
    """Run scripted agents whose tools sometimes fail, and show the recorded calls.

    Before that, calls of the past days are recorded as from logs: a tool that broke with a version two days ago, one that
    fails all the time, retries that never help, an overconfident tool, a loop and a tool that hangs.
    The agents read Python's own source tree, search its docstrings, calculate, query a database and fetch pages
    from a local server. No data leaves this machine. The store remains; the temporary workspace is deleted.
    """
    try:
        from tooltrace.demo.run import run
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in ("httpx", "stamina"):
            raise
        raise CommandError(f"the demo needs {module}: pip install 'tooltrace-recorder[demo]'") from error
    from rich.progress import Progress

    from tooltrace.cli.demo_report import report
    from tooltrace.cli.table import console

    screen = console(stderr=True)
    if not screen.is_terminal:
        screen.print(f"Running agents with {format_count(calls, 'call')} …")
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("Running agents", total=calls)
        result = run(store, calls=calls, seed=seed, days=days, on_call=lambda: progress.advance(task))
    report(result)
