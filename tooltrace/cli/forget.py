"""``tooltrace forget``: delete calls, and all that belongs to them, for good."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import CommandError, UsageError
from tooltrace.cli.options import examples, format_option, store_option
from tooltrace.cli.sanitize import clean
from tooltrace.core.plural import format_count

if TYPE_CHECKING:
    from tooltrace.store.upkeep.exports import ExportedFile
    from tooltrace.store.upkeep.forget import ForgetReport


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
@click.option(
    "--exports", is_flag=True, help="Also rewrite exported files and backups without what was ever forgotten."
)
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
    exports: bool,
    dry_run: bool,
    yes: bool,
    wait: float,
    form: str,
    store: Path,
) -> None:
    """Delete calls with their messages, labels, corrections, gates and spans from every file of the store.

    The database is rewritten, so that the bytes are gone; lines in journals are overwritten, also in those of running
    processes. Options are combined with AND. Records of these calls that arrive later are left out; calls that begin
    later are recorded. Exported files and backups that may have the records are listed; --exports rewrites them, without
    another option only them.

    Exit code 1 if a file may still have the records.
    """
    from tooltrace.maintenance.forget import forget_calls
    from tooltrace.store.upkeep.forget import Selection

    selection = None
    if conversation or call_id or where:
        selection = Selection(conversation_id=conversation, call_id=call_id, where=where, whole_traces=whole_traces)
    elif not exports:
        raise UsageError("nothing to forget: pass --conversation, --call, --where or --exports; nothing was changed")
    if dry_run or not yes:
        found = forget_calls(store, selection, exports=exports, wait=wait, dry_run=True)
        counted = f"{format_count(found.attempts, 'attempt')} of {format_count(found.calls, 'call')}"
        if dry_run:
            values = {"attempts": found.attempts, "calls": found.calls, "exports": paths_of(found.exports)}
            click.echo(json.dumps(values, ensure_ascii=False) if form == "json" else counted)
            print_exports(found.exports, form)
            return
        confirm(f"Forget {counted} for good?" if selection else "Remove from exported files what was forgotten?")
    with working("Forgetting"):
        report = forget_calls(store, selection, exports=exports, wait=wait)
    _print(report, form)
    print_exports(report.exports, form)
    if report.spans_left:
        click.echo(
            f"{format_count(report.spans_left, 'span')} of traces with other calls remain; --whole-traces deletes them.",
            err=True,
        )
    if report.remaining:
        raise CommandError("\n".join(report.remaining))


def _print(report: ForgetReport, form: str) -> None:
    erased = report.erased
    if form == "json":
        values = {
            "attempts": report.attempts, "calls": report.calls, "spans_left": report.spans_left, "rows": erased.rows,
            "journal_lines": erased.lines, "copies_rewritten": erased.rewritten, "copies_removed": erased.removed,
            "bytes_before": erased.bytes_before, "bytes_after": erased.bytes_after, "remaining": erased.remaining,
            "exports": paths_of(report.exports), "exports_changed": report.exports_changed,
        }  # fmt: skip
        click.echo(json.dumps(values, ensure_ascii=False, indent=2))
        return
    click.echo(f"Forgot {format_count(report.attempts, 'attempt')} of {format_count(report.calls, 'call')}.")
    for name, count in erased.rows.items():
        click.echo(f"  {name}: {format_count(count, 'row')}")
    for name, count in erased.lines.items():
        click.echo(clean(f"  {name}: {format_count(count, 'line')} overwritten"))
    for name in (*erased.rewritten, *erased.removed):
        click.echo(clean(f"  {name}: {'rewritten' if name in erased.rewritten else 'removed'}"))
    for name, count in report.exports_changed.items():
        click.echo(clean(f"  {name}: {format_count(count, 'record')} removed"))


def paths_of(exports: Sequence[ExportedFile]) -> list[str]:
    """Return the paths of ``exports`` for JSON."""
    return [str(each.path) for each in exports]


def print_exports(exports: Sequence[ExportedFile], form: str) -> None:
    """List the exported files that may have the records, and what to do about them."""
    if form == "json" or not exports:
        return
    number = format_count(len(exports), "exported file")
    click.echo(f"{number} may still have the records; --exports rewrites them, or delete them:", err=True)
    for each in exports:
        click.echo(clean(f"  {each.path} ({each.format}, {each.written_at:%Y-%m-%d %H:%M} UTC)"), err=True)


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
