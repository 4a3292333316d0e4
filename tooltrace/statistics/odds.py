"""Odds ratios of 2 x 2 tables, pooled over strata. Plain Python, no numpy.

A table is ``(a, b, c, d)``: items with a sign that count and do not, then those without it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

Table = tuple[int, int, int, int]


class OddsRatio(NamedTuple):
    """A pooled odds ratio, and the standard error of its logarithm; None where a cell is empty in all strata."""

    ratio: float | None
    error: float | None

    def is_beyond_one(self, comparisons: int = 1) -> int:
        """Return 1 where it is surely above 1, -1 where surely below, else 0: at 95 % over all ``comparisons`` (Bonferroni)."""
        if self.ratio is None or self.error is None:
            return 0
        z = NormalDist().inv_cdf(1 - 0.025 / max(comparisons, 1)) * self.error
        distance = math.log(self.ratio)
        return (distance > z) - (distance < -z)

    def limits(self) -> tuple[float | None, float | None]:
        """Return the limits of the 95 % interval."""
        if self.ratio is None or self.error is None:
            return None, None
        half = NormalDist().inv_cdf(0.975) * self.error
        return self.ratio * math.exp(-half), self.ratio * math.exp(half)


def pooled_odds_ratio(tables: Sequence[Table]) -> OddsRatio:
    """Return the odds ratio of ``tables``, one for each stratum (Mantel and Haenszel 1959).

    The error is that of Robins, Breslow and Greenland (1986): with n items, R = ad / n, S = bc / n, P = (a + d) / n and
    Q = (b + c) / n of each table, the variance is sum PR / 2R^2 + sum (PS + QR) / 2RS + sum QS / 2S^2.
    """
    r = s = pr = mixed = qs = 0.0
    for a, b, c, d in tables:
        n = a + b + c + d
        one, other, p, q = a * d / n, b * c / n, (a + d) / n, (b + c) / n
        r, s = r + one, s + other
        pr, mixed, qs = pr + p * one, mixed + p * other + q * one, qs + q * other
    error = math.sqrt(pr / (2 * r * r) + mixed / (2 * r * s) + qs / (2 * s * s)) if r > 0 and s > 0 else None
    return OddsRatio(r / s if s > 0 else None, error)


def needed_for_odds_ratio(ratio: float, with_sign: float, rate: float) -> int | None:
    """Return the items that show an odds ratio of ``ratio`` at 5 % in 80 of 100 samples; None where none would.

    ``with_sign``: share of the items with the sign; ``rate``: share that counts among those without it. By the normal
    approximation of the logarithm, whose variance is (1 / (e p1 q1) + 1 / ((1 - e) p0 q0)) / n.
    """
    if not (0 < with_sign < 1 and 0 < rate < 1 and ratio > 0 and ratio != 1):
        return None
    z = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
    other = ratio * rate / (1 - rate + ratio * rate)
    variance = 1 / (with_sign * other * (1 - other)) + 1 / ((1 - with_sign) * rate * (1 - rate))
    return math.ceil(z * z * variance / math.log(ratio) ** 2)
