"""A history whose clocks say little about the order of attempts, and the number of failed calls in it."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tooltrace.core.records import ToolCall

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = START + timedelta(days=1)

# (number, seconds after the start, last digit of the span id, status) of each attempt
CALLS = {
    "equal starts, recovered": [(1, 0, 3, "error"), (2, 0, 2, "error"), (3, 0, 1, "success")],
    "equal starts, failed": [(1, 0, 3, "success"), (2, 0, 2, "error")],
    "clock stepped back, recovered": [(1, 60, 2, "error"), (2, 0, 1, "success")],
    "clock stepped back, failed": [(1, 60, 2, "success"), (2, 0, 1, "error")],
    "clock stepped back twice, recovered": [(1, 60, 3, "error"), (2, 30, 2, "error"), (3, 0, 1, "success")],
    "without numbers, recovered": [(1, 0, 2, "error"), (1, 1, 1, "success")],
    "without numbers, failed": [(1, 0, 2, "success"), (1, 1, 1, "error")],
    "without numbers, equal starts, recovered": [(1, 0, 1, "error"), (1, 0, 2, "success")],
    "without numbers, equal starts, failed": [(1, 0, 1, "success"), (1, 0, 2, "error")],
    "last attempt unfinished, failed": [(1, 60, 2, "error"), (2, 0, 1, None)],
    "paused, recovered": [(1, 60, 2, None), (1, 0, 1, "success")],
    "only attempt, failed": [(1, 0, 1, "error")],
    "only attempt, recovered": [(1, 0, 1, "success")],
}
FAILED = {name for name in CALLS if name.endswith("failed")}
SUCCEEDED_WITH = {1: 6, 2: 3, 3: 2}
"""Number of calls whose first success is their k-th finished attempt."""
LAST_SPANS = {
    f"{number:015x}{sorted(finished, key=lambda attempt: attempt[:3])[-1][2]}"
    for number, finished in enumerate(
        ([attempt for attempt in attempts if attempt[3]] for attempts in CALLS.values()), start=1
    )
}
"""Span ids of the last finished attempts."""


def history(seed: int = 0, **given: Any) -> list[ToolCall]:
    """Return the attempts of ``CALLS``, in any order."""
    attempts = [
        ToolCall(
            tool="search", call_id=name, trace_id=f"{number:032x}", span_id=f"{number:015x}{digit}", attempt=attempt,
            conversation_id=f"talk_{number}", started_at=START + timedelta(seconds=seconds), duration_ms=10.0,
            status=status, ending="returned" if status else "paused", **given,
        )
        for number, (name, made) in enumerate(CALLS.items(), start=1)
        for attempt, seconds, digit, status in made
    ]  # fmt: skip
    random.Random(seed).shuffle(attempts)
    return attempts


def require_same_failed_calls(query: Callable[..., list[dict[str, Any]]]) -> None:
    """Check every query that counts failed calls. ``query``: run a query by name, and return its rows."""
    failed, calls = len(FAILED), len(CALLS)
    (rates,) = query("failure_rate")
    (ranking,) = query("ranking")
    overview = query("overview")[0]
    assert [(row["calls"], row["failed_calls"]) for row in (rates, ranking, overview)] == [(calls, failed)] * 3
    compared = {
        row["measure"]: row for row in query("compare", before=f"..{LATER.isoformat()}", after=f"{LATER.isoformat()}..")
    }
    assert compared["call_failure_rate"]["before"] == failed / calls
    (retries,) = query("retries")
    assert (retries["calls"], retries["gave_up"]) == (calls, failed)
    assert retries["recovered"] == sum("error" in {a[3] for a in CALLS[name]} for name in CALLS.keys() - FAILED)
    survival = {row["k"]: row["succeeded"] for row in query("retry_survival")}
    assert {k: n for k, n in survival.items() if n} == SUCCEEDED_WITH
