"""``tooltrace redact``: remove secrets from what is stored already."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import CommandError, UsageError
from tooltrace.cli.forget import confirm, paths_of, print_exports, working
from tooltrace.cli.options import examples, format_option, store_option
from tooltrace.cli.sanitize import clean
from tooltrace.core.plural import format_count
from tooltrace.redact.redaction import Redaction

if TYPE_CHECKING:
    from tooltrace.store.upkeep.redact_stored import RedactReport


@click.command(
    short_help="Remove secrets from the stored history.",
    epilog=examples(
        "tooltrace redact --defaults --dry-run",
        'tooltrace redact --key badge --pattern "customer-[0-9]+" --yes',
    ),
)
@click.option(
    "--pattern", "patterns", multiple=True, metavar="REGEX", help="Also redact what this matches; repeatable."
)
@click.option("--key", "keys", multiple=True, metavar="NAME", help="Also redact the values of this key; repeatable.")
@click.option("--defaults", is_flag=True, help="Redact by the built-in rules alone.")
@click.option("--exports", is_flag=True, help="Also redact exported files and backups.")
@click.option("--dry-run", is_flag=True, help="Count the values, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--wait", type=click.FloatRange(min=0), default=30.0, show_default=True, help="Seconds to wait for readers."
)
@format_option("table", "json")
@store_option
def redact(
    *,
    patterns: tuple[str, ...],
    keys: tuple[str, ...],
    defaults: bool,
    exports: bool,
    dry_run: bool,
    yes: bool,
    wait: float,
    form: str,
    store: Path,
) -> None:
    """Replace secrets in the stored history by [redacted], in the database and in journals.

    The built-in rules always apply. Ids are not changed. Configure redact= first: processes that run go on recording
    by their own rules. Exported files and backups are listed; --exports redacts them too.

    Exit code 1 if a file may still have secrets.
    """
    from tooltrace.maintenance.exported_files import redact_exports
    from tooltrace.store.upkeep.redact_stored import redact_stored

    if not (patterns or keys or defaults):
        raise UsageError("nothing to redact: pass --defaults, --key or --pattern; nothing was changed")
    try:
        redaction = Redaction(keys=keys, patterns=patterns)
    except re.error as error:
        raise UsageError(f"--pattern must be a regular expression: {error}; nothing was changed") from error
    if not (dry_run or yes):
        confirm(f"Redact secrets in {store} for good?")
    with working("Redacting"):
        report = redact_stored(store, redaction, dry_run=dry_run, wait=wait)
        if exports and not dry_run:
            cleaned = redact_exports(report.exports, redaction, wait=wait)
            report.exports, report.exports_changed = [], cleaned.changed
            report.remaining += cleaned.remaining
    print_secrets(report, form, "found" if dry_run else "redacted")
    print_exports(report.exports, form)
    if report.remaining:
        raise CommandError("\n".join(report.remaining))


def print_secrets(report: RedactReport, form: str, done: str) -> None:
    """Print the numbers of values and lines that were ``done``, never the secrets."""
    if form == "json":
        values = {
            "values": report.values, "lines": report.lines, "copies": report.copies, "remaining": report.remaining,
            "bytes_before": report.bytes_before, "bytes_after": report.bytes_after,
            "exports": paths_of(report.exports), "exports_changed": report.exports_changed,
        }  # fmt: skip
        click.echo(json.dumps(values, ensure_ascii=False, indent=2))
        return
    click.echo(f"{format_count(sum(report.values.values()), 'value')} {done}.")
    for name, count in report.values.items():
        click.echo(f"  {name}: {count:,}")
    for name, count in report.lines.items():
        click.echo(clean(f"  {name}: {format_count(count, 'line')}"))
    for name in report.copies:
        click.echo(clean(f"  {name}: rewritten or removed"))
    for name, count in report.exports_changed.items():
        click.echo(clean(f"  {name}: {format_count(count, 'record')}"))
