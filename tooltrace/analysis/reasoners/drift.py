"""Drift: change points and alarms of failure rate, cut-off share, latency and accuracy, from attempts in the order of time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from tooltrace.analysis.reasoners.histories import Columns, histories, nulls_last, seconds
from tooltrace.statistics.arrays import cluster_sums, codes_of
from tooltrace.statistics.changes import Change, alarm, find_change
from tooltrace.statistics.rhythm import DAY, fit_rhythm
from tooltrace.statistics.shares import interval
from tooltrace.store.result import Gathered

WITHIN: Final = ("code", "status", "rule", "rule_grade")
"""Groups that do not split a history: failures with a code are compared with all its attempts."""
STATISTICS: Final = {"failure_rate": "failed", "cut_off_share": "cut_off", "latency": "ms", "accuracy": "correct"}
SURE: Final = math.log(20)
"""A change that is less likely than this may be chance: "strong" evidence is 20 times (Kass and Raftery 1995)."""

Row = dict[str, Any]


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[Row]:
    """Return a row for each group and statistic; those with a change first."""
    rows = [
        row
        for names, columns in histories(gathered, WITHIN)
        for row in _of_history(gathered, names, columns, parameters)
    ]
    return sorted(rows, key=lambda row: row["change_point"] is None)


def _of_history(gathered: Gathered, names: Row, columns: Columns, parameters: Mapping[str, Any]) -> Iterator[Row]:
    refused = columns["refused"] == 1
    ran = ~refused
    columns["cluster"] = codes_of(columns["cluster"])
    for part, member in _parts(gathered, columns):
        if not (member & ran).any():
            continue
        group = {**names, **part, "refused": int(np.count_nonzero(member & refused))}
        for statistic, source in STATISTICS.items():
            # a failure with another code counts as an attempt without this failure
            is_rate = statistic in ("failure_rate", "cut_off_share")
            chosen = ran if is_rate else member & ran
            values = np.asarray(columns[source], dtype=float)
            known = chosen & ~np.isnan(values)
            if is_rate:
                values = np.where(member, values, 0.0)
            if statistic == "cut_off_share" and not values[known].any():  # as for most tools
                continue
            total, n = int(np.count_nonzero(chosen)), int(np.count_nonzero(known))
            low, high = interval(total - n, total, total)
            yield {
                **group,
                "statistic": statistic,
                "n": n,
                "unseen_share": (total - n) / total,
                "unseen_low": low,
                "unseen_high": high,
                **_figures(
                    statistic, values[known], columns["started_at"][known], columns["cluster"][known], parameters
                ),
            }


def _parts(gathered: Gathered, columns: Columns) -> Iterator[tuple[Row, Any]]:
    """Yield the groups within a history, each with its attempts."""
    names = [name for name in gathered.groups if name in WITHIN]
    if not names:
        yield {}, np.ones(len(columns["refused"]), dtype=bool)
        return
    keys = list(zip(*(columns[name].tolist() for name in names), strict=True))
    for key in sorted(set(keys), key=nulls_last):
        yield dict(zip(names, key, strict=True)), np.fromiter((other == key for other in keys), bool, len(keys))


def _figures(statistic: str, values: Any, started: Any, clusters: Any, parameters: Mapping[str, Any]) -> Row:
    n = len(values)
    if not n:
        return dict.fromkeys(_FIGURES) | {"weak": False, "too_few": True}
    times, latency = seconds(started), statistic == "latency"
    reference = min(parameters["reference"], n // 2)
    if latency:
        hits = values > np.median(values)
        bad = values > np.quantile(values[:reference], 0.9) if reference else np.zeros(n, dtype=bool)
    else:
        hits, bad = values == 1, values == (0 if statistic == "accuracy" else 1)
    change = find_change(times, hits.astype(float), clusters, evidence=parameters["evidence"])
    effect, rhythm = change.dependence.effect, change.rhythm
    bad = bad.astype(float)
    alarmed = alarm(
        bad,
        effect=effect,
        reference=parameters["reference"],
        odds=parameters["odds"],
        rhythm=fit_rhythm(times, bad, DAY) if rhythm else None,
    )
    sums = cluster_sums(clusters, values)
    effective = min(sums.effective_n if sums.clusters > 1 else float(n), n / effect)
    level = np.median if latency else np.mean
    limits = (None, None) if latency else interval(sums.s, n, effective)
    return {
        "alarm_at": None if alarmed is None else started[alarmed].item(),
        "log_bayes_factor": change.log_bayes_factor,
        "overall": float(level(values)),
        "overall_low": limits[0],
        "overall_high": limits[1],
        "daily_low": rhythm.lowest if rhythm else None,
        "daily_high": rhythm.highest if rhythm else None,
        "too_few": n < parameters["min_n"] or change.dependence.few_clusters,
        "clusters": change.dependence.clusters,
        "design_effect": effect,
        **_sides(change, values, started, statistic),
    }


def _sides(change: Change, values: Any, started: Any, statistic: str) -> Row:
    at = change.at
    if at is None:
        return dict.fromkeys(_SIDES) | {"weak": False}
    level = np.median if statistic == "latency" else np.mean
    row: Row = {"change_point": started[at].item(), "weak": (change.log_bayes_factor or 0.0) < SURE}
    for name, side in (("before", values[:at]), ("after", values[at:])):
        effective = len(side) / change.dependence.effect
        limits = (None, None) if statistic == "latency" else interval(float(side.sum()), len(side), effective)
        row |= {name: float(level(side)), f"{name}_low": limits[0], f"{name}_high": limits[1], f"n_{name}": len(side)}
    rose = row["after"] > row["before"]
    return row | {"worse": row["after"] < row["before"] if statistic == "accuracy" else rose}


_SIDES: Final = (
    *("change_point", "before", "before_low", "before_high", "after", "after_low", "after_high"),
    *("n_before", "n_after", "worse"),
)
_FIGURES: Final = (
    *("alarm_at", "log_bayes_factor", "overall", "overall_low", "overall_high", "daily_low", "daily_high"),
    *("clusters", "design_effect", *_SIDES),
)
