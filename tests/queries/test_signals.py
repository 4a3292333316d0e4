"""Accuracy with a signal and without it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.queries.answers import run
from tests.queries.judging import judge

COUNTS = "signal, n_with, n_without, accuracy_with, accuracy_without, difference"


def with_signals(con, signals, right, **given):
    texts = [None if value is None else value if isinstance(value, str) else json.dumps(value) for value in signals]
    return judge(con, [0.5] * len(right), right, signals=texts, **given)


def test_a_case_by_hand(engine):
    # with 'title' 3 of 4 are right, without it 1 of 2
    con = with_signals(engine(), [{"title": 0.3}] * 4 + [{"date": 0.1}, None], [1, 1, 1, 0, 1, 0])
    assert run(con, "signals").project(COUNTS).fetchall() == [
        ("date", 1, 5, 1.0, 0.6, 0.4),
        ("title", 4, 2, 0.75, 0.5, 0.25),
    ]


def test_absent_signals_count_as_without(engine):
    did = [{"a": True}, {"a": -0.2}, {"a": 1}, {"a": "yes"}]
    did_not = [{"a": False}, {"a": 0}, {"a": 0.0}, {"a": None}, {"a": ""}, {}, None, "null", '["a"]', {"b": 1}]
    con = with_signals(engine(), did + did_not, [1] * 4 + [0] * 10)
    assert run(con, "signals").project("signal, n_with, n_without, accuracy_with").fetchall() == [
        ("a", 3, 11, 1.0), ("a=yes", 1, 13, 1.0), ("b", 1, 13, 0.0),
    ]  # fmt: skip


def test_names_of_any_kind(engine):
    names = ["with space", 'quote "', "tilde ~ slash /", "dot.dot", "信号", "$", "", "*"]
    con = with_signals(engine(), [{name: True} for name in names], [1] * len(names))
    assert sorted(row[1] for row in run(con, "signals").fetchall()) == sorted(names)


def test_as_newcombe_in_statsmodels(engine):
    from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

    rng, con = np.random.default_rng(2), engine()
    for tool, (n, m) in {"a": (30, 50), "b": (3, 4), "c": (500, 20)}.items():
        right = np.concatenate([rng.random(n) < 0.8, rng.random(m) < 0.5])
        with_signals(con, [{"x": True}] * n + [{}] * m, right, tool=tool)
        (row,) = (
            run(con, "signals", tool=tool).project("difference, low, high, with_low, with_high, too_few").fetchall()
        )
        s, r = int(right[:n].sum()), int(right[n:].sum())
        expected = (s / n - r / m, *confint_proportions_2indep(s, n, r, m, method="newcomb", compare="diff"))
        assert row[:3] == pytest.approx(expected, abs=1e-9)
        assert row[3:5] == pytest.approx(proportion_confint(s, n, method="wilson"), abs=1e-9)
        assert row[5] == (tool == "b")


def test_all_right_with_and_all_wrong_without(engine):
    con = with_signals(engine(), [{"x": True}] * 10 + [None] * 10, [1] * 10 + [0] * 10)
    ((difference, low, high),) = run(con, "signals").project("difference, low, high").fetchall()
    assert (difference, high) == (1.0, 1.0)
    assert 0.4 < low < 1


def test_a_signal_that_is_always_there_has_nothing_to_compare(engine):
    con = with_signals(engine(), [{"x": True}] * 2 + [{"x": True, "y": 1}], [1, 0, None])
    columns = "signal, n_with, n_without, accuracy_with, accuracy_without, difference, low, high, labelled_share"
    assert run(con, "signals").project(columns).fetchall() == [
        ("x", 2, 0, 0.5, None, None, None, None, 2 / 3),
        ("y", 0, 2, None, 0.5, None, None, None, 0.0),
    ]


def test_tools_and_unknown_versions_are_apart(engine):
    con = with_signals(engine(), [{"x": 1}, None], [1, 0], tool="a")
    with_signals(con, [{"x": 1}, {"x": 1}], [0, 0], tool="b")
    assert run(con, "signals").project("tool, n_with, n_without, difference").fetchall() == [
        ("a", 1, 1, 1.0),
        ("b", 2, 0, None),
    ]
    assert run(con, "signals", by="version").project("version, n_with, n_without").fetchall() == [(None, 3, 1)]
    assert run(con, "signals", by=[]).project("signal, n_with").fetchall() == [("x", 3)]


def test_attempts_of_a_conversation_are_one_draw(engine):
    """Ten conversations have the signal throughout, and 20 never; all attempts of a conversation are right, or none."""
    from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

    right = [1] * 8 + [0] * 2 + [1] * 10 + [0] * 10
    con = with_signals(
        engine(), [{"x": True}] * 40 + [None] * 80, [y for y in right for _ in range(4)],
        conversations=[f"talk_{i // 4}" for i in range(120)],
    )  # fmt: skip
    columns = "low, high, with_low, with_high, without_low, without_high, clusters, design_effect, too_few"
    (row,) = run(con, "signals").project(columns).fetchall()
    expected = confint_proportions_2indep(8, 10, 10, 20, method="newcomb", compare="diff")
    assert row[:2] == pytest.approx(expected, abs=1e-9)
    assert row[2:4] == pytest.approx(proportion_confint(8, 10, method="wilson"), abs=1e-9)
    assert row[4:6] == pytest.approx(proportion_confint(10, 20, method="wilson"), abs=1e-9)
    assert row[6:] == (10, pytest.approx(4), False)


def test_a_conversation_with_the_signal_in_some_attempts_counts_on_both_sides(engine):
    rng = np.random.default_rng(6)
    has, right = rng.random(300) < 0.4, rng.random(300) < 0.7
    talks = np.arange(300) // 6
    con = with_signals(engine(), [{"x": bool(x)} for x in has], right, conversations=[f"talk_{i}" for i in talks])
    ((low, high, other_low, other_high),) = (
        run(con, "signals").project("with_low, with_high, without_low, without_high").fetchall()
    )
    for side, limits in ((has, (low, high)), (~has, (other_low, other_high))):
        # the same attempts alone, in a query that knows one side only
        alone = judge(engine(), [0.9] * int(side.sum()), right[side], conversations=[f"talk_{i}" for i in talks[side]])
        assert run(alone, "confidence_bands").project("low, high").fetchall() == [pytest.approx(limits, abs=1e-9)]
