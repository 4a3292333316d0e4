"""The tools in the order in which to look at them: by the failed calls and cut-off attempts that are certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tooltrace.analysis.reasoning import RowDict, sums_of
from tooltrace.store.result import Gathered


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[RowDict]:
    """Return a row for each group, the most urgent first; the gathered rows are one for each group and error code."""
    groups: dict[Any, list[RowDict]] = {}
    for row in gathered.rows():
        groups.setdefault(row["grp"], []).append(row)
    rows = [_row(causes, parameters["min_n"]) for causes in groups.values() if causes[0]["cut_off_share_n"]]
    hurt = sum(row["hurt_ms"] or 0 for row in rows)
    for row in rows:
        row["hurt_share"] = None if row["hurt_ms"] is None or not hurt else row["hurt_ms"] / hurt
    return sorted(rows, key=lambda row: _urgency(row, gathered.groups))


def _row(causes: Sequence[RowDict], min_n: int) -> RowDict:
    first = causes[0]
    rate, cut_off = sums_of(first, "rate").proportion(), sums_of(first, "cut_off_share").proportion()
    most = max(causes, key=lambda row: (row["caused"] or 0, row["cause"] or ""))
    known = rate if rate.n else cut_off
    return {
        **first,
        "calls": rate.n,
        "failed_calls": rate.k,
        "at_least": (rate.low * rate.n if rate.n else 0.0) + cut_off.low * cut_off.n,
        "amplification": first["attempts"] / rate.n if rate.n else None,
        "hurt_ms": 0.0 if not rate.k else None if first["cost_ms"] is None else rate.k * first["cost_ms"],
        "too_few": known.is_below(min_n),
        "clusters": known.clusters,
        "design_effect": known.design_effect,
        "code": most["cause"] or None,
        "message": most["message"] or None,
        "pattern": most["pattern"] or None,
    }


def _urgency(row: RowDict, groups: Sequence[str]) -> tuple[Any, ...]:
    names = [(row[name] is None, row[name]) for name in groups]
    counts = row["at_least"], row["hurt_ms"] or 0, row["failed_calls"], row["calls"]
    return (*(-count for count in counts), names)
