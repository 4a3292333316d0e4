"""Verdicts on the difference between two sides, for each group and measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import hypot
from typing import Any, Final

from tooltrace.analysis.reasoning import RowDict, sums_of
from tooltrace.statistics.means import gap_limits, mean_half
from tooltrace.statistics.quantiles import percentile_limits
from tooltrace.statistics.shares import MIN_CLUSTERS, ClusterSums
from tooltrace.store.result import Gathered

MEASURES: Final = {
    "failure_rate": "share",
    "call_failure_rate": "share",
    "cut_off_share": "share",
    "p50": "ms",
    "p95": "ms",
    "attempts_per_call": "ratio",
    "accuracy": "share",
    "confidence_gap": "points",
}
"""The unit of each measure, in the order of the rows."""
_PERCENTILES: Final = {"p50": 0.5, "p95": 0.95}
_VERDICTS: Final = ("worse", "maybe_worse", "", "maybe_better", "better")
"""The order of verdicts; all others are in the middle."""
_EQUAL: Final = 1e-9
"""Differences below this are 0: sums of the same numbers in another order differ slightly."""

Limits = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class _Side:
    """One measure of one group on one side."""

    measure: str
    row: RowDict
    sums: ClusterSums

    @property
    def value(self) -> float:
        if self.measure in _PERCENTILES:
            return float(self.row[self.measure])
        right = self.sums.s / self.sums.n
        return float(self.row["m"]) / self.sums.n - right if self.measure == "confidence_gap" else right

    @property
    def has_few_clusters(self) -> bool:
        """Whether the clusters, or the conversations that most items belong to, do not show how much they differ."""
        mostly = 2 * self.row["in_conversations"] >= self.row["cut_off_share_n"]
        return self.sums.clusters < MIN_CLUSTERS or (self.row["conversations"] < MIN_CLUSTERS and mostly)

    def limits(self, comparisons: int = 1) -> Limits:
        """Return the 95 % interval of the value, as one of several ``comparisons``."""
        if p := _PERCENTILES.get(self.measure):
            low, high = percentile_limits(p, self.row["ms_grid"], self.sums.effective_n, comparisons)
            return None if low is None else min(low, self.value), None if high is None else max(high, self.value)
        if self.measure == "attempts_per_call":
            half = mean_half(*self.sums, comparisons)
            return (None, None) if half is None else (self.value - half, self.value + half)
        share = self.sums.proportion(comparisons)
        if self.measure == "confidence_gap":
            m, mm, mn, ms = (float(self.row[name]) for name in ("m", "mm", "mn", "ms"))
            return gap_limits(share, self.sums, m, mm, mn, ms, comparisons)
        return share.low, share.high


@dataclass(slots=True)
class _Pair:
    """One measure of one group on both sides; None where a side has no items."""

    group: RowDict
    measure: str
    before: _Side | None
    after: _Side | None

    @property
    def sides(self) -> list[_Side]:
        return [side for side in (self.before, self.after) if side]

    @property
    def has_few_clusters(self) -> bool:
        return any(side.has_few_clusters for side in self.sides)

    def too_few(self, min_n: int) -> bool:
        """Whether the sides are too small for a verdict; of a percentile, whether neither bounds it from above."""
        if len(self.sides) < 2 or self.has_few_clusters or min(side.sums.n for side in self.sides) < min_n:
            return True
        return self.measure in _PERCENTILES and all(side.limits()[1] is None for side in self.sides)

    def difference(self, comparisons: int = 1) -> Limits:
        """Return the 95 % interval of after - before: the limits of both, squared and added."""
        if not self.before or not self.after:
            return None, None
        old, new = self.before.limits(comparisons), self.after.limits(comparisons)
        change = self.after.value - self.before.value
        return (
            None
            if new[0] is None or old[1] is None
            else change - hypot(self.after.value - new[0], old[1] - self.before.value),
            None
            if new[1] is None or old[0] is None
            else change + hypot(new[1] - self.after.value, self.before.value - old[0]),
        )

    @property
    def is_worse(self) -> bool:
        assert self.before
        assert self.after
        before, after = self.before.value, self.after.value
        if self.measure == "confidence_gap":
            return abs(after) > abs(before)
        return after < before if self.measure == "accuracy" else after > before

    def verdict(self, min_n: int, compared: int) -> str:
        """Return what the difference means, if ``compared`` comparisons of the answer have enough items."""
        if not self.before or not self.after:
            return "gone" if self.before else "new"
        if self.too_few(min_n):
            return "too_few"
        if abs(self.after.value - self.before.value) > _EQUAL:
            for certainty, comparisons in (("", compared), ("maybe_", 1)):
                low, high = self.difference(comparisons)
                if (low is not None and low > 0) or (high is not None and high < 0):
                    return f"{certainty}{'worse' if self.is_worse else 'better'}"
        return "too_few" if None in self.difference() else "unclear"


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[RowDict]:
    """Return a row for each group and measure, the verdicts ``worse`` first."""
    min_n = parameters["min_n"]
    pairs = list(_pairs(gathered))
    compared = sum(not pair.too_few(min_n) for pair in pairs)
    rows = [_row(pair, pair.verdict(min_n, compared), compared) for pair in pairs]
    places = {verdict: place for place, verdict in enumerate(_VERDICTS)}
    return sorted(rows, key=lambda row: places.get(row["verdict"], places[""]))


def _pairs(gathered: Gathered) -> Iterable[_Pair]:
    groups: dict[tuple[Any, ...], dict[int, RowDict]] = {}
    for row in gathered.rows():
        groups.setdefault(tuple(row[name] for name in gathered.groups), {})[row["side"]] = row
    for group in sorted(groups, key=lambda group: [(value is None, value) for value in group]):
        sides = groups[group]
        known = dict(zip(gathered.groups, group, strict=True))
        known |= {
            f"refused_{name}": sides[at]["refused"] if at in sides else 0 for at, name in enumerate(("before", "after"))
        }
        for measure in MEASURES:
            before, after = (_side(measure, sides.get(at)) for at in (0, 1))
            # most tools are never cut off: a comparison of nothing with nothing would make the others less certain
            is_known = measure != "cut_off_share" or any(side and side.sums.s for side in (before, after))
            if is_known and (before or after):
                yield _Pair(known, measure, before, after)


def _side(measure: str, row: RowDict | None) -> _Side | None:
    sums = sums_of(row, measure) if row else ClusterSums()
    return _Side(measure, row, sums) if row and sums.n else None


def _row(pair: _Pair, verdict: str, compared: int) -> RowDict:
    low, high = (None, None) if pair.has_few_clusters else pair.difference()
    before, after = (side.value if side else None for side in (pair.before, pair.after))
    effects = [side.sums.n / side.sums.effective_n for side in pair.sides]
    items = (
        "confidence_gap"
        if pair.measure == "confidence_gap"
        else "accuracy"
        if pair.measure == "accuracy"
        else "call_failure_rate"
    )
    return {
        **pair.group,
        "measure": pair.measure,
        "unit": MEASURES[pair.measure],
        "before": before,
        "after": after,
        "difference": None if before is None or after is None else after - before,
        "low": low,
        "high": high,
        "verdict": verdict,
        "n_before": int(pair.before.sums.n) if pair.before else 0,
        "n_after": int(pair.after.sums.n) if pair.after else 0,
        "counted": "conversation" if any(_repeats(side, items) for side in pair.sides) else "call",
        "compared": compared,
        "clusters": min(side.sums.clusters for side in pair.sides),
        "design_effect": None if pair.measure == "attempts_per_call" else max(effects),
    }


def _repeats(side: _Side, items: str) -> bool:
    """Whether a cluster has several items of the measure ``items``."""
    return bool(side.row[f"{items}_n"] > side.row[f"{items}_clusters"])
