"""The points of the reliability diagram."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.queries.answers import run
from tests.queries.judging import calibrated, judge, tables


def points(con, series, columns, **params):
    return run(con, "reliability", **params).filter(f"series = '{series}'").project(columns).fetchall()


def test_the_worked_case(engine):
    con = judge(engine(), [number / 10 for number in range(1, 11)], [0, 0, 1, 0, 1, 0, 1, 1, 1, 1])
    # 1 0 falls to 1/2, and 1 0 again; the rest never falls
    assert points(con, "isotonic", "confidence_from, confidence_to, n, accuracy") == [
        (0.1, 0.2, 2, 0.0), (0.3, 0.6, 4, 0.5), (0.7, 1.0, 4, 1.0),
    ]  # fmt: skip
    assert points(con, "bin", "confidence_from, n, accuracy")[-2:] == [(0.8, 1, 1.0), (0.9, 2, 1.0)]


def test_a_bin_by_hand(engine):
    # of 4 calls at 0.5 a calibrated tool has 0 or 4 right one time in sixteen each: more than 0.025
    con = judge(engine(), [0.5] * 4 + [0.55], [1, 1, 1, 0, None])
    columns = (
        "confidence_from, confidence_to, confidence, n, accuracy, band_low, band_high, outside, labelled_share, too_few"
    )
    assert points(con, "bin", columns) == [(0.5, 0.5, 0.5, 4, 0.75, 0.0, 1.0, False, 0.8, True)]


@pytest.mark.parametrize("kind", ["distinct", "tenths", "sure"])
@pytest.mark.parametrize("n", [1, 12, 400, 5000])
def test_figures_equal_those_of_scikit_learn_scipy_and_statsmodels(engine, kind, n):
    from scipy.stats import binom
    from sklearn.isotonic import IsotonicRegression
    from statsmodels.stats.proportion import proportion_confint

    rng = np.random.default_rng(n)
    p = {
        "distinct": rng.random(n),
        "tenths": rng.integers(0, 11, n) / 10,
        "sure": rng.choice([0.0, 0.9, 0.99, 1.0], n),
    }[kind]
    y = (rng.random(n) < 0.1 + 0.8 * p).astype(float)
    con = judge(engine(), p, y)
    fit = IsotonicRegression().fit(p, y).predict(p)
    steps = points(con, "isotonic", "confidence_from, confidence_to, confidence, n, accuracy")
    assert sum(step[3] for step in steps) == n
    for start, end, mean, count, accuracy in steps:
        here = (p >= start) & (p <= end)
        assert fit[here] == pytest.approx(np.full(count, accuracy), abs=1e-9)
        assert mean == pytest.approx(p[here].mean(), abs=1e-9)
    assert [step[4] for step in steps] == sorted({step[4] for step in steps})
    number = np.minimum(np.round(p * 1e9).astype(int) * 10 // 10**9, 9)
    bins = points(con, "bin", "confidence, n, accuracy, low, high, band_low, band_high, outside")
    for b, row in zip(sorted(set(number)), bins, strict=True):
        here = number == b
        count, right, mean = here.sum(), y[here].sum(), p[here].mean()
        band = binom.ppf([0.025, 0.975], count, mean) / count
        low, high = proportion_confint(right, count, method="wilson")
        assert row[:7] == pytest.approx((mean, count, right / count, low, high, *band), abs=1e-9)
        assert row[7] == (not band[0] <= right / count <= band[1])


@pytest.mark.long
@settings(max_examples=examples(8))
@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=60))
def test_the_steps_increase_and_cover_every_call(pairs):
    con = judge(tables(), [p / 30 for p, _ in pairs], [y for _, y in pairs])
    steps = points(con, "isotonic", "confidence_from, confidence_to, n, accuracy")
    assert sum(n for _, _, n, _ in steps) == len(pairs)
    assert sum(n * accuracy for _, _, n, accuracy in steps) == pytest.approx(sum(y for _, y in pairs))
    for one, two in zip(steps, steps[1:], strict=False):
        assert one[1] < two[0]
        assert one[3] < two[3]


@pytest.mark.long
@pytest.mark.parametrize("tools", [40, pytest.param(100, marks=pytest.mark.simulations)])
def test_the_bins_of_calibrated_tools_are_seldom_outside(engine, tools):
    con = calibrated(engine(), tools=tools, calls=500, confidence="u")
    outside = [row[0] for row in points(con, "bin", "outside")]
    assert len(outside) == 10 * tools
    assert sum(outside) <= 0.06 * len(outside)


def test_unlabelled_tools_have_no_points_and_versions_are_separate(engine, make):
    assert run(judge(engine(), [0.5], [None]), "reliability").fetchall() == []
    con = judge(engine(), [0.5, 0.9], [1, 0])
    assert run(con, "reliability", by=["version", "tool"]).project("version, tool, series, n").fetchall() == [
        (None, "search", "bin", 1), (None, "search", "bin", 1), (None, "search", "isotonic", 2),
    ]  # fmt: skip
