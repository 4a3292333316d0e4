"""Signs in the calls of a tool that go along with failed conversations."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from tooltrace.analysis.reasoning import RowDict
from tooltrace.statistics.odds import OddsRatio, Table, needed_for_odds_ratio, pooled_odds_ratio
from tooltrace.statistics.shares import ClusterSums
from tooltrace.store.result import Gathered

FEWEST: Final = 5
"""Conversations with the sign, without it, failed and not failed below which there is no verdict."""


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[RowDict]:
    """Return a row for each group and sign, the surest and strongest associations first."""
    tables: dict[Any, list[Table]] = defaultdict(list)
    for row in gathered.rows():
        key = (*(row[name] for name in gathered.groups), row["sign"])
        tables[key].append((row["a"], row["b"], row["c"], row["d"]))
    estimates = {key: pooled_odds_ratio(strata) for key, strata in tables.items()}
    enough = {
        key: odds
        for key, odds in estimates.items()
        if odds.error is not None and _is_enough(tables[key], parameters["min_n"])
    }
    rows = []
    for key, strata in tables.items():
        verdict = _verdict(enough[key], len(enough)) if key in enough else "too_few"
        groups = dict(zip(gathered.groups, key, strict=False))
        row = groups | _figures(strata, estimates[key], parameters["ratio"])
        rows.append((_place(key, verdict, row), row | {"sign": key[-1], "verdict": verdict, "compared": len(enough)}))
    return [row for _, row in sorted(rows, key=lambda placed: placed[0])]


def _is_enough(strata: list[Table], min_n: int) -> bool:
    a, b, c, d = map(sum, zip(*strata, strict=True))
    return a + b + c + d >= min_n and min(a + b, c + d, a + c, b + d) >= FEWEST


def _verdict(odds: OddsRatio, comparisons: int) -> str:
    for prefix, number in (("", comparisons), ("maybe_", 1)):
        if side := odds.is_beyond_one(number):
            return f"{prefix}{'more' if side > 0 else 'less'}_often"
    return "unclear"


def _figures(strata: list[Table], odds: OddsRatio, ratio: float) -> RowDict:
    a, b, c, d = map(sum, zip(*strata, strict=True))
    low, high = odds.limits()
    return {
        "odds_ratio": odds.ratio,
        "low": low,
        "high": high,
        "conversations": a + b + c + d,
        "with_sign": a + b,
        **_share("failed_with", a, a + b),
        **_share("failed_without", c, c + d),
        "needed": needed_for_odds_ratio(ratio, (a + b) / (a + b + c + d), c / (c + d)) if c + d else None,
        "strata": sum((a + b) * (c + d) > 0 for a, b, c, d in strata),
    }


def _share(name: str, counted: int, items: int) -> RowDict:
    """Return the sums of a share whose items are independent."""
    sums = ClusterSums(items, items, counted, counted, counted, items)
    return {f"{name}_{key}": value for key, value in sums._asdict().items()}


def _place(key: Any, verdict: str, row: RowDict) -> tuple[Any, ...]:
    """Return the sort key of a row: the verdicts, then the lower limits, then the names."""
    rank = {"unclear": 1, "too_few": 2}.get(verdict, 0)
    strength = 0.0 if rank == 2 else -math.log(row["low"])
    return rank, strength, *((name is None, str(name)) for name in key)
