"""Proportions of attempts, with intervals that count clusters: the arithmetic of the SQL macros, for counts made in Python.

``tooltrace.store.database.macros`` explains clusters and has the same functions for the named queries; a test holds both to equal
results. The one addition is a wider interval where several proportions were looked at.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from statistics import NormalDist
from typing import Any, Final, NamedTuple

from tooltrace.store.database.macros import T_COEFFICIENTS, Z_95

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
        return self.clusters < MIN_CLUSTERS and self.clusters < self.n

    @property
    def too_few(self) -> bool:
        """Whether the items are too few for a verdict, as ``too_few_draws`` decides in SQL."""
        return self.n < MIN_N or self.has_few_clusters


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

    @property
    def effective_n(self) -> float:
        """Number of independent items that the share is as precise as: the macro ``effective_n``."""
        clusters, n, s, ss, sn, nn = self
        if clusters >= n:
            return n
        equal = n * n / nn
        effect = self._effect()
        spread = 0.0 if s <= 0 or s >= n else min(s * s / ss, (n - s) * (n - s) / (nn - 2 * sn + ss))
        total = effect + 0.7 / (0.7 + spread) * max(0.0, nn / n - effect)
        return max(equal, n / total * (Z_95 / _t_quantile(max(1.0, equal - 1))) ** 2)

    def _effect(self) -> float:
        """Return the variance between clusters as a multiple of that of independent items: the macro ``cluster_effect``."""
        _, n, s, ss, sn, nn = self
        if nn >= n * n or not 0 < s < n:
            return 1.0
        return max(1.0, (ss - 2 * s * sn / n + s * s / n * nn / n) * n / (s * (n - s)) / (1 - nn / n / n))

    def proportion(self, comparisons: int = 1) -> Proportion:
        """Return s of n with its 95 % interval, wider where it is one of several ``comparisons``."""
        if not self.n:
            return Proportion(0, 0, 0.0, 1.0, 0, 1.0)
        effective = self.effective_n
        k = self.s / self.n * effective if effective < self.n else self.s
        low, high = wilson(k, effective, comparisons)
        low, high = 0.0 if not self.s else low, 1.0 if self.s == self.n else high
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


def wilson(k: float, n: float, comparisons: int = 1) -> tuple[float, float]:
    """Return the 95 % Wilson interval of k / n, wider by Bonferroni where it is one of several ``comparisons``."""
    z = NormalDist().inv_cdf(1 - 0.025 / max(comparisons, 1))
    p, zz = k / n, z * z
    middle, half = p + zz / (2 * n), z * math.sqrt(max(0.0, p * (1 - p)) / n + zz / (4 * n * n))
    return (middle - half) / (1 + zz / n), (middle + half) / (1 + zz / n)


def _t_quantile(df: float) -> float:
    """Return the 0.975 quantile of Student's t: the macro ``t_quantile``."""
    total = 0.0
    for coefficient in reversed(T_COEFFICIENTS):
        total = (total + coefficient) / df
    return Z_95 * math.exp(total)
