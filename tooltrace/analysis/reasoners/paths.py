"""Pairs of successive steps: how often each occurs, how often it fails, and what its conversations come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tooltrace.analysis.reasoning import RowDict, sums_of
from tooltrace.statistics.ratios import cluster_correlation, ratio
from tooltrace.store.result import Gathered

FEWEST_FAILING: Final = 15
"""Conversations with failures of a tool below which they do not show how seldom it usually fails."""


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[RowDict]:
    """Yield the pairs with the tool of ``parameters``. The rows ``tool`` and ``group`` have what they are compared with."""
    pairs: list[tuple[Any, RowDict]] = []
    known: dict[Any, RowDict] = {}
    firsts: Counter[Any] = Counter()
    for row in gathered.rows():
        group = tuple(row[name] for name in gathered.groups)
        if row["from_status"] in ("tool", "group"):
            known[group, row["from_status"], row["to_tool"]] = row
            continue
        pairs.append((group, row))
        for name in ("n", "share_clusters", "share_sn"):
            firsts[_first(row), name] += row[name]
    for group, row in pairs:
        row |= {
            "share_clusters": round(firsts[_first(row), "share_clusters"]),
            "share_n": firsts[_first(row), "n"],
            "share_s": row["n"],
            "share_nn": firsts[_first(row), "share_sn"],
            **_compared(row, known[group, "tool", row["to_tool"]]),
            **_outcomes(row, known[group, "group", None]),
        }
        of = sums_of(row, "share" if row["to_tool"] is None else "rate").proportion()
        row |= {
            "failures": None if row["to_tool"] is None else row["rate_s"],
            "too_few": of.is_below(parameters["min_n"]),
            "from_tool": "(start)" if row["from_status"] == "start" else row["from_tool"],
            "to_tool": "(end)" if row["to_tool"] is None else row["to_tool"],
        }
        if parameters["tool"] in (None, row["from_tool"], row["to_tool"]):
            yield row


def _first(row: RowDict) -> tuple[Any, Any]:
    return row["from_tool"], row["from_status"]


def _compared(pair: RowDict, tool: RowDict) -> RowDict:
    """Return the rate of the pair beside that of all steps of its second tool."""
    sums, usual = sums_of(pair, "rate"), sums_of(tool, "rate")
    rate, whole = sums.proportion(), usual.proportion()
    low = high = lift = None
    if rate.n and whole.k:
        lift = rate.share / whole.share
        if whole.n > rate.n:  # else the pair is compared with itself
            shared = cluster_correlation(sums, usual, pair["fs"], pair["fn"], pair["ks"], pair["kn"])
            low, high = ratio(rate, whole, shared)
            high = high if tool["failing"] >= FEWEST_FAILING else None
    return {
        "usual_rate": whole.share if whole.n else None,
        "lift": lift,
        "lift_low": low,
        "lift_high": high,
        "design_effect": rate.design_effect if rate.n else None,
    }


def _outcomes(pair: RowDict, group: RowDict) -> RowDict:
    """Return the outcomes of the group's conversations without the pair."""
    labelled = group["success_share_n"] - pair["success_share_n"]
    reached = (group["success_share_s"] or 0) - (pair["success_share_s"] or 0)
    return {"labelled": pair["success_share_n"], "success_without": reached / labelled if labelled else None}
