"""``tooltrace demo``: run scripted agents, and report the recorded calls."""

from __future__ import annotations

from pathlib import Path

import click

from tooltrace.cli.errors import CommandError
from tooltrace.cli.options import store_option


@click.command(short_help="Let scripted agents work, and show what was recorded.")
@click.option("--calls", type=click.IntRange(min=1), default=1000, show_default=True, help="How many calls they make.")
@click.option("--seed", type=int, default=7, show_default=True, help="The same seed gives the same statuses.")
@store_option
def demo(calls: int, seed: int, store: Path) -> None:
    """Let scripted agents work on real material with tools that fail, and show what was recorded.

    They read Python's own source tree, search its docstrings, calculate, ask a database and fetch from a
    local server. Nothing leaves this machine; the store is kept, a workspace under the temporary directory is not.
    """
    try:
        from tooltrace.demo.run import run
    except ModuleNotFoundError as error:
        needed = (error.name or "").partition(".")[0]
        if needed not in ("httpx", "stamina"):
            raise
        raise CommandError(f"the demo needs {needed}: pip install 'tooltrace[demo]'") from error
    from rich.progress import Progress

    from tooltrace.cli.demo_report import report
    from tooltrace.cli.table import console

    screen = console(stderr=True)
    if not screen.is_terminal:
        screen.print(f"Agents make {calls:,} calls …")
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("Agents at work", total=calls)
        result = run(store, calls=calls, seed=seed, done=lambda: progress.advance(task))
    report(result)
