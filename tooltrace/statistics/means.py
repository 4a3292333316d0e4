"""Means of clustered items, and mean confidence - accuracy, from sums over clusters. Plain Python, no numpy.

Sums over clusters: ``n`` of the items, ``m`` of their values, ``s`` of the items that count; ``mm``, ``mn``, ``nn``, ``ss``, ``sn``
and ``ms`` of the products of those of a cluster.
"""

from __future__ import annotations

import math

from tooltrace.statistics.shares import ClusterSums, Proportion, joint_z, t_quantile_at


def mean_half(clusters: int, n: float, m: float, mm: float, mn: float, nn: float, comparisons: int = 1) -> float | None:
    """Return half of the 95 % interval of the mean ``m / n``; None where one cluster has all items.

    By the variance between clusters and Student's t (Cochran 1977, 9A); where each item is a cluster, by the normal
    distribution. ``comparisons``: the interval is one of several (Bonferroni).
    """
    z = joint_z(comparisons)
    if clusters >= n:
        return z * math.sqrt(max(0.0, mm - m * m / n) / (n - 1) / n) if n > 1 else None
    if nn >= n * n:
        return None
    spread = _residual(n, m, mm, mn, nn) / (1 - nn / n / n)
    return t_quantile_at(z, max(1.0, n * n / nn - 1)) * math.sqrt(spread) / n


def correlation(
    n: float, m: float, mm: float, mn: float, s: float, ss: float, sn: float, ms: float, nn: float
) -> float:
    """Return the correlation between clusters of the sums m and s, each as a deviation from its mean; 0 where one is constant."""
    of_m, of_s = _residual(n, m, mm, mn, nn), _residual(n, s, ss, sn, nn)
    if not of_m or not of_s:
        return 0.0
    return (ms - m * sn / n - s * mn / n + m * s / n * nn / n) / math.sqrt(of_m * of_s)


def gap_limits(
    share: Proportion, sums: ClusterSums, m: float, mm: float, mn: float, ms: float, comparisons: int = 1
) -> tuple[float | None, float | None]:
    """Return the limits of mean confidence - accuracy; ``share`` and ``sums``: the right items among all, ``m``: confidences.

    The limits of both, squared and added, less their covariance (MOVER, Zou 2007). A positive correlation is reduced where
    clusters are few.
    """
    clusters, n, s, ss, sn, nn = sums
    half = mean_half(clusters, n, m, mm, mn, nn, comparisons)
    if half is None:
        return None, None
    related = correlation(n, m, mm, mn, s, ss, sn, ms, nn)
    related *= 1 - 3 / max(3.0, n * n / nn) if related > 0 else 1.0
    accuracy, value = s / n, (m - s) / n

    def distance(other: float) -> float:
        return math.sqrt(max(0.0, half * half + other * other - 2 * half * other * related))

    return value - distance(share.high - accuracy), value + distance(accuracy - share.low)


def _residual(n: float, m: float, mm: float, mn: float, nn: float) -> float:
    """Return the sum over clusters of the squared difference of m and what is expected at the mean; 0 for rounding errors."""
    found = mm - 2 * m * mn / n + m * m / n * nn / n
    return found if found > 1e-12 * mm else 0.0
