"""Ratio of two correlated shares, as that of a part to its whole. Plain Python, no numpy."""

from __future__ import annotations

import math

from tooltrace.statistics.shares import ClusterSums, Proportion


def cluster_correlation(first: ClusterSums, second: ClusterSums, ss: float, sn: float, ns: float, nn: float) -> float:
    """Return the correlation of two shares between clusters, -1 to 1; 0 where one does not vary.

    ``ss``, ``sn``, ``ns``, ``nn``: sums over clusters of the products of the counted (s) and all items (n) of ``first`` with
    those of ``second``. A positive correlation is reduced where clusters are few: by 3 / their effective number.
    """
    p, q = first.s / first.n, second.s / second.n
    spread = _residual(first, p) * _residual(second, q)
    if spread <= 0:
        return 0.0
    found = (ss - q * sn - p * ns + p * q * nn) / math.sqrt(spread)
    return found * (1 - 3 / max(3.0, first.n * first.n / first.nn)) if found > 0 else found


def _residual(sums: ClusterSums, share: float) -> float:
    """Return the sum over clusters of the squared difference between counted and expected items."""
    return sums.ss - 2 * share * sums.sn + share * share * sums.nn


def ratio(share: Proportion, usual: Proportion, correlation: float = 0.0) -> tuple[float, float]:
    """Return the limits of ``share / usual``, 95 %, from those of both; the upper one may be infinite.

    A limit is the ratio L at which the distance ``share - L * usual`` is as large as the limits of both, L times those of
    ``usual``, allow. Source: MOVER-R (Donner and Zou 2012), with the correlation of the two.
    """
    r, u = share.share, usual.share

    def root(r_limit: float, u_limit: float) -> tuple[float, float, float]:
        product = r * u - correlation * abs(r - r_limit) * abs(u_limit - u)
        r_part, u_part = r_limit * (2 * r - r_limit), u_limit * (2 * u - u_limit)
        return product + math.sqrt(max(0.0, product * product - r_part * u_part)), r_part, u_part

    below, r_part, _ = root(share.low, usual.high)
    above, _, u_part = root(share.high, usual.low)
    return r_part / below if share.low > 0 else 0.0, above / u_part if u_part > 0 else math.inf
