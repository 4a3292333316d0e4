"""Shares of clustered items: effective number of items, intervals, differences. Plain Python, no numpy.

Items of one cluster are similar: the calls of a conversation fail together. A share ``s / n`` over clusters of ``n_i`` items,
``s_i`` of which count, is as precise as that of fewer independent items. Six sums over the clusters are enough to say of how
many: their number, ``n``, ``s``, and the sums of ``s_i s_i``, ``s_i n_i`` and ``n_i n_i``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from statistics import NormalDist
from typing import Any, Final, NamedTuple

Z_95: Final = 1.959963984540054
"""0.975 quantile of the normal distribution."""
T_COEFFICIENTS: Final = (
    *(1.210348549, 0.7081166046, 0.1463588379, -0.2046624389, -0.1469073141, 0.2639412113, -0.1312157597),
    0.0231844954,
)
"""The 0.975 quantile of Student's t is Z_95 * exp(the sum of T_COEFFICIENTS[i] / df ** (i + 1)), precise to 2e-7 of the value."""
MIN_N: Final = 20
"""Items below which a proportion is marked ``too_few``, as in the named queries."""
MIN_CLUSTERS: Final = 5
"""Clusters of several items below which a proportion is marked ``too_few``."""


class Proportion(NamedTuple):
    """``k`` of ``n``, with the limits of an interval."""

    k: int
    n: int
    low: float
    high: float
    clusters: int
    """Conversations, or traces where no conversation is known, that the items are from."""
    design_effect: float
    """Items for each independent one that the share is as precise as; 1 where each item is a cluster."""

    @property
    def share(self) -> float:
        """K / n; 0 for none."""
        return self.k / self.n if self.n else 0.0

    @property
    def has_few_clusters(self) -> bool:
        """Whether the clusters are too few to show how much clusters differ."""
        return is_few(self.n, self.clusters, 0)

    @property
    def too_few(self) -> bool:
        """Whether the items are too few for a verdict: fewer than MIN_N, or from few clusters."""
        return self.is_below(MIN_N)

    def is_below(self, min_n: int) -> bool:
        """Whether the items are fewer than ``min_n``, or from few clusters. Items that are a cluster each count as items."""
        return is_few(self.n, self.clusters, min_n)


def is_few(n: float, clusters: float, min_n: int) -> bool:
    """Return whether ``n`` items are fewer than ``min_n``, or from so few clusters that these do not show how they differ."""
    return n < min_n or (clusters < MIN_CLUSTERS and clusters < n)


class ClusterSums(NamedTuple):
    """Sums over clusters of ``n`` items, ``s`` of which count."""

    clusters: int = 0
    n: float = 0
    s: float = 0
    ss: float = 0
    sn: float = 0
    nn: float = 0

    def plus(self, n: float, s: float, sign: int = 1) -> ClusterSums:
        """Return the sums with one more cluster; ``sign`` -1: without one of them."""
        return ClusterSums(
            self.clusters + sign * (n > 0),
            self.n + sign * n,
            self.s + sign * s,
            self.ss + sign * s * s,
            self.sn + sign * s * n,
            self.nn + sign * n * n,
        )

    def without(self, part: ClusterSums) -> ClusterSums:
        """Return the sums without those of ``part``, some of the clusters."""
        return ClusterSums(self.clusters - part.clusters, *(a - b for a, b in zip(self[1:], part[1:], strict=True)))

    @property
    def effective_n(self) -> float:
        """Number of independent items that the share is as precise as: ``n`` if each item is a cluster.

        Otherwise n / design effect (Korn and Graubard 1998), corrected for the degrees of freedom (Dean and Pagano 2015), and
        at least the number of clusters of equal size, unless clusters differ more than if all items of each were equal: larger
        clusters fail more often then, as where a failure is followed by another call. Few clusters of the rarer kind do not
        show how much clusters differ: then clusters are taken to fail as a whole, the less so the more they are (Kish 1965).
        """
        return self.effective_at(Z_95)

    def effective_at(self, z: float) -> float:
        """Return ``effective_n`` for an interval of the normal quantile ``z`` in place of the one of 95 %."""
        clusters, n, s, ss, sn, nn = self
        if clusters >= n:
            return n
        equal = n * n / nn
        effect = self.cluster_effect
        spread = 0.0 if s <= 0 or s >= n else min(s * s / ss, (n - s) * (n - s) / (nn - 2 * sn + ss))
        total = effect + 0.7 / (0.7 + spread) * max(0.0, nn / n - effect)
        least = n / max(nn / n, effect * (1 - 1 / equal))
        return max(least, n / total * (z / t_quantile_at(z, max(1.0, equal - 1))) ** 2)

    @property
    def cluster_effect(self) -> float:
        """Variance of the share between clusters, as a multiple of that of independent items; at least 1."""
        _, n, s, ss, sn, nn = self
        if nn >= n * n or not 0 < s < n:
            return 1.0
        return max(1.0, (ss - 2 * s * sn / n + s * s / n * nn / n) * n / (s * (n - s)) / (1 - nn / n / n))

    def proportion(self, comparisons: int = 1) -> Proportion:
        """Return s of n with its 95 % interval, wider where it is one of several ``comparisons``."""
        if not self.n:
            return Proportion(0, 0, 0.0, 1.0, 0, 1.0)
        effective = self.effective_at(joint_z(comparisons))
        low, high = interval(self.s, self.n, effective, comparisons)
        return Proportion(int(self.s), int(self.n), low, high, self.clusters, self.n / effective)


class ClusterCounts:
    """Items and counted items by cluster."""

    def __init__(self) -> None:
        self.by_cluster: dict[Hashable, tuple[int, int]] = {}

    def add(self, cluster: Hashable, counted: bool) -> None:
        """Add one item."""
        n, s = self.by_cluster.get(cluster, (0, 0))
        self.by_cluster[cluster] = n + 1, s + counted

    @property
    def sums(self) -> ClusterSums:
        """The sums over the clusters."""
        sums = ClusterSums()
        for n, s in self.by_cluster.values():
            sums = sums.plus(n, s)
        return sums

    def sums_without(self, part: ClusterCounts, sums: ClusterSums) -> ClusterSums:
        """Return the sums of the items that are not in ``part``; ``sums``: those of all items."""
        for cluster, (n, s) in part.by_cluster.items():
            all_n, all_s = self.by_cluster[cluster]
            sums = sums.plus(all_n, all_s, -1).plus(all_n - n, all_s - s)
        return sums


def failed_proportion(attempts: Iterable[Mapping[str, Any]]) -> Proportion:
    """Return the failed ones of ``attempts``: rows with the columns ``draw``, the cluster, and ``status``."""
    counts = ClusterCounts()
    for row in attempts:
        counts.add(row["draw"], row["status"] == "error")
    return counts.sums.proportion()


def proportion_of(row: Mapping[str, Any]) -> Proportion:
    """Return the proportion of a row with the columns ``clusters``, ``n``, ``s``, ``ss``, ``sn`` and ``nn``."""
    return ClusterSums(*(row[name] or 0 for name in ClusterSums._fields)).proportion()


def interval(s: float, n: float, effective: float, comparisons: int = 1) -> tuple[float, float]:
    """Return the 95 % interval of s / n, whose n items are as precise as ``effective`` independent ones, 1 or more."""
    low, high = wilson(s / n * effective if effective < n else s, effective, comparisons)
    return 0.0 if not s else low, 1.0 if s == n else high


def wilson(k: float, n: float, comparisons: int = 1) -> tuple[float, float]:
    """Return the 95 % Wilson interval of k / n, wider by Bonferroni where it is one of several ``comparisons``."""
    return wilson_at(k, n, joint_z(comparisons))


def wilson_at(k: float, n: float, z: float) -> tuple[float, float]:
    """Return the Wilson interval of k / n for the normal quantile ``z``."""
    p, zz = k / n, z * z
    middle, half = p + zz / (2 * n), z * math.sqrt(max(0.0, p * (1 - p)) / n + zz / (4 * n * n))
    return (middle - half) / (1 + zz / n), (middle + half) / (1 + zz / n)


def difference(before: Proportion, after: Proportion) -> tuple[float, float]:
    """Return the limits of ``after.share - before.share``, 95 %: the limits of both, squared and added.

    Source: Newcombe 1998, method 10, with the intervals of clustered items.
    """
    change = after.share - before.share
    down = math.hypot(after.share - after.low, before.high - before.share)
    up = math.hypot(after.high - after.share, before.share - before.low)
    return change - down, change + up


def joint_z(comparisons: int = 1) -> float:
    """Return the normal quantile of a 95 % interval; of several ``comparisons``, all of which contain the truth then (Bonferroni)."""
    return Z_95 if comparisons <= 1 else NormalDist().inv_cdf(1 - 0.025 / comparisons)


def t_quantile_at(z: float, df: float) -> float:
    """Return the quantile of Student's t at the level of the normal quantile ``z``: the exact one of 95 %, times Wallace's ratio.

    Wider than exact for ``df`` below 2. Source: Wallace 1959.
    """
    return t_quantile(df) * (1.0 if z == Z_95 else _wallace(z, df) / _wallace(Z_95, df))


def _wallace(z: float, df: float) -> float:
    return math.sqrt(df * math.expm1((z * (8 * df + 3) / (8 * df + 1)) ** 2 / df))


def t_quantile(df: float) -> float:
    """Return the 0.975 quantile of Student's t with ``df`` >= 1 degrees of freedom, whole or not."""
    total = 0.0
    for coefficient in reversed(T_COEFFICIENTS):
        total = (total + coefficient) / df
    return Z_95 * math.exp(total)
