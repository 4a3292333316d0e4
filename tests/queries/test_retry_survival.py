"""Success after k attempts: Kaplan-Meier beside the naive figure, checked by hand and against statsmodels."""

from __future__ import annotations

import random
from datetime import timedelta
from math import exp, log, sqrt

import numpy as np
import pytest
from statsmodels.duration.survfunc import SurvfuncRight
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run

Z = 1.959963984540054


@pytest.fixture
def call(make):
    """The attempts of one call, a second apart; None is one that was cancelled."""

    def call(name, *statuses, **given):
        first = make()
        return [
            make(**{"call_id": name, "attempt": i, "status": status, "ending": "returned" if status else "cancelled",
                    "started_at": first.started_at + timedelta(seconds=i), **given})
            for i, status in enumerate(statuses, 1)
        ]  # fmt: skip

    return call


@pytest.fixture
def lives(call):
    """Calls given as ``(attempts, succeeded)``: all attempts failed but the last of those that succeeded."""

    def lives(ends, **given):
        return [
            attempt
            for i, (tries, succeeded) in enumerate(ends)
            for attempt in call(f"call_{i}", *["error"] * (tries - 1), "success" if succeeded else "error", **given)
        ]

    return lives


def answer(con, **given):
    relation = run(con, "retry_survival", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def column(rows, *names):
    return [tuple(row[name] for name in names) if len(names) > 1 else row[names[0]] for row in rows]


KNOWN = [(1, True)] * 80 + [(2, True)] * 8 + [(3, True)] * 3 + [(1, False)] * 4 + [(2, False)] * 2 + [(3, False)] * 3


def test_the_known_case(engine, lives):
    rows = answer(engine(*lives(KNOWN)))
    assert column(rows, "tool", "k", "at_risk", "succeeded", "gave_up") == [
        ("search", 1, 100, 80, 4), ("search", 2, 16, 8, 2), ("search", 3, 6, 3, 3),
    ]  # fmt: skip
    assert column(rows, "km") == pytest.approx([0.80, 0.90, 0.95], abs=1e-12)
    assert column(rows, "naive") == [0.80, 0.88, 0.91]
    assert column(rows, "censored") == [0.0, 0.04, 0.06]
    assert column(rows, "calls", "too_few") == [(100, False), (100, True), (100, True)]


def test_the_interval_worked_by_hand(engine, lives):
    """Four calls: one succeeds at once, one gives up, one succeeds at the second attempt, one gives up then.

    Half of two are left after 3/4, so 3/8 are pending; Greenwood: 1/(4*3) + 1/(2*1) = 7/12.
    """
    last = answer(engine(*lives([(1, True), (1, False), (2, True), (2, False)])))[-1]
    error = sqrt(7 / 12) / abs(log(3 / 8))
    assert last["km"] == pytest.approx(5 / 8, abs=1e-12)
    assert last["km_low"] == pytest.approx(1 - (3 / 8) ** exp(-Z * error), abs=1e-12)
    assert last["km_high"] == pytest.approx(1 - (3 / 8) ** exp(Z * error), abs=1e-12)
    assert (last["naive"], last["calls"], last["censored"]) == (0.5, 4, 0.25)


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.simulations) for seed in range(5, 25))]
)
def test_as_statsmodels_has_it(engine, lives, seed):
    draw = random.Random(seed)
    n, hazard, patience = draw.choice([2, 3, 10, 60]), draw.random(), draw.random()
    ends = []
    for _ in range(n):
        tries = 1
        while (failed := draw.random() >= hazard) and draw.random() < patience and tries < 7:
            tries += 1
        ends.append((tries, not failed))
    rows = answer(engine(*lives(ends)))
    assert [row["k"] for row in rows] == list(range(1, max(tries for tries, _ in ends) + 1))
    oracle = SurvfuncRight(np.array([tries for tries, _ in ends]), np.array([int(done) for _, done in ends]))
    times = {row["k"]: row for row in rows}
    for k, pending, error in zip(oracle.surv_times, oracle.surv_prob, oracle.surv_prob_se, strict=True):
        row = times[int(k)]
        assert row["at_risk"] == oracle.n_risk[list(oracle.surv_times).index(k)]
        assert row["km"] == pytest.approx(1 - pending, abs=1e-9)
        if 0 < pending < 1:
            spread = error / pending / abs(log(pending))
            assert row["km_low"] == pytest.approx(1 - pending ** exp(-Z * spread), abs=1e-9)
            assert row["km_high"] == pytest.approx(1 - pending ** exp(Z * spread), abs=1e-9)
        low, high = proportion_confint(sum(done and tries <= k for tries, done in ends), n, method="wilson")
        assert (row["naive_low"], row["naive_high"]) == pytest.approx((low, high), abs=1e-9)
    for row in rows:
        assert 0 <= row["km_low"] <= row["km"] <= row["km_high"] <= 1
        assert row["naive"] <= row["km"] + 1e-12
    assert sum(column(rows, "succeeded")) + sum(column(rows, "gave_up")) == n


def test_where_all_succeed_or_none_the_interval_is_wilsons(engine, lives):
    (row,) = answer(engine(*lives([(1, True)] * 20)))
    assert (row["km"], row["km_high"]) == (1.0, 1.0)
    assert row["km_low"] == pytest.approx(1 - 0.161125, abs=5e-7)
    first, second = answer(engine(*lives([(2, False)] * 20)))
    assert column([first, second], "km", "km_low", "naive") == [(0.0, 0.0, 0.0)] * 2
    assert (first["km_high"], second["km_high"]) == pytest.approx((0.161125, 0.161125), abs=5e-7)


def test_a_late_success_never_lowers_the_estimate(engine, lives):
    first, second = answer(engine(*lives([(1, True)] * 98 + [(2, True)] * 2)))
    assert second["km"] == second["km_high"] == 1.0
    assert first["km_low"] < second["km_low"] < 1


def test_without_censoring_the_two_figures_agree(engine, lives):
    rows = answer(engine(*lives([(1, True)] * 5 + [(2, True)] * 3 + [(4, True)] * 2)))
    assert column(rows, "km") == pytest.approx(column(rows, "naive"), abs=1e-12)
    assert column(rows, "k", "succeeded", "gave_up") == [(1, 5, 0), (2, 3, 0), (3, 0, 0), (4, 2, 0)]


def test_unfinished_attempts_are_shown_and_not_counted(engine, call):
    con = engine(*call("a", "error", None, "success"), *call("b", None), *call("c", "error", None))
    rows = answer(con)
    assert column(rows, "k", "at_risk", "succeeded", "gave_up", "left_out") == [(1, 2, 0, 1, 2), (2, 1, 1, 0, 1)]
    assert answer(engine(*call("b", None))) == []


def test_attempts_after_the_first_success_are_ignored(engine, call):
    rows = answer(engine(*call("a", "success", "error", "error"), *call("b", "partial", "error")))
    assert column(rows, "k", "at_risk", "succeeded", "gave_up", "km") == [(1, 2, 2, 0, 1.0)]


def test_a_call_belongs_to_the_code_of_its_first_attempt(engine, call):
    con = engine(*call("a", "error", "success"), *call("b", "success"))
    con.execute("UPDATE attempts SET code = 'TIMEOUT' WHERE status = 'error'")
    assert column(answer(con, by="code"), "code", "k", "at_risk", "succeeded") == [
        ("TIMEOUT", 1, 1, 0), ("TIMEOUT", 2, 1, 1), (None, 1, 1, 1),
    ]  # fmt: skip


def test_each_tool_has_a_curve_of_its_own(engine, lives):
    con = engine(*lives([(3, True), (1, False)], tool="slow"), *lives([(1, True)] * 3, tool="quick"))
    rows = answer(con)
    assert column(rows, "tool", "k", "calls") == [("quick", 1, 3), ("slow", 1, 2), ("slow", 2, 2), ("slow", 3, 2)]
    assert column(answer(con, by=[]), "k", "at_risk") == [(1, 5), (2, 1), (3, 1)]


def test_the_same_call_id_elsewhere_is_another_call(engine, make):
    same = {"call_id": "call_1", "status": "error"}
    con = engine(
        make(**same), make(**same, conversation_id="other"), make(**same, conversation_id=None, host="session", pid=0),
        make(**same, conversation_id=None, host="session"), make(**same, conversation_id=None, host="session", attempt=2),
    )  # fmt: skip
    assert column(answer(con), "k", "at_risk", "gave_up") == [(1, 4, 3), (2, 1, 1)]


def test_nothing_in_the_window_is_an_empty_answer(engine, lives):
    con = engine(*lives(KNOWN))
    assert answer(con, since="2027-01-01") == answer(con, since="2027-01-01", by=[]) == answer(con, tool="none") == []


def test_calls_of_a_conversation_are_one_draw(engine, make):
    """In 8 of 20 conversations all five calls succeed at once; in the others they need a second attempt, or give up."""
    records = [
        make(call_id=f"c{talk}/{call}", conversation_id=f"talk_{talk}", attempt=k, started_at=f"2026-03-01 12:00:0{k}",
             status="success" if talk < 8 or k == 2 and talk < 14 else "error")
        for talk in range(20) for call in range(5) for k in ((1,) if talk < 8 else (1, 2))
    ]  # fmt: skip
    first, second = answer(engine(*records))
    for row, right in ((first, 8), (second, 14)):
        assert (row["naive_low"], row["naive_high"]) == pytest.approx(
            proportion_confint(right, 20, method="wilson"), abs=1e-9
        )
        assert (row["clusters"], row["design_effect"], row["too_few"]) == (20, pytest.approx(5), False)
        # as many calls as conversations: the interval of Kaplan and Meier is five times the variance wide
        pending = 1 - row["km"]
        greenwood = sqrt(5 * (1 - pending) / (100 * pending))
        half = exp(1.959963984540054 * greenwood / abs(log(pending)))
        assert (row["km_low"], row["km_high"]) == pytest.approx(
            (1 - pending ** (1 / half), 1 - pending**half), abs=1e-9
        )
