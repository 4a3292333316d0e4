"""Smooth calibration error and recalibration, beside the libraries that define them."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.errors import BadParameter
from tooltrace.statistics import Curve, beta, out_of_fold, platt, smooth_ece


def made(n, seed=0, bend=0.2):
    rng = np.random.default_rng(seed)
    p = rng.beta(4, 2, n)
    return p, rng.random(n) < np.clip(p - bend, 0.02, 0.98)


def logit(p):
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(p / (1 - p))


@pytest.mark.parametrize("bend", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("n", [30, 300, 5000])
def test_smooth_ece_as_relplot(n, bend):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import relplot
    p, y = made(n, seed=n, bend=bend)
    assert smooth_ece(p, y) == pytest.approx(relplot.smECE(p, y.astype(float)), abs=2e-3)


def test_smooth_ece_of_one_confidence_is_where_gap_and_bandwidth_meet():
    # a constant gap that the reflected Gaussian spreads over [0, 1] keeps its sum
    assert smooth_ece([0.5] * 100, [1] * 80 + [0] * 20) == pytest.approx(0.3, abs=1e-6)
    assert smooth_ece([0.0] * 10, [1] * 10) == pytest.approx(1.0, abs=1e-3)
    assert smooth_ece([0.5] * 10, [1, 0] * 5) == pytest.approx(0.0, abs=1e-6)


def test_smooth_ece_is_small_where_calibrated_and_near_the_gap_where_not():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.3, 1, 20_000)
    assert smooth_ece(p, rng.random(20_000) < p) < 0.02
    assert smooth_ece(p, rng.random(20_000) < p - 0.25) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("n", [4, 50, 2000])
def test_platt_as_scikit_learn(n):
    from sklearn.calibration import _SigmoidCalibration

    p, y = made(n, seed=n)
    known = _SigmoidCalibration().fit(logit(p), y)
    curve = platt(p, y)
    assert (curve.a, curve.c) == pytest.approx((-known.a_, -known.b_), rel=2e-3, abs=2e-3)
    assert curve(p) == pytest.approx(known.predict(logit(p)), abs=1e-3)
    assert curve.a == curve.b


@pytest.mark.parametrize("n", [60, 2000])
@pytest.mark.parametrize("bend", [0.0, 0.3])
def test_beta_as_betacal(n, bend):
    from betacal import BetaCalibration

    p, y = made(n, seed=n + 1, bend=bend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = BetaCalibration("abm").fit(p.reshape(-1, 1), y)
    assert beta(p, y)(p) == pytest.approx(known.predict(p.reshape(-1, 1)), abs=2e-3)


def test_beta_never_falls():
    p = np.linspace(0.01, 0.99, 200)
    curve = beta(p, np.random.default_rng(1).random(200) < 1 - p)
    assert (curve.a, curve.b) == (0.0, 0.0)
    assert curve(p) == pytest.approx(np.full(200, curve(p)[0]))


def test_both_fits_are_the_most_likely_ones():
    import statsmodels.api as sm

    p, y = made(500, seed=9)
    known = sm.Logit(y.astype(float), np.column_stack([np.log(p), -np.log1p(-p), np.ones(500)])).fit(disp=0, tol=1e-12)
    found = beta(p, y)
    assert (found.a, found.b, found.c) == pytest.approx(tuple(known.params), rel=1e-6)
    drawn_in = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / (500 - y.sum() + 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = sm.GLM(drawn_in, sm.add_constant(logit(p)), family=sm.families.Binomial()).fit(tol=1e-14)
    assert (platt(p, y).c, platt(p, y).a) == pytest.approx(tuple(known.params), rel=1e-6)


@pytest.mark.long
def test_beta_finds_the_curve_that_made_the_outcomes():
    rng = np.random.default_rng(9)
    p = rng.random(100_000)
    true = Curve(0.6, 1.7, 0.3)
    assert beta(p, rng.random(100_000) < true(p))(p) == pytest.approx(true(p), abs=0.02)


def test_platt_exists_where_beta_does_not():
    p, y = [0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]
    with pytest.raises(BadParameter, match="no beta curve is the best: use platt"):
        beta(p, y)
    assert np.all(np.diff(platt(p, y)(p)) > 0)
    assert platt([0.7] * 3, [1, 1, 1])([0.7])[0] == pytest.approx(4 / 5)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50))
def test_any_outcomes_give_numbers(pairs):
    p, y = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert 0 <= smooth_ece(p, y) <= 1
    assert np.all(np.isfinite(platt(p, y)(p)))
    assert np.all((platt(p, y)(p) > 0) & (platt(p, y)(p) < 1))


def test_out_of_fold_recalibration_removes_the_gap():
    p, y = made(3000, seed=5, bend=0.3)
    before, after = smooth_ece(p, y), smooth_ece(out_of_fold(beta, p, y), y)
    assert before > 0.2
    assert after < 0.03
    assert np.array_equal(out_of_fold(platt, p, y), out_of_fold(platt, p, y))


def test_out_of_fold_curves_are_fitted_without_the_rows_they_change():
    seen = []

    def fit(p, y):
        seen.append(set(p))
        return Curve(1, 1, 0)

    p = np.arange(1, 21) / 21
    out_of_fold(fit, p, p > 0.5, folds=4)
    assert [len(part) for part in seen] == [15] * 4
    assert all(sum(value in part for part in seen) == 3 for value in p)


@pytest.mark.parametrize(
    ("p", "y"),
    [([], []), ([0.5], []), ([0.5, 0.6], [1]), ([1.5], [1]), ([float("nan")], [1]), ([0.5], [None]), ([[0.5]], [[1]])],
)
def test_unusable_values_are_refused(p, y):
    for ask in (smooth_ece, platt, beta):
        with pytest.raises(BadParameter):
            ask(p, y)
    with pytest.raises(BadParameter, match="folds must be from 2 to the number of calls"):
        out_of_fold(platt, [0.5] * 3, [1, 0, 1], folds=4)


@pytest.mark.processes
def test_numpy_is_loaded_when_it_is_used():
    code = "import sys, tooltrace.statistics; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
