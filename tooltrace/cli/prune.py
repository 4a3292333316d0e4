"""``tooltrace prune``: count old calls in rollups, and delete their rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from tooltrace.cli.known_names import require_known
from tooltrace.cli.options import examples, format_option, place_option, tool_option
from tooltrace.core.plural import format_count
from tooltrace.errors import ConfigError
from tooltrace.store.base import StoreBackend
from tooltrace.store.upkeep.retention import PrunePolicy, PruneReport, parse_days, parse_size

_FOREVER = "forever"


@click.command(
    short_help="Count old calls in rollups, and delete their rows.",
    epilog=examples(
        "tooltrace prune --older-than 90d --dry-run",
        "tooltrace prune --older-than 90d --keep-errors=365d",
        "tooltrace prune --max-size 2GB",
    ),
)
@click.option("--older-than", metavar="AGE", help="Prune calls of days that ended this long ago: 90d, 12w, 1y.")
@click.option("--max-size", metavar="SIZE", help="Prune the oldest days until the database has this size: 500MB, 2GB.")
@click.option(
    "--keep-errors",
    is_flag=False,
    flag_value=_FOREVER,
    metavar="[AGE]",
    help="Keep calls with a failed or labelled attempt; with an age, such as =365d, until they are that old.",
)
@tool_option("Prune only the calls of this tool.")
@click.option("--dry-run", is_flag=True, help="Only report what would be deleted.")
@format_option("table", "json")
@place_option
def prune(
    *,
    older_than: str | None,
    max_size: str | None,
    keep_errors: str | None,
    tool: str | None,
    dry_run: bool,
    form: str,
    store: StoreBackend,
) -> None:
    """Count old calls in rollups by day, and delete their rows.

    Rates, intervals, percentiles and calibration stay what they were for windows of whole days; arguments, results and
    messages are gone. Pass --older-than, --max-size or both.
    """
    if older_than is None and max_size is None:
        raise click.UsageError("Pass --older-than AGE, --max-size SIZE, or both.")
    now = datetime.now(UTC)
    policy = PrunePolicy(
        before=_ago(older_than, "--older-than", now),
        max_bytes=_parsed(parse_size, max_size, "--max-size"),
        keep_errors=keep_errors is not None,
        errors_before=None if keep_errors == _FOREVER else _ago(keep_errors, "--keep-errors", now),
        tool=tool,
    )
    require_known(store, tools=[tool])
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
    return {
        "before": None if report.before is None else report.before.isoformat(),
        "rows": dict(report.rows),
        "emptied": report.emptied,
        "rollups": report.rollups,
        "bytes_before": report.bytes_before,
        "bytes_after": report.bytes_after,
    }


def _lines(report: PruneReport, *, dry_run: bool) -> Iterator[str]:
    if report.before is None or not (report.rows or report.emptied):
        yield "Nothing to prune."
        return
    yield f"{'Would prune' if dry_run else 'Pruned'} calls before {report.before} (UTC):"
    for table, rows in report.rows.items():
        yield f"  {table:<12} {format_count(rows, 'row')} deleted"
    if report.emptied:
        yield f"  {'attempts':<12} {format_count(report.emptied, 'row')} without content, as the call is on several days"
    if report.rollups:
        yield f"  {'rollups':<12} {format_count(report.rollups, 'row')} added"
    about = "about " if dry_run else ""
    yield f"Database: {report.bytes_before / 1e6:,.1f} MB, then {about}{report.bytes_after / 1e6:,.1f} MB."
