"""Accuracy in three bands of confidence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run
from tests.queries.judging import judge
from tooltrace.core.confidence import band


def test_three_bands_by_hand(engine):
    p = [0.1, 0.49, 0.5, 0.79, 0.8, 1.0, 0.9, None, math.nan, math.inf, -1.0, 0.95]
    y = [0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, None]
    answer = run(judge(engine(), p, y), "confidence_bands").project(
        "tool, band, n, accuracy, attempts, labelled_share, too_few"
    )
    assert answer.fetchall() == [
        ("search", "low", 2, 0.5, 2, 1.0, True),
        ("search", "middle", 2, 1.0, 2, 1.0, True),
        ("search", "high", 3, 2 / 3, 4, 3 / 4, True),
    ]


def test_an_unlabelled_band_has_no_rate(engine):
    answer = run(judge(engine(), [0.9, 0.9], [None, None]), "confidence_bands")
    none_of_two = pytest.approx(0.657620, abs=1e-6)  # Wilson: z^2 / (2 + z^2)
    assert answer.fetchall() == [("search", "high", 0, None, None, None, None, 2, 0.0, 0.0, none_of_two, 0, None, True)]


def test_figures_equal_those_of_wilson_and_numpy(engine):

    rng = np.random.default_rng(5)
    p = np.round(rng.random(500), 1)
    y = rng.random(500) < p
    con = judge(judge(engine(), p, y), [0.9] * 30, [1] * 30, tool="sure")
    columns = "tool, band, n, accuracy, low, high, mean_confidence"
    found = {row[:2]: row[2:] for row in run(con, "confidence_bands").project(columns).fetchall()}
    for name in ("low", "middle", "high"):
        here = np.array([band(value) == name for value in p])
        low, high = proportion_confint(y[here].sum(), here.sum(), method="wilson")
        assert found["search", name] == pytest.approx(
            (here.sum(), y[here].mean(), low, high, p[here].mean()), abs=1e-12
        )
    assert found["sure", "high"][1:4] == pytest.approx((1.0, proportion_confint(30, 30, method="wilson")[0], 1.0))


def test_tools_are_pooled_only_on_request(engine):
    con = judge(judge(engine(), [0.9], [1]), [0.9], [0], tool="other")
    assert run(con, "confidence_bands", by=[]).project("band, n, accuracy").fetchall() == [("high", 2, 0.5)]
    assert [row[0] for row in run(con, "confidence_bands").fetchall()] == ["other", "search"]


def test_attempts_of_a_conversation_are_one_draw(engine):
    conversations = [f"talk_{i // 5}" for i in range(100)]
    con = judge(engine(), [0.9] * 100, [1] * 80 + [0] * 20, conversations=conversations)
    ((low, high, clusters, effect),) = (
        run(con, "confidence_bands").project("low, high, clusters, design_effect").fetchall()
    )
    # sixteen of twenty conversations are right throughout
    assert (low, high) == pytest.approx(proportion_confint(16, 20, method="wilson"), abs=1e-9)
    assert (clusters, effect) == (20, pytest.approx(5))
