"""``tooltrace forget``: delete calls, and all that belongs to them, for good."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tooltrace.cli.errors import CommandError, UsageError
from tooltrace.cli.options import examples, format_option, store_option
from tooltrace.cli.sanitize import clean
from tooltrace.report.numbers import format_count


@click.command(
    short_help="Delete calls for good.",
    epilog=examples(
        "tooltrace forget --conversation 4f1c --dry-run",
        "tooltrace forget --where \"attributes->>'user' = 'u1'\" --yes",
    ),
)
@click.option("--conversation", metavar="ID", help="All calls of this conversation.")
@click.option("--call", "call_id", metavar="ID", help="All attempts of this call.")
@click.option("--where", metavar="SQL", help="The calls that satisfy this condition on the columns of tool_calls.")
@click.option("--whole-traces", is_flag=True, help="Also the spans of the calls' traces that have other calls.")
@click.option("--dry-run", is_flag=True, help="Count the calls, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--wait", type=click.FloatRange(min=0), default=10.0, show_default=True, help="Seconds to wait for readers."
)
@format_option("table", "json")
@store_option
def forget(
    *,
    conversation: str | None,
    call_id: str | None,
    where: str | None,
    whole_traces: bool,
    dry_run: bool,
    yes: bool,
    wait: float,
    form: str,
    store: Path,
) -> None:
    """Delete calls with their messages, labels, corrections, gates and spans from every file of the store.

    The database is rewritten, so that the bytes are gone; lines in journals are overwritten, also in those of running
    processes. Options are combined with AND. Records of these calls that arrive later are left out; calls that begin
    later are recorded. Exported files and backups are not changed: delete or export them again.

    Exit code 1 if a file may still have the records.
    """
    from tooltrace.store.forget import Selection
    from tooltrace.store.forget import forget as forget_calls

    if not (conversation or call_id or where):
        raise UsageError("nothing to forget: pass --conversation, --call or --where; nothing was changed")
    selection = Selection(conversation_id=conversation, call_id=call_id, where=where, whole_traces=whole_traces)
    if dry_run or not yes:
        found = forget_calls(store, selection, wait=wait, dry_run=True)
        counted = f"{format_count(found.attempts, 'attempt')} of {format_count(found.calls, 'call')}"
        if dry_run:
            click.echo(json.dumps({"attempts": found.attempts, "calls": found.calls}) if form == "json" else counted)
            return
        confirm(f"Forget {counted} for good?")
    with working("Forgetting"):
        report = forget_calls(store, selection, wait=wait)
    erased = report.erased
    if form == "json":
        values = {
            "attempts": report.attempts, "calls": report.calls, "spans_left": report.spans_left, "rows": erased.rows,
            "journal_lines": erased.lines, "copies_rewritten": erased.rewritten, "copies_removed": erased.removed,
            "bytes_before": erased.bytes_before, "bytes_after": erased.bytes_after, "remaining": erased.remaining,
        }  # fmt: skip
        click.echo(json.dumps(values, ensure_ascii=False, indent=2))
    else:
        click.echo(f"Forgot {format_count(report.attempts, 'attempt')} of {format_count(report.calls, 'call')}.")
        for name, count in erased.rows.items():
            click.echo(f"  {name}: {format_count(count, 'row')}")
        for name, count in erased.lines.items():
            click.echo(clean(f"  {name}: {format_count(count, 'line')} overwritten"))
        for name in (*erased.rewritten, *erased.removed):
            click.echo(clean(f"  {name}: {'rewritten' if name in erased.rewritten else 'removed'}"))
    if report.spans_left:
        click.echo(
            f"{format_count(report.spans_left, 'span')} of traces with other calls remain; --whole-traces deletes them.",
            err=True,
        )
    if erased.remaining:
        raise CommandError("\n".join(erased.remaining))


def confirm(question: str) -> None:
    """Ask ``question`` on a terminal; elsewhere a command that deletes needs --yes."""
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Pass --yes to confirm; nothing was changed")
    click.confirm(question, abort=True, err=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that ``what`` is in progress."""
    from tooltrace.cli.table import console

    screen = console(stderr=True)
    if not screen.is_terminal:
        yield
        return
    with screen.status(f"{what} …"):
        yield
