"""``tooltrace prune``: remove the content of old calls, and rows that are older still."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import click

from tooltrace.cli.options import examples, format_option, place_option
from tooltrace.core.plural import format_count
from tooltrace.errors import ConfigError
from tooltrace.store.base import StoreBackend
from tooltrace.store.upkeep.retention import PrunePolicy, PruneReport, parse_days, parse_size


@click.command(
    short_help="Remove the content of old calls, and old rows.",
    epilog=examples(
        "tooltrace prune --older-than 90d --dry-run",
        "tooltrace prune --older-than 90d --keep-rows 3y",
        "tooltrace prune --max-size 2GB",
    ),
)
@click.option("--older-than", metavar="AGE", help="Remove the content of days that ended this long ago: 90d, 12w, 1y.")
@click.option(
    "--keep-rows", metavar="AGE", help="Delete the rows of calls that are older than this. Default: keep them."
)
@click.option(
    "--max-size",
    metavar="SIZE",
    help="Remove the content of the oldest days, then their rows, until the database has this size: 500MB, 2GB.",
)
@click.option("--dry-run", is_flag=True, help="Only report what would be removed.")
@format_option("table", "json")
@place_option
def prune(
    *,
    older_than: str | None,
    keep_rows: str | None,
    max_size: str | None,
    dry_run: bool,
    form: str,
    store: StoreBackend,
) -> None:
    """Remove the content of old calls; their rows stay, unless --keep-rows deletes old ones.

    Content is arguments, results, texts, messages and tracebacks. Counts, rates, durations and calibration stay what they
    were. Pass --older-than, --keep-rows, --max-size, or several of them.
    """
    if older_than is None and keep_rows is None and max_size is None:
        raise click.UsageError("Pass --older-than AGE, --keep-rows AGE, --max-size SIZE, or several of them.")
    now = datetime.now(UTC)
    policy = PrunePolicy(
        before=_ago(older_than, "--older-than", now),
        rows_before=_ago(keep_rows, "--keep-rows", now),
        max_bytes=_parsed(parse_size, max_size, "--max-size"),
    )
    report = store.prune(policy, dry_run=dry_run)
    if form == "json":
        click.echo(json.dumps(_as_json(report), indent=2))
    else:
        click.echo("\n".join(_lines(report, dry_run=dry_run)))


def _ago(age: str | None, option: str, now: datetime) -> datetime | None:
    days = _parsed(parse_days, age, option)
    return None if days is None else now - timedelta(days=days)


def _parsed(parse: Any, text: str | None, option: str) -> Any:
    try:
        return None if text is None else parse(text)
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint=option) from error


def _as_json(report: PruneReport) -> dict[str, Any]:
    def day(found: date | None) -> str | None:
        return None if found is None else found.isoformat()

    return {
        "content_before": day(report.content_before),
        "rows_before": day(report.rows_before),
        "emptied": dict(report.emptied),
        "deleted": dict(report.deleted),
        "bytes_before": report.bytes_before,
        "bytes_after": report.bytes_after,
    }


def _lines(report: PruneReport, *, dry_run: bool) -> Iterator[str]:
    if not (report.emptied or report.deleted):
        yield "Nothing to prune."
        return
    removed, about = ("Would remove", "about ") if dry_run else ("Removed", "")
    yield f"{removed} content before {report.content_before} (UTC):"
    for table, rows in report.emptied.items():
        yield f"  {table:<12} {format_count(rows, 'row')} without content"
    if report.rows_before is not None:
        yield f"{removed} rows before {report.rows_before} (UTC):"
    for table, rows in report.deleted.items():
        yield f"  {table:<12} {format_count(rows, 'row')} deleted"
    yield f"Database: {report.bytes_before / 1e6:,.1f} MB, then {about}{report.bytes_after / 1e6:,.1f} MB."
