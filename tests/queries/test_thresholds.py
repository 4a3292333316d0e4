"""The lowest confidence that earns a precision."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run
from tests.queries.judging import calibrated, judge
from tooltrace.analysis import find
from tooltrace.errors import BadParameter

NAMES = "precision_asked, threshold, n, precision, lower_bound, coverage"


def found(con, **params):
    return run(con, "thresholds", **params).project(NAMES).fetchall()


def bound(k, n):
    return beta.ppf(0.05, k, n - k + 1)


def walked(p, y, asked, min_n=20):
    """The same walk in plain steps."""
    best = None
    for t in sorted(set(p), reverse=True):
        n, k = int(np.sum(p >= t)), int(np.sum(y[p >= t]))
        if n < min_n or n < 0.05 * len(p) or 0.05 ** (1 / n) < asked:
            continue
        if k == 0 or bound(k, n) < asked:
            break
        best = (asked, t, n, k / n, bound(k, n), n / len(p))
    return best or (asked, None, None, None, None, None)


def test_a_case_by_hand(engine):
    # 100 of 100 are right at 0.9, half of 100 at 0.5: 0.05 ** (1 / 100) = 0.9705
    con = judge(engine(), [0.9] * 100 + [0.5] * 100, [1] * 100 + [1, 0] * 50)
    assert found(con) == [
        (0.8, 0.9, 100, 1.0, pytest.approx(0.05**0.01, abs=1e-12), 0.5),
        (0.9, 0.9, 100, 1.0, pytest.approx(0.05**0.01, abs=1e-12), 0.5),
        (0.95, 0.9, 100, 1.0, pytest.approx(0.05**0.01, abs=1e-12), 0.5),
        (0.99, None, None, None, None, None),
    ]


def test_the_walk_ends_where_the_bound_falls_below_even_if_it_would_rise_again(engine):
    p = [1.0] * 50 + [0.9] * 400
    y = [1] * 40 + [0] * 10 + [1] * 400
    assert bound(440, 450) > 0.9 > bound(40, 50)
    assert found(judge(engine(), p, y), asked="0.9") == [(0.9, None, None, None, None, None)]


def test_groups_with_too_few_calls_are_skipped(engine):
    p, y = [1.0] * 19 + [0.9] * 41, [0] + [1] * 59
    assert found(judge(engine(), p, y), asked=[0.9]) == [
        (0.9, 0.9, 60, 59 / 60, pytest.approx(bound(59, 60), abs=1e-9), 1.0)
    ]
    con = judge(engine(), [0.9] * 19, [1] * 19)
    assert found(con, asked=0.8) == [(0.8, None, None, None, None, None)]
    assert found(con, asked=0.8, min_n=14)[0][1] == 0.9


@pytest.mark.long
def test_as_a_walk_with_scipys_bound(engine):
    con, asked, cases = engine(), (0.05, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99), {}
    for n in (1, 2, 25, 300, 1500):
        rng = np.random.default_rng(n)
        kinds = {
            "distinct": rng.random(n),
            "tenths": rng.integers(0, 11, n) / 10,
            "skewed": np.round(rng.beta(9, 1, n), 3),
            "heap": rng.choice([0.7, 0.85, 0.9, 0.99, 1.0], n),
        }
        for kind, p in kinds.items():
            y = rng.random(n) < np.sqrt(p)
            cases[f"{kind} {n}"] = p, y
            judge(con, p, y, tool=f"{kind} {n}")
    rows = run(con, "thresholds", asked=asked).project(f"tool, {NAMES}").fetchall()
    for tool, (p, y) in cases.items():
        answer = [row[1:] for row in rows if row[0] == tool]
        for row, pi in zip(answer, asked, strict=True):
            assert row == pytest.approx(walked(p, y, pi), abs=1e-9), tool


def test_the_bound_of_one_right_call(engine):
    con = judge(engine(), [0.9] * 10, [1] + [0] * 9)
    ((_, threshold, _, _, lower, _),) = found(con, asked=0.005, min_n=1)
    assert (threshold, lower) == (0.9, pytest.approx(bound(1, 10), abs=1e-12))


@pytest.mark.long
def test_confidences_are_rounded_to_four_decimals(engine):
    rng = np.random.default_rng(1)
    p = rng.random(12_000)
    y = rng.random(12_000) < np.sqrt(p)
    expected = walked(np.floor(p * 10_000) / 10_000, y, 0.9)
    assert found(judge(engine(), p, y), asked=0.9)[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.simulations
def test_a_tool_below_the_target_rarely_gets_a_threshold(engine):
    # right 0.8 of the time whatever it says: at 0.8 the bound may hold by chance, once in twenty
    con = engine()
    rng = np.random.default_rng(6)
    for tool in range(200):
        judge(con, rng.random(200), rng.random(200) < 0.8, tool=f"tool_{tool}")
    let = [row for row in found(con, asked=0.8) if row[1] is not None]
    assert len(let) <= 18  # the 98th percentile of a binomial with 0.05


def test_labelled_and_missing_shares_are_reported_per_tool(engine):
    con = judge(engine(), [0.9] * 40 + [None] * 10, [1] * 30 + [None] * 10 + [1] * 10)
    judge(con, [0.9] * 40, [0] * 40, tool="wrong")
    answer = run(con, "thresholds", asked="0.9").project(
        "tool, threshold, judged, labelled_share, missing_confidence_share, too_few"
    )
    assert answer.fetchall() == [("search", 0.9, 30, 0.8, 0.2, False), ("wrong", None, 40, 1.0, 0.0, False)]


def test_an_unlabelled_group_has_no_threshold(engine):
    con = judge(engine(), [0.9] * 40, [None] * 40)
    assert found(con, asked="0.9") == [(0.9, None, None, None, None, None)]


@pytest.mark.parametrize("wrong", ["", "0", "1", "0.9,", "0.9,1.2", "often", 0.0, 1.0, True, [], [0.5, None], [True]])
def test_invalid_shares_are_refused(engine, wrong):
    with pytest.raises(
        BadParameter, match="^parameter 'asked' must be one or more numbers between 0 and 1, separated by commas"
    ):
        run(engine(), "thresholds", asked=wrong)


def test_a_calibrated_tool_reaches_its_confidence(engine):
    con = calibrated(engine(), tools=1, calls=20_000, confidence="u")
    ((_, threshold, _, precision, lower, _),) = found(con, asked="0.8")
    assert 0.58 < threshold < 0.66  # above t a calibrated tool with even confidences is right (1 + t) / 2 of the time
    assert lower >= 0.8
    assert precision > lower


@pytest.mark.parametrize("asked", ["0.5, 0.75", [0.5, "0.75"], (0.5, 0.75)])
def test_precisions_are_written_with_commas_or_listed(asked):
    assert find("thresholds").bind(asked=asked)["asked"] == "0.5,0.75"


def test_the_shares_count_conversations(engine):
    """In 15 of 20 conversations all results are above the threshold, and in the others none is."""
    confidences = [0.9 if i < 75 else 0.3 for i in range(100)]
    con = judge(
        engine(), confidences, [i < 75 for i in range(100)], conversations=[f"talk_{i // 5}" for i in range(100)]
    )
    relation = run(con, "thresholds", asked="0.8")
    ((low, high, clusters, effect, few),) = relation.project(
        "coverage_low, coverage_high, clusters, design_effect, too_few"
    ).fetchall()
    assert (low, high) == pytest.approx(proportion_confint(15, 20, method="wilson"), abs=1e-9)
    assert (clusters, effect, few) == (20, pytest.approx(5), False)


def test_the_test_counts_conversations(engine):
    """20 conversations in which all ten results are right are as certain as 20 results, not as 200."""
    conversations = [f"talk_{i // 10}" for i in range(200)]
    con = judge(engine(), [0.9] * 200, [1] * 200, conversations=conversations)
    assert found(con, asked=[0.8, 0.9, 0.95]) == [
        (0.8, 0.9, 200, 1.0, pytest.approx(0.05 ** (1 / 20), abs=1e-12), 1.0),
        (0.9, None, None, None, None, None),
        (0.95, None, None, None, None, None),
    ]


def test_the_bound_is_that_of_the_independent_attempts_that_a_threshold_is_worth(engine):
    """Korn and Graubard's interval: the limit of Clopper and Pearson, with counts that are not whole numbers."""
    rng = np.random.default_rng(3)
    talks = np.repeat(np.arange(60), 10)
    right = rng.random(600) < rng.beta(9, 1, 60)[talks]
    con = judge(engine(), [0.9] * 600, right, conversations=[f"talk_{talk}" for talk in talks])
    ((effect, lower, n, s),) = (
        run(con, "thresholds", asked="0.5").project("design_effect, lower_bound, n, precision * n").fetchall()
    )
    assert effect > 1.5
    assert lower == pytest.approx(beta.ppf(0.05, s / effect, (n - s) / effect + 1), abs=1e-9)
