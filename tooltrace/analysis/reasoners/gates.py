"""Stops for a person: what was decided, how long that took, and what became of the approved calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from statistics import quantiles
from typing import Any

from tooltrace.statistics.shares import ClusterCounts, is_few
from tooltrace.store.result import Gathered

_DECISIONS = {"approved": "approved", "declined": "declined", "expired": "expired", None: "waiting"}


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the query ``gates``; without groups there is one row, also where nothing stopped."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {} if gathered.groups else {(): []}
    for stop in gathered.rows():
        groups.setdefault(tuple(stop[name] for name in gathered.groups), []).append(stop)
    for values, stops in groups.items():
        yield dict(zip(gathered.groups, values, strict=True)) | _figures(stops, parameters["min_n"])


def _figures(stops: list[dict[str, Any]], min_n: int) -> dict[str, Any]:
    decisions = Counter(stop["decision"] for stop in stops)
    decided, resumed = ClusterCounts(), ClusterCounts()
    for stop in stops:
        if stop["decision"] in ("approved", "declined"):
            decided.add(stop["cluster"], stop["decision"] == "approved")
        if stop["resumed_failed"] is not None:
            resumed.add(stop["cluster"], stop["resumed_failed"])
    failures, clusters = resumed.sums.proportion(), len({stop["cluster"] for stop in stops})
    waits = [stop["waited_ms"] for stop in stops if stop["waited_ms"] is not None]
    p50, p95 = _percentiles(waits)
    return {
        "n": len(stops),
        **{name: decisions[decision] for decision, name in _DECISIONS.items()},
        "changed": sum(stop["altered"] for stop in stops),
        **{f"approved_share_{name}": value for name, value in decided.sums._asdict().items()},
        "wait_p50": p50,
        "wait_p95": p95,
        "resumed": failures.n,
        "failures": failures.k,
        **{f"failure_rate_{name}": value for name, value in resumed.sums._asdict().items()},
        "unresumed": decisions["approved"] - failures.n,
        "clusters": clusters,
        "design_effect": failures.design_effect if failures.n else None,
        "too_few": is_few(len(stops), clusters, min_n),
    }


def _percentiles(waits: list[float]) -> tuple[float | None, float | None]:
    """Return the median and the 95th percentile, linear between order statistics."""
    if len(waits) < 2:
        return (waits[0], waits[0]) if waits else (None, None)
    steps = quantiles(waits, n=20, method="inclusive")
    return steps[9], steps[18]
