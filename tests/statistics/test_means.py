"""Means of clustered items beside statsmodels, and the gap beside simulated histories."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from tooltrace.statistics.means import correlation, gap_limits, mean_half
from tooltrace.statistics.shares import ClusterSums, t_quantile_at


def sums(n: np.ndarray, m: np.ndarray, s: np.ndarray) -> dict[str, float]:
    pairs = {"mm": m * m, "mn": m * n, "nn": n * n, "ss": s * s, "sn": s * n, "ms": m * s}
    return {name: float(values.sum()) for name, values in {"n": n, "m": m, "s": s, **pairs}.items()}


def test_independent_items_have_the_interval_of_the_mean() -> None:
    x = np.random.default_rng(1).normal(5, 2, 400)
    found = mean_half(400, 400, x.sum(), (x * x).sum(), x.sum(), 400)
    low, high = stats.norm.interval(0.95, x.mean(), stats.sem(x))
    assert found == pytest.approx((high - low) / 2)


def test_equal_clusters_have_the_interval_of_a_regression_with_clustered_errors() -> None:
    draw = np.random.default_rng(2)
    values = draw.normal(draw.normal(0, 1, 25)[:, None], 1, (25, 8))
    of = sums(np.full(25, 8.0), values.sum(axis=1), np.zeros(25))
    found = mean_half(25, of["n"], of["m"], of["mm"], of["mn"], of["nn"])
    fit = sm.OLS(values.ravel(), np.ones(200)).fit(
        cov_type="cluster", cov_kwds={"groups": np.repeat(np.arange(25), 8)}, use_t=True
    )
    low, high = fit.conf_int()[0]
    assert found == pytest.approx((high - low) / 2, rel=0.01)
    assert mean_half(1, 8, 1, 1, 8, 64) is None


@pytest.mark.parametrize("df", [2.5, 8, 60])
def test_students_t_at_another_level_is_that_of_scipy(df: float) -> None:
    z = stats.norm.ppf(1 - 0.025 / 10)
    assert t_quantile_at(z, df) == pytest.approx(stats.t.ppf(1 - 0.025 / 10, df), rel=0.25 if df < 8 else 0.02)


def test_the_gap_of_calibrated_confidences_contains_zero() -> None:
    draw, missed = np.random.default_rng(3), 0
    for _ in range(300):
        n = draw.integers(1, 12, 40).astype(float)
        level = np.clip(draw.normal(0.7, 0.15, 40), 0.05, 0.95)
        m, s = n * level, draw.binomial(n.astype(int), level).astype(float)
        of = sums(n, m, s)
        clusters = ClusterSums(40, of["n"], of["s"], of["ss"], of["sn"], of["nn"])
        low, high = gap_limits(clusters.proportion(), clusters, of["m"], of["mm"], of["mn"], of["ms"])
        missed += not low <= 0 <= high
        related = correlation(of["n"], of["m"], of["mm"], of["mn"], of["s"], of["ss"], of["sn"], of["ms"], of["nn"])
        assert -1 <= related <= 1
    assert missed / 300 <= 0.08
