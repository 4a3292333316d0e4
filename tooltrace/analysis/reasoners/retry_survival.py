"""How many attempts a call needs: Kaplan-Meier's curve of each group, beside the naive share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from tooltrace.statistics.shares import ClusterSums
from tooltrace.statistics.survival import kaplan_meier
from tooltrace.store.result import Gathered

_COUNTS = ("succeeded", "gave_up", "left_out", "refused", "done_2", "done_n", "gone_2", "gone_n")


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each group and number of the attempt."""
    groups: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = {}
    for row in gathered.rows():
        groups.setdefault(tuple(row[name] for name in gathered.groups), {})[row["k"]] = row
    for values, rows in groups.items():
        steps = [rows.get(k, {}) for k in range(1, max(rows) + 1)]
        for row in _curve(steps, parameters["min_n"]):
            yield dict(zip(gathered.groups, values, strict=True)) | row


def _curve(steps: list[dict[str, Any]], min_n: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of one group; ``steps`` has what was counted for each attempt from the first on."""
    counts = {name: [step.get(name) or 0 for step in steps] for name in _COUNTS}
    totals = {name: list(accumulate(values)) for name, values in counts.items()}
    succeeded, gave_up = counts["succeeded"], counts["gave_up"]
    calls = sum(succeeded) + sum(gave_up)
    clusters = round(sum(step.get("clusters") or 0 for step in steps))
    nn = sum(step.get("nn") or 0 for step in steps)
    naive = [
        ClusterSums(clusters, calls, s, ss, sn, nn).proportion()
        for s, ss, sn in zip(totals["succeeded"], totals["done_2"], totals["done_n"], strict=True)
    ]
    # those who were given up before
    gone = zip(*([0, *totals[name][:-1]] for name in ("gave_up", "gone_2", "gone_n")), strict=True)
    censored = [ClusterSums(clusters, calls, s, ss, sn, nn).proportion() for s, ss, sn in gone]
    curve = kaplan_meier(succeeded, gave_up, [share.design_effect for share in naive])
    for at, step in enumerate(curve):
        yield {
            **{name: counts[name][at] for name in ("succeeded", "gave_up", "left_out", "refused")},
            "k": at + 1,
            "calls": calls,
            "at_risk": step.at_risk,
            "km": step.share,
            "km_low": step.low,
            "km_high": step.high,
            "naive": naive[at].share,
            "naive_low": naive[at].low,
            "naive_high": naive[at].high,
            "censored": censored[at].share,
            "censored_low": censored[at].low,
            "censored_high": censored[at].high,
            "clusters": clusters,
            "design_effect": naive[at].design_effect,
            "too_few": step.at_risk < min_n or naive[at].has_few_clusters,
        }
