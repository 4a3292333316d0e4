"""Report of a demo run: results of named queries, and suggested commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import tooltrace as tt
from tooltrace.cli.errors import CommandError
from tooltrace.cli.next_command import program, store_words
from tooltrace.cli.serve import can_serve
from tooltrace.cli.table import console, write_table
from tooltrace.cli.table_layout import choose
from tooltrace.cli.wrapping import echo_command
from tooltrace.core.plural import format_count
from tooltrace.demo.run import Run
from tooltrace.store.result import QueryResult, Row, with_columns_at, with_rows

TOP = 8
_RATES = ("attempts", "failures", "rate", "low", "high", "cancelled", "abandoned")
_ERRORS = ("code", "type", "n", "share", "message")
_RETRIES = ("calls", "attempts", "amplification", "recovered", "gave_up", "wasted_ms")
_CALIBRATION = (
    *("n", "labelled_share", "mean_confidence", "accuracy", "accuracy_low", "accuracy_high"),
    *("ece", "ece_low", "ece_high", "miscalibrated", "auroc"),
)


def report(run: Run) -> None:
    """Print the results of the first queries to read, and commands that continue from there."""
    names: tuple[tt.QueryName, ...] = ("failure_rate", "errors", "retries", "calibration")
    rates, errors, retries, calibration = (tt.query(name, store=run.store, since=run.started_at) for name in names)
    attempts = sum(sum(retries.values(name)) for name in ("attempts", "left_out"))
    shown = sum(sum(rates.values(name)) for name in ("attempts", "cancelled", "abandoned"))
    if shown != attempts:
        raise CommandError(
            f"the results of the demo disagree: 'retries' counts {format_count(attempts, 'attempt')}, 'failure_rate' counts {shown:,}"
        )
    screen = console()
    screen.print(
        f"{format_count(run.calls, 'call')} in {format_count(attempts, 'attempt')}, {run.seconds:.1f} s.", style="bold"
    )
    if run.past_calls:
        screen.print(
            f"{format_count(run.past_calls, 'call')} of the days before: the command tooltrace names their problems."
        )
    retried = [row for row, times in zip(retries.rows, retries.values("retried"), strict=True) if times]
    labelled = [row for row, n in zip(calibration.rows, calibration.values("n"), strict=True) if n]
    for title, result, columns, rows in (
        (
            "How often does each tool fail? (share of attempts, 95 % interval; cancelled and abandoned ones are apart)",
            rates,
            _RATES,
            rates.rows,
        ),
        (f"Why? (the {TOP} most frequent of {len(errors.rows)} errors)", errors, _ERRORS, errors.rows[:TOP]),
        ("What do retries cost, and do they help?", retries, _RETRIES, retried),
        ("Is the stated confidence right? (compared with labelled results)", calibration, _CALIBRATION, labelled),
    ):
        screen.print(f"\n{title}", style="bold")
        part = _part(result, columns, rows)
        write_table(part, choose(part, width=screen.width))
    for row in labelled:
        screen.print(verdict(dict(zip(calibration.columns, row, strict=True))), soft_wrap=True)
    screen.print("\nNext commands:", style="bold")
    store = store_words(str(run.store))
    for command in _commands(errors):
        echo_command(f"{program()} {command}{store}", indent=2)
    if not can_serve():
        screen.print("  (serve needs: pip install 'tooltrace-recorder[serve]')")
    screen.print(f"\nStore: {run.store}", soft_wrap=True)


def verdict(row: Mapping[str, Any]) -> str:
    """Describe the calibration of a tool in words, from a row of the query ``calibration``."""
    figures = (
        f"{row['tool']}: mean confidence {row['mean_confidence']:.2f}, accuracy {row['accuracy']:.2f}, n = {row['n']}"
    )
    gap, low, high = row["gap"], row["gap_low"], row["gap_high"]
    if row["too_few"] or low is None or high is None:
        return f"{figures}: too few labels for a verdict"
    if low > 0:
        return f"{figures}: overconfident by {gap:.2f} [{low:.2f}, {high:.2f}]"
    if high < 0:
        return f"{figures}: underconfident by {-gap:.2f} [{-high:.2f}, {-low:.2f}]"
    if row["miscalibrated"]:
        return f"{figures}: calibrated on average, but not at each confidence level (ece {row['ece']:.2f})"
    return f"{figures}: no significant over- or underconfidence, gap {gap:.2f} [{low:.2f}, {high:.2f}]"


def _part(result: QueryResult, names: Sequence[str], rows: Sequence[Row]) -> QueryResult:
    """Return ``rows`` with the group columns and the columns ``names``."""
    columns = [at for at, name in enumerate(result.columns) if at < result.groups or name in names]
    return with_columns_at(with_rows(result, rows), columns)


def _commands(errors: QueryResult) -> list[str]:
    examples = errors.values("example_call_id")
    show = f"show {shlex.quote(examples[0])}" if examples else "tail --no-follow"
    sql = "SELECT tool, correct, count(*) AS n FROM outcomes JOIN calls USING (call_id) GROUP BY ALL ORDER BY ALL"
    return ["serve", show, "query latency --by tool,status", f'sql "{sql}"']
