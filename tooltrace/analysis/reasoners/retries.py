"""Retries: what follows from the counts of calls, attempts, gaps and flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tooltrace.statistics.shares import is_few
from tooltrace.store.result import Gathered


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the query ``retries``."""
    for row in gathered.rows():
        calls, earlier, last = row["calls"] or 0, row["earlier_ms"], row["last_ms"]
        if gathered.groups and not (calls or row["left_out"] or row["refused"]):
            continue  # attempts of calls that ended in another group
        wasted = None if earlier is None and last is None else earlier or 0.0
        spent = (wasted or 0.0) + (last or 0.0)
        unmeasured, known_good = _unmeasured(row), row["flag_recall_n"]
        if unmeasured:
            row["flag_recall_n"] = 0
        yield row | {
            "amplification": row["attempts"] / calls if calls else None,
            "wasted_ms": wasted,
            "wasted_share": wasted / spent if wasted is not None and spent else None,
            "flagged_retried": row["flag_precision_n"],
            "recall_n": known_good,
            "flag_recall_reason": unmeasured,
            "too_few": is_few(calls, row["clusters_of_calls"], parameters["min_n"]),
        }


def _unmeasured(row: Mapping[str, Any]) -> str | None:
    """Return why nothing shows how many of the errors that a retry mends are marked retryable; None where it is known."""
    if not row["unflagged_again"]:
        return '"not retryable" was never retried'
    return None if row["flag_recall_n"] else "no retry succeeded"
