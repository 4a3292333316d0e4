"""Tails of the binomial and beta distributions, also for numbers of trials that are not whole."""

from __future__ import annotations

import math

import numpy as np

from tooltrace.statistics.arrays import Numbers, log_gamma

_TERMS = 300
_TINY = 1e-300


def beta_cdf(x: Numbers | float, a: Numbers | float, b: Numbers | float) -> Numbers:
    """Return the probability of at most ``x`` under Beta(a, b): of k = a or more hits of m = a + b - 1 at rate x.

    Source: the continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated by Lentz's method.
    """
    x, a, b = np.broadcast_arrays(np.asarray(x, float), np.asarray(a, float), np.asarray(b, float))
    swap = x > (a + 1) / (a + b + 2)
    x, a, b = np.where(swap, 1 - x, x), np.where(swap, b, a), np.where(swap, a, b)
    inner = np.clip(x, _TINY, 1 - 1e-16)
    front = np.exp(a * np.log(inner) + b * np.log1p(-inner) + log_gamma(a + b) - log_gamma(a + 1) - log_gamma(b))
    c = np.ones_like(inner)
    d = 1 / _away(1 - (a + b) * inner / (a + 1))
    h = d.copy()
    for m in range(1, _TERMS):
        even = m * (b - m) * inner / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * inner / ((a + 2 * m) * (a + 2 * m + 1))
        for numerator in (even, odd):
            d = 1 / _away(1 + numerator * d)
            c = _away(1 + numerator / c)
            h *= c * d
        if float(np.max(np.abs(c * d - 1), initial=0.0)) < 1e-15:
            break
    below = np.where(x <= 0, 0.0, np.minimum(front * h, 1.0))
    return np.asarray(np.where(swap, 1 - below, below), dtype=float)


def _away(values: Numbers) -> Numbers:
    """Return the values, with 1e-300 in place of 0, to divide by."""
    return np.where(np.abs(values) < _TINY, _TINY, values)


def lower_bound(k: float, m: float, alpha: float = 0.05) -> float:
    """Return the one-sided lower limit of k / m with confidence 1 - alpha; 0 for k = 0. Source: Clopper and Pearson 1934."""
    if k <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while high - low > 1e-15 * high:
        grid = np.linspace(low, high, 65)
        below = int(np.count_nonzero(beta_cdf(grid, k, m - k + 1) < alpha))
        if not 0 < below < len(grid) or (grid[below - 1], grid[below]) == (low, high):
            break
        low, high = float(grid[below - 1]), float(grid[below])
    return (low + high) / 2


def binomial_band(m: int, rate: float) -> tuple[float, float]:
    """Return the 2.5 and 97.5 % quantiles of the number of hits of ``m`` at ``rate``."""
    width = math.ceil(5 * math.sqrt(m * rate * (1 - rate)) + 20)
    k = np.arange(max(0, math.floor(m * rate) - width), min(m, math.floor(m * rate) + width) + 1, dtype=float)
    right, wrong = math.log(max(rate, _TINY)), math.log(max(1 - rate, _TINY))
    logs = log_gamma(m + 1.0) - log_gamma(k + 1) - log_gamma(m - k + 1) + k * right + (m - k) * wrong
    cumulative = np.cumsum(np.exp(logs))
    places = np.searchsorted(cumulative, [0.025, 0.975])
    return float(k[places[0]]), float(k[min(int(places[1]), len(k) - 1)])
