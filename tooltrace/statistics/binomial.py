"""Tails of the binomial and beta distributions, also for numbers of trials that are not whole."""

from __future__ import annotations

import math

import numpy as np

from tooltrace.statistics.arrays import Numbers, log_gamma

_TERMS = 300
_TINY = 1e-300


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the probability of at most ``x`` under Beta(a, b): of k = a or more hits of m = a + b - 1 at rate x.

    Source: the continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated by Lentz's method.
    """
    if not 0 < x < 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a + 1) - math.lgamma(b))
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    whole = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for numerator in (even, odd):
            d = 1 / _away(1 + numerator * d)
            c = _away(1 + numerator / c)
            whole *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return min(front * whole, 1.0)


def _away(value: float) -> float:
    """Return the value, and 1e-300 in place of 0, to divide by."""
    return value if abs(value) > _TINY else _TINY


def lower_bound(k: float, m: float, alpha: float = 0.05) -> float:
    """Return the one-sided lower limit of k / m with confidence 1 - alpha; 0 for k = 0. Source: Clopper and Pearson 1934."""
    if k <= 0:
        return 0.0
    low, high = 0.0, k / m
    for _ in range(60):
        middle = (low + high) / 2
        if beta_cdf(middle, k, m - k + 1) < alpha:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def excess(k: Numbers, m: Numbers, rate: float) -> Numbers:
    """Return the normal quantile of the probability of fewer than ``k`` hits of ``m`` at ``rate``; 0 for k near m rate or below.

    Source: the approximation of Peizer and Pratt 1968.
    """
    above = k >= m * rate + 0.6
    k, m = np.where(above, k, m), np.asarray(m, dtype=float)
    tilt = 0.02 * ((1 - rate) / k - rate / (m - k + 1) + (0.5 - rate) / (m + 1))
    inner = (k - 0.5) * np.log((k - 0.5) / (m * rate)) + (m - k + 0.5) * np.log((m - k + 0.5) / (m * (1 - rate)))
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (k - m * rate - (1 + rate) / 3 + tilt) / (k - 0.5 - m * rate) * np.sqrt(12 * m / (6 * m + 1) * inner)
    return np.where(above, z, 0.0)


def binomial_band(m: int, rate: float) -> tuple[float, float]:
    """Return the 2.5 and 97.5 % quantiles of the number of hits of ``m`` at ``rate``."""
    width = math.ceil(5 * math.sqrt(m * rate * (1 - rate)) + 20)
    k = np.arange(max(0, math.floor(m * rate) - width), min(m, math.floor(m * rate) + width) + 1, dtype=float)
    right, wrong = math.log(max(rate, _TINY)), math.log(max(1 - rate, _TINY))
    logs = log_gamma(m + 1.0) - log_gamma(k + 1) - log_gamma(m - k + 1) + k * right + (m - k) * wrong
    cumulative = np.cumsum(np.exp(logs))
    places = np.searchsorted(cumulative, [0.025, 0.975])
    return float(k[places[0]]), float(k[min(int(places[1]), len(k) - 1)])
