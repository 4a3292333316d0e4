"""The figures of a window and of the one before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tooltrace.analysis.reasoners.latency import durations
from tooltrace.analysis.reasoning import RowDict, sums_of
from tooltrace.store.result import Gathered


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[RowDict]:
    """Yield each period with its counts of calls, the interval of p95, and how far the attempts can be trusted."""
    for row in gathered.rows():
        calls, retried, attempts = (sums_of(row, name) for name in ("call_rate", "retried_share", "rate"))
        found = attempts.proportion()
        yield {
            **row,
            **durations(row),
            "calls": int(calls.n),
            "failed_calls": int(calls.s),
            "retried": int(retried.s),
            "clusters": found.clusters,
            "design_effect": found.design_effect if found.n else None,
            "too_few": found.is_below(parameters["min_n"]),
        }
