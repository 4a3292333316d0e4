"""Calibration beside scikit-learn, statsmodels and scipy, on cases worked out, and on simulated tools with a known truth."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from tooltrace.statistics.binomial import beta_cdf, binomial_band, lower_bound
from tooltrace.statistics.calibration import gap, labelling_depends, measure_calibration
from tooltrace.statistics.thresholds import find_thresholds


def test_a_worked_case():
    found = measure_calibration(np.arange(1, 11) / 10, np.array([0, 0, 1, 0, 1, 0, 1, 1, 1, 1.0]))
    measured = (found.ece, found.brier, found.mcb, found.dsc, found.unc, found.auroc, found.log_loss)
    assert measured == pytest.approx((0.31, 0.145, 0.045, 0.14, 0.24, 0.875, 0.4337919418))


def made(n, seed=0, tenths=False, bend=1.3):
    rng = np.random.default_rng(seed)
    p = rng.beta(3, 2, n)
    p = np.round(p, 1) if tenths else p
    return p, (rng.random(n) < p**bend).astype(float)


@pytest.mark.parametrize("tenths", [False, True])
@pytest.mark.parametrize("n", [30, 500, 5000])
def test_scores_as_scikit_learn_and_statsmodels(n, tenths):
    import statsmodels.api as sm

    p, y = made(n, n, tenths)
    found = measure_calibration(p, y)
    assert found.brier == pytest.approx(brier_score_loss(y, p))
    assert found.auroc == pytest.approx(roc_auc_score(y, p))
    assert found.log_loss == pytest.approx(log_loss(y, np.clip(p, 1e-15, 1 - 1e-15), labels=[0, 1]))
    fitted = IsotonicRegression().fit_transform(p, y)
    assert found.brier - found.mcb == pytest.approx(np.mean((fitted - y) ** 2))
    inner = np.clip(p, 1e-6, 1 - 1e-6)
    x = np.log(inner / (1 - inner))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = sm.GLM(y, sm.add_constant(x), family=sm.families.Binomial()).fit(tol=1e-12)
    null = np.sum(y * np.log(inner) + (1 - y) * np.log1p(-inner))
    assert found.cox == pytest.approx((*fit.params, 2 * (fit.llf - null)), rel=1e-5, abs=1e-5)
    assert found.cox_p == pytest.approx(stats.chi2.sf(found.cox[2], 2))


def test_counts_and_equal_weights_are_the_same_results():
    p, y = made(400, 3, tenths=True)
    levels, of = np.unique(p, return_inverse=True)
    counted = measure_calibration(levels, np.bincount(of, y), np.arange(len(levels)), np.bincount(of))
    single = measure_calibration(p, y, of)
    assert (counted.ece, counted.mcb, counted.aurc) == pytest.approx((single.ece, single.mcb, single.aurc))
    assert counted.gap == pytest.approx(single.gap)
    weighted = measure_calibration(p, y, weights=np.full(400, 3.0))
    assert (weighted.ece, weighted.brier, weighted.gap.value) == pytest.approx(
        (single.ece, single.brier, single.gap.value)
    )


def test_limits_do_not_depend_on_the_numbers_of_clusters_or_on_the_order():
    p, y = made(2000, 4)
    rng = np.random.default_rng(0)
    clusters, order, numbers = np.arange(2000) // 4, rng.permutation(2000), rng.permutation(500)
    found = measure_calibration(p, y, clusters)
    other = measure_calibration(p[order], y[order], numbers[clusters[order]])
    assert (other.ece_low, other.ece_high) == pytest.approx((found.ece_low, found.ece_high))


def test_the_risk_of_the_most_confident_is_the_mean_over_orders():
    p, y = np.array([0.9, 0.9, 0.9, 0.5]), np.array([1, 0, 1, 0.0])
    means = []
    rng = np.random.default_rng(1)
    for _ in range(4000):
        order = np.lexsort((rng.random(4), -p))
        means.append(np.mean(np.cumsum(1 - y[order]) / np.arange(1, 5)))
    assert measure_calibration(p, y).aurc == pytest.approx(np.mean(means), abs=0.01)


@pytest.mark.long
@pytest.mark.parametrize("size", [1, pytest.param(8, marks=pytest.mark.simulations)])
def test_a_calibrated_tool_is_miscalibrated_in_one_of_twenty_and_a_bent_one_always(size):
    rng = np.random.default_rng(size)
    marked = bent = covered = 0
    for _ in range(200):
        clusters = np.arange(240) // size
        p = rng.beta(4, 2, 240)
        shift = rng.normal(0, 0.6 if size > 1 else 0, 240 // size)[clusters]
        true = 1 / (1 + np.exp(-np.log(p / (1 - p)) - shift))
        p = p if size == 1 else np.clip(p, 0.02, 0.98)
        y = (rng.random(240) < true).astype(float)
        found = measure_calibration(p, y, clusters)
        marked += found.miscalibrated
        covered += found.gap.low <= (p - true).mean() <= found.gap.high
        bent += measure_calibration(
            p, (rng.random(240) < np.clip(true - 0.25, 0, 1)).astype(float), clusters
        ).miscalibrated
    assert marked <= 200 * (0.06 + 2 * math.sqrt(0.06 * 0.94 / 200))
    assert covered >= 180
    assert bent >= 195


@pytest.mark.long
@pytest.mark.parametrize("n", [100, pytest.param(1000, marks=pytest.mark.simulations)])
def test_labels_that_depend_on_confidence_are_weighted_back(n):
    """Half of the surest results is labelled, and a twentieth of the others: the gap of all results is meant."""
    rng = np.random.default_rng(n)
    covered = naive = 0
    for _ in range(200):
        p = np.concatenate([rng.uniform(0.3, 0.7, 10 * n), rng.uniform(0.8, 1, n)])
        y = (rng.random(11 * n) < np.where(p > 0.75, p - 0.25, p)).astype(float)
        share = np.where(p > 0.75, 0.5, 0.05)
        labelled = rng.random(11 * n) < share
        truth = float((p - np.where(p > 0.75, p - 0.25, p)).mean())
        weights = measure_calibration(p[labelled], y[labelled], weights=1 / share[labelled]).gap
        plain = measure_calibration(p[labelled], y[labelled]).gap
        covered += weights.low <= truth <= weights.high
        naive += plain.low <= truth <= plain.high
    assert covered >= 182
    assert naive < 150


def test_whether_labels_depend_on_confidence():
    assert labelling_depends(np.array([5.0, 50]), np.array([100.0, 100]))
    assert not labelling_depends(np.array([50.0, 55]), np.array([100.0, 110]))
    assert not labelling_depends(np.array([50.0, 0]), np.array([100.0, 0]))


def test_a_gap_of_one_cluster_has_no_interval():
    found = gap(np.zeros(4, int), np.full(4, 0.9), np.array([1, 1, 0, 1.0]), np.ones(4))
    assert (found.value, found.low, found.high) == (pytest.approx(0.15), None, None)


@pytest.mark.parametrize("x", [0.0, 1e-4, 0.05, 0.3, 0.5, 0.9, 0.999, 1.0])
def test_the_beta_distribution_as_scipy(x):
    a, b = (grid.ravel() for grid in np.meshgrid([0.5, 1, 2.7, 30, 4000.3], [0.5, 1, 3.3, 41, 9000.0]))
    found = [beta_cdf(x, *shapes) for shapes in zip(a, b, strict=True)]
    assert found == pytest.approx(stats.beta.cdf(x, a, b), abs=1e-11)


def test_bounds_and_bands_as_scipy():
    for k, m in ((1, 10), (3.3, 9.9), (59, 59), (440, 450), (9000, 10_000)):
        assert lower_bound(k, m) == pytest.approx(stats.beta.ppf(0.05, k, m - k + 1), abs=1e-12)
    for m, rate in ((1, 0.5), (40, 0.05), (1000, 0.93), (20, 0.0), (20, 1.0)):
        assert binomial_band(m, rate) == tuple(stats.binom.ppf([0.025, 0.975], m, rate))


def walked(p, y, asked, min_n=20):
    """The search in plain steps."""
    best = None
    for t in sorted(set(p), reverse=True):
        n, k = int(np.sum(p >= t)), int(np.sum(y[p >= t]))
        if n < min_n or n < 0.05 * len(p) or 0.05 ** (1 / n) < asked:
            continue
        if k == 0 or stats.beta.ppf(0.05, k, n - k + 1) < asked:
            break
        best = t
    return best


@pytest.mark.parametrize("kind", ["distinct", "tenths", "heap"])
@pytest.mark.parametrize("n", [1, 25, 300, 1500])
def test_thresholds_are_those_of_a_walk(n, kind):
    rng = np.random.default_rng(n)
    p = {"distinct": rng.random(n), "tenths": rng.integers(0, 11, n) / 10, "heap": rng.choice([0.7, 0.9, 1.0], n)}[kind]
    y = (rng.random(n) < np.sqrt(p)).astype(float)
    asked = (0.05, 0.5, 0.8, 0.9, 0.95)
    assert [found.threshold for found in find_thresholds(p, y, asked)] == [walked(p, y, pi) for pi in asked]


@pytest.mark.long
@pytest.mark.parametrize("size", [1, pytest.param(10, marks=pytest.mark.simulations)])
def test_a_threshold_below_the_requested_precision_is_rare(size):
    """The precision is just below the requested one, whatever the confidence: the hardest case."""
    rng = np.random.default_rng(7)
    histories, false = 1000, 0
    for _ in range(histories):
        clusters = np.arange(400) // size
        rates = np.full(400, 0.895) if size == 1 else rng.beta(0.895 * 9, 0.105 * 9, 400 // size)[clusters]
        y = (rng.random(400) < rates).astype(float)
        false += find_thresholds(rng.random(400), y, [0.9], clusters)[0].threshold is not None
    assert false <= histories * (0.05 + 2 * math.sqrt(0.05 * 0.95 / histories))
