"""Percentiles on a grid and their intervals, beside numpy, scipy and simulated histories."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tooltrace.statistics.quantiles import GRID, percentile, percentile_limits


def grid_of(items: np.ndarray) -> list[float]:
    return np.quantile(items, GRID).tolist()


@pytest.mark.parametrize("p", [0.5, 0.95])
@pytest.mark.parametrize("n", [5, 6, 30, 71, 72, 250, 499, 1001, 20_000])
def test_the_ends_are_the_order_statistics_of_the_binomial_distribution(n: int, p: float) -> None:
    items = np.arange(1.0, n + 1)  # the item of rank r is r
    low, high = percentile_limits(p, grid_of(items), n)
    below = binom.ppf(0.025, n, p)  # at most 2.5 % that fewer than this are below the percentile
    above = binom.isf(0.025, n, p) + 1
    close = {"abs": 1e-6} if n < 500 else {"abs": 2}
    assert low == (pytest.approx(below, **close) if below >= 1 else None)
    assert high == (pytest.approx(above, **close) if above <= n else None)


@pytest.mark.parametrize(("n", "p"), [(80, 0.5), (80, 0.95), (300, 0.95), (2000, 0.95)])
def test_an_interval_contains_the_true_percentile_of_lognormal_durations(n: int, p: float) -> None:
    draw = np.random.default_rng(n)
    true = np.exp({0.5: 0.0, 0.95: 1.6448536}[p])
    missed = 0
    for _ in range(400):
        low, high = percentile_limits(p, grid_of(np.exp(draw.standard_normal(n))), n)
        missed += (low is not None and low > true) or (high is not None and high < true)
    assert missed / 400 <= 0.07


def test_a_percentile_between_two_of_the_grid_is_linear() -> None:
    grid = [100 * share for share in GRID]
    assert percentile(0.973, grid) == pytest.approx(97.3)
    assert (percentile(0.0, grid), percentile(1.0, grid)) == (0.0, 100.0)
    assert percentile_limits(0.5, None, 0) == (None, None)
