"""``tooltrace reread``: read stored results again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from tooltrace.analysis.parameters import QueryParameter
from tooltrace.cli.known_names import require_known
from tooltrace.cli.options import examples, place_option, tool_option
from tooltrace.cli.sanitize import clean
from tooltrace.core.plural import format_count
from tooltrace.store.base import StoreBackend

if TYPE_CHECKING:
    from tooltrace.labels.reread import RereadReport


@click.command(
    short_help="Read stored results again.",
    epilog=examples(
        "tooltrace reread --rules current --dry-run",
        "tooltrace reread --rules certain --tool fetch --since 7d",
    ),
)
@click.option(
    "--rules",
    "mode",
    type=click.Choice(["certain", "current"]),
    required=True,
    help="'certain' undoes the readings of heuristic rules; 'current' reads the results by today's rules.",
)
@click.option("--since", help="Attempts that started within this time (7d, 24h) or since this date.")
@tool_option()
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@place_option
def reread(*, mode: str, since: str | None, tool: str | None, dry_run: bool, store: StoreBackend) -> None:
    """Read the results of recorded calls again.

    With 'certain', a reading by a heuristic rule becomes status success, grade unread. With 'current', results that no
    rule or a heuristic rule had read are read by the rules of this version. A result that was stored cut or redacted,
    or not at all, cannot be read again: its attempt stays as it is, and is counted. The recorded status stays in the
    column status_recorded; the table corrections has every change. A person's correction stays in force.
    """
    from tooltrace.labels.reread import reread as read_again

    require_known(store, tools=[tool])
    with _bar() as advance:
        report = read_again(
            store,
            mode,  # type: ignore[arg-type]
            since=since_of(since),
            tool=tool,
            dry_run=dry_run,
            advance=advance,
        )
    _print_changes(report)
    would = "would change" if dry_run else "changed"
    left = "".join(f"; {count:,} left as they were: result {cause}" for cause, count in sorted(report.left.items()))
    click.echo(f"{format_count(report.read, 'attempt')} read again, {report.changed:,} {would}{left}.")


def since_of(text: str | None) -> datetime | None:
    """Return the time that ``--since`` names."""
    parameter = QueryParameter(name="since", type="timestamp", meaning="")
    bound = parameter.bind(text, datetime.now(UTC))
    return bound.replace(tzinfo=UTC) if isinstance(bound, datetime) else None


def _print_changes(report: RereadReport) -> None:
    """Print one row for each kind of change, the most frequent first."""
    from rich import box
    from rich.table import Table

    from tooltrace.cli.table import console

    if not report.changes:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("attempts", "status", "code", "grade", "new status", "new code", "new grade", "for example"):
        table.add_column(heading, justify="right" if heading == "attempts" else "left")
    for change, count in report.changes.most_common():
        table.add_row(f"{count:,}", *(clean(part or "-") for part in change), clean(report.examples[change]))
    console().print(table)


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    """Show the progress on a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from tooltrace.cli.table import console

    screen = console(stderr=True)
    columns = (TextColumn("Reading again"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
