"""Types of the arrays that the statistics accept, and the two special functions that they need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tooltrace.statistics.shares import ClusterSums

Numbers = NDArray[np.float64]
"""Doubles, one dimension."""
Flags = NDArray[np.bool_]
"""Truth values, one dimension."""
Counts = NDArray[np.integer[Any]]
"""Whole numbers, one dimension."""

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
"""Coefficients of 1 / x, 1 / x^3, … in Stirling's series."""
_SHIFT = 8
"""Stirling's series is exact to 1e-14 from here on; the recurrence leads to smaller arguments."""


def log_gamma(x: Numbers | float) -> Numbers:
    """Return the logarithm of the gamma function of positive numbers, with a relative error of 1e-13.

    Source: Stirling's series after ``gamma(x + 1) = x gamma(x)`` (Abramowitz and Stegun 1964, 6.1.15 and 6.1.41).
    """
    x = np.asarray(x, dtype=float)
    small = x < _SHIFT
    shifted = x + _SHIFT * small
    inverse = 1 / shifted
    square = inverse * inverse
    series = np.zeros_like(x)
    for coefficient in reversed(_STIRLING):
        series = series * square + coefficient
    whole = np.asarray((shifted - 0.5) * np.log(shifted) - shifted + 0.5 * np.log(2 * np.pi) + series * inverse)
    if small.any():
        whole[small] -= np.log(np.prod(x[small, None] + np.arange(_SHIFT), axis=-1))
    return whole


def log_sum_exp(x: Numbers) -> float:
    """Return ``ln(sum(exp(x)))`` without overflow; x has one element or more."""
    highest = float(x.max())
    return highest + float(np.log(np.exp(x - highest).sum()))


def codes_of(ids: NDArray[Any]) -> Counts:
    """Return a number from 0 for each id, equal for equal ids: what the functions accept as ``clusters``."""
    return np.asarray(np.unique(ids, return_inverse=True)[1], dtype=np.int64)


def sums_by(codes: Counts, values: Numbers | None = None, size: int = 0) -> Numbers:
    """Return the sum of ``values``, by default of ones, for each code from 0 to the highest, or to ``size`` - 1."""
    return np.asarray(np.bincount(codes, values, size), dtype=float)


def cluster_sums(clusters: Counts, counted: Numbers, items: Numbers | None = None) -> ClusterSums:
    """Return the sums of the share ``counted / items`` over clusters; ``items``: of each element, 1 by default."""
    n, s = sums_by(clusters, items), sums_by(clusters, counted)
    return ClusterSums(int(np.count_nonzero(n)), *(float(np.sum(x)) for x in (n, s, s * s, s * n, n * n)))
