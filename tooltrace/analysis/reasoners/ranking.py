"""The tools in the order in which to look at them: what fails now, and what failed beyond the baseline."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from tooltrace.analysis.reasoning import RowDict, sums_of
from tooltrace.statistics.shares import ClusterSums, Proportion, interval
from tooltrace.store.result import Gathered

USUAL: Final = 0.05
"""Share of calls that fail at a tool without a history, and in the additional calls of each baseline."""
ADDED: Final = 20
"""Additional calls of each baseline, so that a short history has little weight."""
LIKELIER: Final = 20
"""How many times as likely a change must be as a constant rate, for each of its possible times."""


class Baseline(NamedTuple):
    """The share of a tool's calls that usually fails, with its limits."""

    calls: float
    rate: float
    low: float
    high: float
    top_rate: float
    """The rate without the additional calls, where that is higher: what an excess is measured from."""
    top_high: float
    few_clusters: bool


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[RowDict]:
    """Return a row for each group, the most urgent first."""
    groups: dict[Any, list[RowDict]] = {}
    for part in gathered.rows():
        groups.setdefault(part["grp"], []).append(part)
    rows = [
        {
            **(_row if parts[0]["rate_n"] else _never_finished)(gathered.groups, parts, parameters["min_n"]),
            **_cut_off(parts),
        }
        for parts in groups.values()
        if parts[0]["cut_off_share_n"]
    ]
    hurt = sum(row["hurt_ms"] or 0 for row in rows)
    for row in rows:
        row["hurt_share"] = None if row["hurt_ms"] is None or not hurt else row["hurt_ms"] / hurt

    def urgency(row: RowDict) -> tuple[Any, ...]:
        groups = [(row[name] is None, row[name]) for name in gathered.groups]
        excess = max(row["excess_low"] or 0, 0) + cut_off_excess(row)
        counts = [-excess, -(row["hurt_ms"] or 0), -row["failed_calls"], -row["calls"]]
        return (not row["open_failures"], *counts, groups)

    return sorted(rows, key=urgency)


def cut_off_excess(row: RowDict) -> float:
    """Return how many attempts of a row were cut off, at least, beyond what is usual."""
    found = sums_of(row, "cut_off_share").proportion()
    return max(found.low - USUAL, 0.0) * found.n if found.n else 0.0


def baseline_of(part: RowDict) -> Baseline:
    """Return the baseline of the tool of ``part``: of the 7 days before, else of the first half of the window."""
    history, half = sums_of(part, "history"), sums_of(part, "half")
    is_history = history.n >= ADDED
    sums = history if is_history else half
    n, k = sums.n + ADDED, sums.s + ADDED * USUAL
    if not sums.n or k > (0.5 if is_history else USUAL) * n:
        # a rate that is too high to be usual is replaced by one without uncertainty
        return Baseline(
            0, USUAL, USUAL, USUAL, USUAL, USUAL, few_clusters=is_history and sums.proportion().has_few_clusters
        )
    low, high = interval(k, n, n * sums.effective_n / sums.n)
    known = sums.proportion() if is_history else Proportion(0, 0, 0.0, 0.0, 0, 1.0)
    return Baseline(
        sums.n, k / n, low, high, max(k / n, known.share), max(high, known.high), known.n > 0 and known.has_few_clusters
    )


def _row(groups: Sequence[str], parts: list[RowDict], min_n: int) -> RowDict:
    first, rate = parts[0], sums_of(parts[0], "rate")
    found = rate.proportion()
    calls, failed = found.n, found.k
    timed = sum(part["timed"] for part in parts)
    cost = sum(part["failed_ms"] or 0 for part in parts) / timed if timed else None
    usual = _mixed(parts, calls)
    causes = _causes(parts, rate)
    run = causes.pop("last_failures")
    return {
        **{name: first[name] for name in groups},
        **{name: first[name] for name in first if name.startswith("rate_")},
        "calls": calls,
        "failed_calls": failed,
        "attempts": sum(part["attempts"] for part in parts),
        "amplification": sum(part["attempts"] for part in parts) / calls,
        "cost_ms": cost,
        "hurt_ms": 0.0 if not failed else None if cost is None else failed * cost,
        "p95": first["p95"],
        "last_failed_at": _latest(parts, "last_failed_attempt"),
        "too_few": found.is_below(min_n) or usual.few_clusters,
        "baseline_rate": usual.rate,
        "baseline_calls": int(usual.calls),
        "excess_failures": calls * (found.share - usual.rate),
        "excess_low": calls
        * (found.share - usual.top_rate - math.hypot(found.share - found.low, usual.top_high - usual.top_rate)),
        "excess_high": calls
        * (found.share - usual.rate + math.hypot(found.high - found.share, usual.rate - usual.low)),
        "open_failures": run if _is_beyond_chance(run, rate, usual, causes) else 0,
        "last_called_at": _latest(parts, "last_called"),
        "refused": sum(part["refused"] for part in parts),
        **causes,
    }


def _cut_off(parts: list[RowDict]) -> RowDict:
    sums = {name: value for name, value in parts[0].items() if name.startswith("cut_off_share_")}
    return {**sums, "cut_off": sum(part["cut_off"] for part in parts)}


def _never_finished(groups: Sequence[str], parts: list[RowDict], min_n: int) -> RowDict:
    """Return the row of a group of which every attempt was cut off: nothing is known about its calls."""
    first = parts[0]
    found = sums_of(first, "cut_off_share").proportion()
    return {
        **{name: first[name] for name in groups},
        **{name: first[name] for name in first if name.startswith("rate_")},
        **dict.fromkeys(_UNKNOWN),
        **dict.fromkeys(("calls", "failed_calls", "attempts", "baseline_calls", "open_failures"), 0),
        "hurt_ms": 0.0,
        "too_few": found.is_below(min_n),
        "clusters": found.clusters,
        "design_effect": found.design_effect,
        "last_called_at": _latest(parts, "last_called"),
        "refused": sum(part["refused"] for part in parts),
    }


_UNKNOWN: Final = (
    *(
        "amplification",
        "cost_ms",
        "p95",
        "last_failed_at",
        "baseline_rate",
        "excess_failures",
        "excess_low",
        "excess_high",
    ),
    *(
        "changed_at",
        "before_rate",
        "after_rate",
        "failed_since",
        "version_since",
        "version_before",
        "code",
        "message",
        "pattern",
    ),
)
"""Columns that only finished calls have."""


def _mixed(parts: list[RowDict], calls: int) -> Baseline:
    """Return the baseline of a group: the mean of those of its tools, by their calls."""
    tools: dict[str, tuple[int, Baseline]] = {}
    for part in parts:
        n, baseline = tools.get(part["of_tool"]) or (0, baseline_of(part))
        tools[part["of_tool"]] = n + part["calls"], baseline

    found = [baseline for _, baseline in tools.values()]

    def mean(values: Iterable[float]) -> float:
        return sum(n * value for (n, _), value in zip(tools.values(), values, strict=True)) / calls

    return Baseline(
        sum(each.calls for each in found),
        mean(each.rate for each in found),
        mean(each.low for each in found),
        mean(each.high for each in found),
        mean(each.top_rate for each in found),
        mean(each.top_high for each in found),
        any(each.few_clusters for each in found),
    )


def _independent(rate: ClusterSums) -> float:
    """Return calls for each independent one; one cluster counts as no more than the mean one."""
    return max(1.0, min(rate.n / rate.effective_n, rate.n / rate.clusters))


def _is_beyond_chance(run: int, rate: ClusterSums, usual: Baseline, causes: RowDict) -> bool:
    """Whether so many failed calls in a row are expected fewer than MAX_RUNS times, at the baseline and at the rate before."""
    if not run:
        return False
    from tooltrace.statistics.runs import MAX_RUNS, MIN_RUN, expected_runs

    if run < MIN_RUN:
        return False
    effect, rest = _independent(rate), rate.n - run
    before = causes["before_rate"]
    if causes["changed_at"] is None:
        before = interval(rate.s - run, rest, max(rest / effect, 1e-9))[1] if rest else None
    p = max(usual.top_high, before or 0.0)
    return expected_runs(run, rest, p, effect) < MAX_RUNS


def _change(parts: list[RowDict], rate: ClusterSums) -> float | None:
    """Return the last part of the window before the rate rose; None where one rate explains all calls.

    Rates before and after a part, with Jeffreys' prior each, against one rate of all parts (Smith 1975).
    """
    if not 0 < rate.s < rate.n:
        return None
    import numpy as np

    from tooltrace.statistics.changes import one_rate_evidence, split_evidence

    numbers = [(part, list(rows)) for part, rows in groupby(parts, key=lambda row: row["part"])]
    counted = [(part, sum(r["calls"] for r in rows), sum(r["failed_calls"] for r in rows)) for part, rows in numbers]
    counted = [row for row in counted if row[1]]
    calls, hits = (np.array([row[at] for row in counted], dtype=float) for at in (1, 2))
    if len(counted) < 2:
        return None
    effect = _independent(rate)
    evidence = split_evidence(hits, effect, calls) - one_rate_evidence(hits, effect, calls)
    n, k = np.cumsum(calls)[:-1], np.cumsum(hits)[:-1]
    evidence[k * rate.n >= rate.s * n] = -np.inf  # a fall
    at = int(np.argmax(evidence))
    return counted[at][0] if evidence[at] >= math.log(LIKELIER * len(counted)) else None


def _causes(parts: list[RowDict], rate: ClusterSums) -> RowDict:
    """Return the change, what failed since, and the failed calls in a row until now; without a change, of all calls."""
    last_before = _change(parts, rate)
    before = [part for part in parts if last_before is not None and part["part"] <= last_before]
    after = [part for part in parts if last_before is None or part["part"] > last_before]
    worked = _latest(parts, "last_worked")
    failures = Counter[str]()
    for part in after:
        if part["cause"] is not None:
            failures[part["cause"]] += part["failed_calls"]
    cause = max(failures, key=lambda code: (failures[code], code)) if failures else None
    last = max(
        (part for part in after if part["cause"] == cause and cause is not None),
        key=lambda part: part["last_failed"],
        default=None,
    )
    found: RowDict = {
        "changed_at": None,
        "before_rate": None,
        "after_rate": None,
        "failed_since": None,
        "version_since": None,
        "version_before": None,
        "code": cause or None,
        "message": (last["message"] or None) if last else None,
        "pattern": (last["pattern"] or None) if last else None,
        "last_failures": sum(
            part["failed_calls"]
            for part in parts
            if part["failed_calls"] and (worked is None or part["first_failed"] > worked)
        ),
    }
    if not before:
        return found
    versions = _most(before, "calls"), _most(after, "failed_calls")
    moved = None not in versions and versions[0] != versions[1]
    return {
        **found,
        "changed_at": min(part["first_failed"] for part in after if part["failed_calls"]),
        "before_rate": _rate(before),
        "after_rate": _rate(after),
        "failed_since": sum(failures.values()),
        "version_before": versions[0] if moved else None,
        "version_since": versions[1] if moved else None,
    }


def _rate(parts: Iterable[RowDict]) -> float | None:
    counted = [(part["failed_calls"], part["calls"]) for part in parts]
    calls = sum(n for _, n in counted)
    return sum(k for k, _ in counted) / calls if calls else None


def _most(parts: Iterable[RowDict], column: str) -> str | None:
    """Return the version with most items of ``column``, of equal ones the first by name; None where none is known."""
    counted = Counter[str]()
    for part in parts:
        if part["used_version"] is not None:
            counted[part["used_version"]] += part[column]
    found = min(counted, key=lambda version: (-counted[version], version), default=None)
    return found if found is not None and counted[found] else None


def _latest(parts: Iterable[RowDict], column: str) -> Any:
    return max((part[column] for part in parts if part[column] is not None), default=None)
