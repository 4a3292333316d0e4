"""Windows of time in which retries and failures rose together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from tooltrace.statistics.excess import excess_p
from tooltrace.statistics.shares import ClusterSums
from tooltrace.store.result import Gathered

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - times of the store are naive UTC
_RETRY_BUDGET: Final = 0.1
_FAILURES: Final = tuple(f"failure_rate_{name}" for name in ClusterSums._fields)


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the windows of each group, each compared with all other windows of it."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in gathered.rows():
        groups.setdefault(tuple(row[name] for name in gathered.groups), []).append(row)
    for rows in groups.values():
        failures = [ClusterSums(*map(row.__getitem__, _FAILURES)) for row in rows]
        whole = ClusterSums(*map(sum, zip(*failures, strict=True)))
        for row, part in zip(rows, failures, strict=True):
            rate, n, s = part.proportion(), whole.n - part.n, whole.s - part.s
            rise_p = 1.0 if n else None
            if part.s * n > s * part.n:
                rise_p = min(1.0, len(rows) * excess_p(part, whole.without(part)))
            yield row | {
                "window": _EPOCH + timedelta(seconds=row["window_s"]),
                "rising": None if rise_p is None else row["retries"] / part.n > _RETRY_BUDGET and rise_p < 0.05,
                "base_rate": s / n if n else None,
                "rise_p": rise_p,
                "failure_rate": rate.share,
                "failure_low": rate.low,
                "failure_high": rate.high,
                "clusters": rate.clusters,
                "design_effect": rate.design_effect,
                "too_few": rate.is_below(parameters["min_n"]),
            }
