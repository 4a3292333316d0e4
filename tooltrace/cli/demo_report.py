"""Report of a demo run: results of named queries, and suggested commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import tooltrace as tt
from tooltrace.cli.errors import CommandError
from tooltrace.cli.table import console, write_table
from tooltrace.demo.run import Run
from tooltrace.recording.settings import default_store
from tooltrace.store.result import QueryResult, Row

TOP = 8
_RATES = ("attempts", "failures", "rate", "low", "high", "cancelled", "abandoned")
_ERRORS = ("code", "type", "n", "share", "message")
_RETRIES = ("calls", "attempts", "amplification", "recovered", "gave_up", "wasted_ms")
_BELIEF = (
    *("n", "labelled_share", "mean_confidence", "accuracy", "accuracy_low", "accuracy_high"),
    *("ece", "ece_low", "ece_high", "miscalibrated", "auroc"),
)


def report(run: Run) -> None:
    """Print the results of the first queries to read, and commands that continue from there."""
    names = ("failure_rate", "errors", "retries", "calibration")
    rates, errors, retries, belief = (_ask(run, name) for name in names)
    attempts = sum(sum(retries.values(name)) for name in ("attempts", "left_out"))
    shown = sum(sum(rates.values(name)) for name in ("attempts", "cancelled", "abandoned"))
    if shown != attempts:
        raise CommandError(f"the demo's tables disagree: retries counts {attempts:,} attempts, failure_rate {shown:,}")
    screen = console()
    screen.print(f"{run.calls:,} calls in {attempts:,} attempts, {run.seconds:.1f} s.", style="bold")
    retried = [row for row, times in zip(retries.rows, retries.values("retried"), strict=True) if times]
    sure = [row for row, n in zip(belief.rows, belief.values("n"), strict=True) if n]
    for title, answer, columns, rows in (
        ("How often does a tool fail? (share of attempts, 95 % interval)", rates, _RATES, rates.rows),
        (f"Why? (the {TOP} most frequent errors of {len(errors.rows)})", errors, _ERRORS, errors.rows[:TOP]),
        ("What do retries cost, and do they help?", retries, _RETRIES, retried),
        ("Can a tool's confidence be believed? (held against what was labelled right)", belief, _BELIEF, sure),
    ):
        screen.print(f"\n{title}", style="bold")
        write_table(_part(answer, columns, rows))
    for row in sure:
        screen.print(verdict(dict(zip(belief.columns, row, strict=True))), soft_wrap=True)
    screen.print("\nThree commands to go on with:", style="bold")
    for command in _commands(run, errors):
        screen.print(f"  {command}", soft_wrap=True)
    screen.print(f"\nThe store: {run.store}", soft_wrap=True)


def verdict(row: Mapping[str, Any]) -> str:
    """Describe the calibration of a tool in words, from a row of the query ``calibration``."""
    said = (
        f"{row['tool']} says {row['mean_confidence']:.2f}, is right {row['accuracy']:.2f} of the time, n = {row['n']}"
    )
    gap, low, high = row["gap"], row["gap_low"], row["gap_high"]
    if row["too_few"] or low is None or high is None:
        return f"{said}: too few to tell"
    if low > 0:
        return f"{said}: overconfident by {gap:.2f} [{low:.2f}, {high:.2f}]"
    if high < 0:
        return f"{said}: underconfident by {-gap:.2f} [{-high:.2f}, {-low:.2f}]"
    if row["miscalibrated"]:
        return (
            f"{said}: neither over- nor underconfident on the whole, yet not at each confidence (ece {row['ece']:.2f})"
        )
    return f"{said}: neither over- nor underconfident, as far as can be told, by {gap:.2f} [{low:.2f}, {high:.2f}]"


def _ask(run: Run, name: str) -> QueryResult:
    """Return the result of the query ``name`` for this run alone."""
    return tt.query(name, store=run.store, since=run.started_at)


def _part(answer: QueryResult, names: Sequence[str], rows: Sequence[Row]) -> QueryResult:
    """Return ``rows`` with the group columns and the columns ``names``."""
    kept = [at for at, name in enumerate(answer.columns) if at < answer.groups or name in names]
    return answer.with_rows(rows).with_columns_at(kept)


def _commands(run: Run, errors: QueryResult) -> list[str]:
    store = "" if run.store == default_store() else f" --store {shlex.quote(str(run.store))}"
    examples = errors.values("example_call_id")
    show = f"tooltrace show {examples[0]}{store}" if examples else f"tooltrace tail --no-follow{store}"
    sql = "SELECT tool, correct, count(*) AS n FROM outcomes JOIN calls USING (call_id) GROUP BY ALL ORDER BY ALL"
    return [show, f"tooltrace query latency --by tool,status{store}", f'tooltrace sql "{sql}"{store}']
