"""Confidence held against outcomes: by hand, and beside the libraries that define the figures."""

from __future__ import annotations

import itertools
import math
import warnings
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from tests.examples import examples
from tests.queries.answers import run
from tests.queries.judging import calibrated, judge, tables
from tooltrace.core.records import Outcome

LATER = datetime(2026, 3, 2, tzinfo=UTC)

TENTHS = [number / 10 for number in range(1, 11)]
RIGHT = [0, 0, 1, 0, 1, 0, 1, 1, 1, 1]


def rows(con: Any, **params: Any) -> list[dict[str, Any]]:
    answer = run(con, "calibration", **params)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]


def one(con: Any, **params: Any) -> dict[str, Any]:
    (row,) = rows(con, **params)
    return row


def by_tool(con: Any) -> dict[str, dict[str, Any]]:
    return {row["tool"]: row for row in rows(con)}


def test_the_worked_case(engine):
    row = one(judge(engine(), TENTHS, RIGHT))
    assert row["n"] == 10
    assert row["too_few"]
    expected = {
        "ece": 0.31, "mce": 0.7, "brier": 0.145, "mcb": 0.045, "dsc": 0.14, "unc": 0.24, "auroc": 0.875,
        "mean_confidence": 0.55, "accuracy": 0.6, "gap": -0.05, "labelled_share": 1.0, "missing_confidence_share": 0.0,
        "ece_mass": 0.31,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert row["log_loss"] == pytest.approx(0.4337919418, abs=1e-10)
    assert row["accuracy_low"] < 0.6 < row["accuracy_high"]


def test_two_confidences_by_hand(engine):
    # 0.9 is right 2 of 4 times, 0.5 is right 1 of 2 times
    row = one(judge(engine(), [0.9] * 4 + [0.5] * 2, [1, 1, 0, 0, 1, 0]))
    assert row["ece"] == pytest.approx(4 / 6 * 0.4 + 2 / 6 * 0.0)
    assert row["mce"] == pytest.approx(0.4)
    # (4 * (0.16 - 0.25 / 3) + 2 * (0 - 0.25 / 1)) / 6 is below 0
    assert (row["debiased_ece2"], row["debiased_below_zero"]) == (0.0, True)
    assert row["unc"] == 0.25
    assert row["dsc"] == pytest.approx(0.0)  # what is surer is not more often right
    assert row["auroc"] == pytest.approx(0.5)
    # the surest 1, 2, 3, 4 are half wrong on the mean, and so is all that follows
    assert row["aurc"] == pytest.approx(0.5)


def test_missing_labels_and_confidences_are_counted(engine, make):
    spans = [make(confidence=c) for c in (0.8, 0.8, 0.2, None, math.nan, math.inf, 1.5, -0.1)]
    unfinished = [make(confidence=0.9, status=None, ending=ending) for ending in ("cancelled", "abandoned", "paused")]
    labels = [
        Outcome(span_id=span.span_id, correct=True, labeled_at=LATER)
        for span in (*spans[:2], spans[3], spans[4], *unfinished)
    ]
    row = one(engine(*spans, *unfinished, *labels))
    assert (row["n"], row["mean_confidence"], row["accuracy"]) == (2, 0.8, 1.0)
    assert row["labelled_share"] == 4 / 8
    assert row["missing_confidence_share"] == 5 / 8


def test_an_unlabelled_tool_has_a_row_without_figures(engine, make):
    row = one(engine(make(confidence=0.4), make()))
    assert (row["n"], row["labelled_share"], row["missing_confidence_share"], row["too_few"]) == (0, 0.0, 0.5, True)
    shares = {
        "labelled_share",
        "labelled_low",
        "labelled_high",
        "missing_confidence_share",
        "missing_low",
        "missing_high",
    }
    shown = {"tool", "n", *shares, "clusters", "too_few", "debiased_below_zero", "weighted"}
    assert {name for name, value in row.items() if value is not None} == shown


def test_by_everything_in_one_group_and_by_unknown_versions(engine, make):
    spans = [make(confidence=0.5, tool_version=version, tool=tool) for version in ("1", None) for tool in ("a", "b")]
    con = engine(*spans, *(Outcome(span_id=span.span_id, correct=True, labeled_at=LATER) for span in spans))
    assert [row["n"] for row in rows(con, by=[])] == [4]
    assert [(row["version"], row["n"]) for row in rows(con, by="version")] == [("1", 2), (None, 2)]
    assert [(row["tool"], row["n"]) for row in rows(con)] == [("a", 2), ("b", 2)]
    assert rows(con, tool="none") == []


def test_one_class_and_one_confidence_break_nothing(engine):
    con = engine()
    cases = list(itertools.product([1, 2], [0.0, 0.3, 1.0], [0, 1]))
    for n, p, right in cases:
        judge(con, [p] * n, [right] * n, tool=f"{n} {p} {right}")
    found = by_tool(con)
    for n, p, right in cases:
        row = found[f"{n} {p} {right}"]
        assert row["ece"] == pytest.approx(abs(p - right))
        assert row["brier"] == pytest.approx((p - right) ** 2)
        assert (row["auroc"], row["cox_slope"], row["cox_lr"], row["cox_p"]) == (None, None, None, None)
        assert row["unc"] == row["dsc"] == 0.0
        assert row["aurc"] == 1 - right
        assert math.isfinite(row["log_loss"])
        assert all(value is None or isinstance(value, str) or math.isfinite(value) for value in row.values())


def reference(p: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Expected figures by libraries and simple loops."""
    from sklearn.isotonic import IsotonicRegression
    from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

    fit = IsotonicRegression(y_min=0, y_max=1).fit(p, y).predict(p)
    known = np.mean(y)
    score, refit = brier_score_loss(y, p, labels=[0, 1]), np.mean((fit - y) ** 2)
    out = {
        "mean_confidence": p.mean(), "accuracy": known, "brier": score, "unc": known * (1 - known),
        "mcb": score - refit, "dsc": known * (1 - known) - refit,
        "log_loss": log_loss(y, np.clip(p, 1e-15, 1 - 1e-15), labels=[0, 1]),
    }  # fmt: skip
    bins = [min(int(round(c * 1e9)) * 10 // 10**9, 9) for c in p]
    parts = [(p[np.array(bins) == b], y[np.array(bins) == b]) for b in sorted(set(bins))]
    out["ece"] = sum(abs(a.mean() - b.mean()) * len(a) for a, b in parts) / len(p)
    out["mce"] = max(abs(a.mean() - b.mean()) for a, b in parts)
    squares = [
        len(a) * ((a.mean() - b.mean()) ** 2 - b.mean() * (1 - b.mean()) / (len(a) - 1)) for a, b in parts if len(a) > 1
    ]
    out["debiased_ece2"] = max(0.0, sum(squares) / len(p))
    if 0 < known < 1:
        out["auroc"] = roc_auc_score(y, p)
    out["aurc"] = expected_aurc(p, y)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.sum((y - p) * (1 - 2 * p)) / np.sqrt(np.sum((1 - 2 * p) ** 2 * p * (1 - p)))
    if np.isfinite(z):
        out["spiegelhalter_z"] = z
    return out


def expected_aurc(p: np.ndarray, y: np.ndarray) -> float:
    """Risk among the surest k, mean over k; a part of a tie has its share of the tie's errors."""
    seen, wrong, risks = 0, 0.0, []
    for value in sorted(set(p), reverse=True):
        tied = y[p == value]
        for k in range(1, len(tied) + 1):
            risks.append((wrong + k * np.mean(1 - tied)) / (seen + k))
        seen, wrong = seen + len(tied), wrong + np.sum(1 - tied)
    return float(np.mean(risks))


def made(kind: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = {
        "distinct": lambda: rng.random(n),
        "tenths": lambda: rng.integers(0, 11, n) / 10,
        "hundredths": lambda: np.round(rng.beta(5, 2, n), 2),
        "sure": lambda: rng.choice([0.0, 0.9, 0.95, 1.0], n),
        "narrow": lambda: 0.9 + rng.random(n) / 100,
        "equal": lambda: np.full(n, 0.7),
    }[kind]()
    return p, (rng.random(n) < p * 0.8 + 0.1).astype(float)


KINDS = ["distinct", "tenths", "hundredths", "sure", "narrow", "equal"]


@pytest.mark.long
def test_figures_equal_those_of_the_libraries(engine):
    con = engine()
    cases = {f"{kind} {n}": made(kind, n, seed=n) for kind in KINDS for n in (2, 3, 10, 137, 3000)}
    for tool, (p, y) in cases.items():
        judge(con, p, y, tool=tool)
    found = by_tool(con)
    for tool, (p, y) in cases.items():
        row, expected = found[tool], reference(p, y)
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-9), tool


PAIRS = st.lists(
    st.tuples(st.one_of(st.integers(0, 10).map(lambda k: k / 10), st.floats(2**-20, 1, width=32)), st.booleans()),
    min_size=1,
    max_size=40,
)


@pytest.mark.simulations
@given(st.lists(PAIRS, min_size=1, max_size=8))
@settings(max_examples=examples(5))  # eight histories in one answer
def test_figures_equal_those_of_the_libraries_for_any_history(histories):
    con = tables()
    for number, pairs in enumerate(histories):
        judge(con, [pair[0] for pair in pairs], [pair[1] for pair in pairs], tool=str(number))
    found = by_tool(con)
    for number, pairs in enumerate(histories):
        p, y = np.array([pair[0] for pair in pairs]), np.array([float(pair[1]) for pair in pairs])
        row, expected = found[str(number)], reference(p, y)
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-9)
        assert row["brier"] == pytest.approx(row["mcb"] - row["dsc"] + row["unc"], abs=1e-12)
        assert row["mcb"] > -1e-12
        assert row["dsc"] > -1e-12
        assert row["ece_low"] is None or 0 <= row["ece_low"] <= row["ece"] <= row["ece_high"] <= 1
        logit = np.log(np.clip(p, 1e-6, 1 - 1e-6) / (1 - np.clip(p, 1e-6, 1 - 1e-6)))
        hits, misses = logit[y == 1], logit[y == 0]
        overlap = len(hits) and len(misses) and hits.min() < misses.max() and misses.min() < hits.max()
        assert (row["cox_slope"] is not None) == bool(overlap)
        if overlap:  # the likelihood is flat there, which is where it is greatest
            left = y - 0.5 * (1 + np.tanh((row["cox_intercept"] + row["cox_slope"] * logit) / 2))
            assert (left.sum(), left @ logit) == pytest.approx((0, 0), abs=1e-6)


@pytest.mark.parametrize("kind", ["distinct", "tenths", "hundredths"])
def test_the_corp_decomposition_of_model_diagnostics(engine, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from model_diagnostics.scoring import SquaredError, decompose
    p, y = made(kind, 800, seed=4)
    (known,) = decompose(y, p, scoring_function=SquaredError()).to_dicts()
    row = one(judge(engine(), p, y))
    assert (row["mcb"], row["dsc"], row["unc"]) == pytest.approx(
        (known["miscalibration"], known["discrimination"], known["uncertainty"]), abs=1e-9
    )


@pytest.mark.long
def test_more_confidences_than_the_isotonic_fit_distinguishes(engine):
    p, y = made("distinct", 12_000, seed=8)
    row, expected = one(judge(engine(), p, y)), reference(p, y)
    rounded = reference(np.round(p, 4), y)
    assert row["dsc"] == pytest.approx(rounded["dsc"], abs=1e-9)
    assert row["mcb"] == pytest.approx(expected["mcb"], abs=1e-3)
    assert row["ece"] == pytest.approx(expected["ece"], abs=1e-9)


def test_cox_as_statsmodels_fits_it(engine):
    import statsmodels.api as sm

    con = engine()
    kinds = ["distinct", "tenths", "hundredths", "sure", "narrow"]
    cases = {f"{kind} {n}": made(kind, n, seed=n + 1) for kind in kinds for n in (60, 2500)}
    for tool, (p, y) in cases.items():
        judge(con, p, y, tool=tool)
    found = by_tool(con)
    for tool, (p, y) in cases.items():
        row = found[tool]
        clipped = np.clip(p, 1e-6, 1 - 1e-6)
        logit = np.log(clipped / (1 - clipped))
        fit = sm.Logit(y, sm.add_constant(logit)).fit(disp=0, method="newton", maxiter=100, tol=1e-11)
        stated = np.sum(y * np.log(clipped) + (1 - y) * np.log(1 - clipped))
        coefficients = (row["cox_intercept"], row["cox_slope"])
        assert coefficients == pytest.approx(tuple(fit.params), abs=1e-8, rel=1e-8), tool
        assert row["cox_lr"] == pytest.approx(2 * (fit.llf - stated), abs=1e-8, rel=1e-8), tool
        assert row["cox_p"] == pytest.approx(math.exp(-(fit.llf - stated)), rel=1e-6), tool


def test_cox_where_plain_newton_steps_would_run_away(engine):
    p = [1.0, 0.3] + [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0] * 3
    row = one(judge(engine(), p, [0, 0] + [1] * 30))
    logit = np.log(np.clip(p, 1e-6, 1 - 1e-6) / (1 - np.clip(p, 1e-6, 1 - 1e-6)))
    left = np.array([0, 0] + [1] * 30) - 1 / (1 + np.exp(-row["cox_intercept"] - row["cox_slope"] * logit))
    assert (left.sum(), left @ logit) == pytest.approx((0, 0), abs=1e-8)


@pytest.mark.parametrize(
    ("p", "y"),
    [
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]),
        ([0.0, 1e-9, 0.0, 1e-9], [0, 1, 1, 0]),
        ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0]),
        ([0.1, 0.5, 0.5, 0.9], [0, 0, 1, 1]),
        ([0.7, 0.7, 0.7, 0.7], [0, 1, 1, 1]),
    ],
)
def test_cox_is_not_identified_where_the_classes_do_not_overlap(engine, p, y):
    row = one(judge(engine(), p, y))
    assert (row["cox_intercept"], row["cox_slope"], row["cox_lr"], row["cox_p"]) == (None, None, None, None)
    assert row["auroc"] is not None


def test_equal_confidences_stay_in_one_bin_of_equal_mass(engine):
    # ten calls, eight of them at 0.5: the middle of the eight lies at 5 of 10
    row = one(judge(engine(), [0.1] + [0.5] * 8 + [0.9], [0] + [1, 0] * 4 + [1]))
    assert row["ece_mass"] == pytest.approx((0.1 + 0 + 0.1) / 10)


def test_equal_mass_bins_of_distinct_confidences_have_equal_size(engine):
    p = np.sort(np.random.default_rng(3).beta(8, 2, 500))
    y = np.random.default_rng(4).random(500) < p
    parts = zip(np.split(p, 10), np.split(y, 10), strict=True)
    expected = sum(abs(a.mean() - b.mean()) for a, b in parts) / 10
    assert one(judge(engine(), p, y))["ece_mass"] == pytest.approx(expected, abs=1e-9)


def test_the_ece_of_perfection_at_a_hundred_calls(engine):
    con = calibrated(engine(), tools=1, calls=100, confidence="(call + 0.5) / 100")
    row = one(con)
    assert row["ece_null_mean"] == pytest.approx(0.1035, abs=0.004)  # the mean over all outcomes is 0.1035
    assert row["ece_null_p95"] == pytest.approx(0.145, abs=0.006)  # a multiple of 0.01


@pytest.mark.simulations
@pytest.mark.parametrize(
    ("tools", "calls", "confidence"),
    [
        pytest.param(1000, 100, "u", marks=pytest.mark.simulations),
        pytest.param(300, 1000, "u", marks=pytest.mark.simulations),
        pytest.param(1000, 100, "0.5 + round(u * 5) / 10", marks=pytest.mark.simulations),
        pytest.param(1000, 30, "0.9", marks=pytest.mark.simulations),
        pytest.param(300, 1000, "0.8 + round(u * 2) / 10", marks=pytest.mark.simulations),
        (1000, 50, "0.99"),
        (1000, 50, "u"),
    ],
)
@pytest.mark.long
def test_a_calibrated_tool_is_seldom_called_miscalibrated(engine, tools, calls, confidence):
    con = calibrated(engine(), tools=tools, calls=calls, confidence=confidence)
    called = [row["miscalibrated"] for row in run(con, "calibration").dicts()]
    assert len(called) == tools
    assert sum(called) <= 0.06 * tools


def test_an_overconfident_tool_is_called_miscalibrated(engine):
    p = [0.9] * 200
    row = one(judge(engine(), p, [1, 1, 1, 0] * 50))
    assert row["miscalibrated"]
    assert row["ece_low"] > 0.05
    assert row["ece_low"] < row["ece"] < row["ece_high"]
    assert row["gap"] == pytest.approx(0.15)
    assert row["gap_low"] < row["gap"] < row["gap_high"]
    assert row["cox_slope"] is None


def test_calls_of_one_conversation_are_not_independent(engine):
    # in each conversation all ten calls are right or all are wrong
    right = [1] * 33 + [0] * 7
    y = [value for value in right for _ in range(10)]
    conversations = [f"talk_{number}" for number in range(40) for _ in range(10)]
    together = one(judge(engine(), [0.9] * 400, y, conversations=conversations))
    apart = one(judge(engine(), [0.9] * 400, y))
    for low, high in (("gap_low", "gap_high"), ("ece_low", "ece_high")):
        assert together[high] - together[low] > 2 * (apart[high] - apart[low])
    # 33 of 40 draws are right, and all draws have the same confidence: the interval of accuracy alone counts
    low, high = proportion_confint(33, 40, method="wilson")
    assert (together["accuracy_low"], together["accuracy_high"]) == pytest.approx((low, high), abs=1e-9)
    assert (together["gap_low"], together["gap_high"]) == pytest.approx((0.9 - high, 0.9 - low), abs=1e-9)
    assert (together["clusters"], together["design_effect"]) == (40, pytest.approx(10))
    assert (apart["clusters"], apart["design_effect"]) == (400, 1)
    assert together["ece_null_p95"] == pytest.approx(apart["ece_null_p95"] * math.sqrt(10))
    assert (together["miscalibrated"], apart["miscalibrated"]) == (False, True)


def test_the_cox_test_counts_conversations(engine):
    rng = np.random.default_rng(4)
    p = rng.uniform(0.5, 1, 400)
    right = np.repeat(rng.random(40) < 0.6, 10) | (rng.random(400) < 0.2)
    together = one(judge(engine(), p, right, conversations=[f"talk_{i // 10}" for i in range(400)]))
    apart = one(judge(engine(), p, right))
    assert apart["cox_p"] == pytest.approx(math.exp(-apart["cox_lr"] / 2))
    assert together["design_effect"] > 4
    assert together["cox_p"] == pytest.approx(math.exp(-together["cox_lr"] / 2 / together["design_effect"]))


def test_the_interval_of_the_gap_combines_accuracy_and_confidence(engine):
    """The formulas of MOVER, from the calls themselves."""
    rng = np.random.default_rng(8)
    p = rng.uniform(0.3, 1, 60)
    right = rng.random(60) < p
    row = one(judge(engine(), p, right))
    half = stats.t.ppf(0.975, 59) * p.std(ddof=1) / math.sqrt(60)
    r = np.corrcoef(p, right)[0, 1] * (1 - 3 / 60)
    low, high = proportion_confint(right.sum(), 60, method="wilson")
    below, above = high - right.mean(), right.mean() - low
    gap = p.mean() - right.mean()
    expected = [gap - math.sqrt(half**2 + below**2 - 2 * r * half * below), gap + math.sqrt(half**2 + above**2 - 2 * r * half * above)]  # fmt: skip
    assert [row["gap_low"], row["gap_high"]] == pytest.approx(expected, abs=1e-7)


def test_one_conversation_has_no_interval_of_the_gap(engine):
    row = one(judge(engine(), [0.9] * 30, [1, 0, 1] * 10, conversations=["talk"] * 30))
    assert (row["gap_low"], row["gap_high"], row["ece_low"], row["ece_high"]) == (None, None, None, None)


def test_calls_that_do_not_differ_have_the_interval_of_their_accuracy(engine):
    row = one(judge(engine(), [0.9] * 20, [1] * 20))
    assert (row["gap_low"], row["gap"], row["gap_high"]) == pytest.approx((-0.1, -0.1, 0.9 - 0.838875), abs=1e-6)
    assert (row["ece_low"], row["ece_high"]) == (None, None)
    assert not row["miscalibrated"]


def test_the_bootstrap_spreads_as_resampled_calls_do(engine):
    rng = np.random.default_rng(12)
    p = rng.choice([0.6, 0.75, 0.9], 600)
    y = rng.random(600) < p - 0.2
    row = one(judge(engine(), p, y))
    bins = (p * 10).astype(int)
    draws = []
    for _ in range(2000):
        w = rng.multinomial(600, [1 / 600] * 600)
        draws.append(np.abs(np.bincount(bins, w * (p - y))).sum() / 600)
    assert row["ece_high"] - row["ece"] == pytest.approx(1.96 * np.std(draws), rel=0.15)


def test_the_same_question_has_the_same_answer(engine):
    con = judge(engine(), *made("hundredths", 400, seed=2))
    first, second = one(con), one(con)
    assert {k: v for k, v in first.items() if k != "tool"} == pytest.approx(
        {k: v for k, v in second.items() if k != "tool"}
    )
