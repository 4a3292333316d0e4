"""Windows of time: the share of retries in each, and whether failures are more frequent than elsewhere."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import numpy as np
import pytest
from scipy.stats import hypergeom
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run
from tooltrace.errors import BadParameter
from tooltrace.store.database import hashes

NOON = datetime(2026, 3, 1, 12)


def answer(con, **given):
    relation = run(con, "retry_storms", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.fixture
def window(make):
    """In one window: ``ok`` calls that succeed, and ``failed`` that fail, each of those tried ``again`` so often."""

    def window(minute, ok=0, failed=0, again=0, **given):
        at = NOON + timedelta(minutes=minute)
        records = [make(started_at=at, **given) for _ in range(ok)]
        for i in range(failed):
            records += [
                make(call_id=f"call_{minute}_{i}", attempt=k + 1, status="error",
                     started_at=at + timedelta(seconds=k), **given)
                for k in range(again + 1)
            ]  # fmt: skip
        return records

    return window


def test_a_storm_worked_by_hand(engine, window):
    con = engine(*window(0, 18, 2), *window(5, 8, 1, 1), *window(10, 4, 3, 1), *window(15, 9, 1))
    rows = answer(con)
    assert [(row["tool"], row["window"], row["attempts"], row["retries"], row["failures"]) for row in rows] == [
        ("search", NOON, 20, 0, 2),
        ("search", NOON + timedelta(minutes=5), 10, 1, 2),
        ("search", NOON + timedelta(minutes=10), 10, 3, 6),
        ("search", NOON + timedelta(minutes=15), 10, 0, 1),
    ]
    assert [row["retry_share"] for row in rows] == [0.0, 0.1, 0.3, 0.0]
    assert [row["failure_rate"] for row in rows] == [0.1, 0.2, 0.6, 0.1]
    assert [row["rising"] for row in rows] == [False, False, True, False]
    assert [row["base_rate"] for row in rows] == [9 / 30, 9 / 40, 5 / 40, 10 / 40]
    # 6 of the 11 failures in 10 of the 50 attempts, in one of four windows
    assert 4 * upper_tail(6, 10, 11, 50) < rows[2]["rise_p"] < 0.05, "the attempts of one call are alike"
    assert [row["too_few"] for row in rows] == [False, True, True, True]


def upper_tail(failures, attempts, all_failures, all_attempts):
    """The mid-p value of Fisher's exact test."""
    chance = hypergeom(all_attempts, all_failures, attempts)
    return chance.sf(failures) + chance.pmf(failures) / 2


def test_many_retries_are_not_a_storm_without_more_failures_than_elsewhere(engine, window):
    con = engine(*window(0, 1, 4, 1), *window(5, 4, 3, 1), *window(60, 1, 4, 1))
    assert [row["rising"] for row in answer(con)] == [False] * 3
    assert [(row["rising"], row["rise_p"], row["base_rate"]) for row in answer(engine(*window(0, 1, 4, 1)))] == [
        (None, None, None)
    ]


@pytest.fixture
def constant(engine):
    """Histories, one of each tool, of 48 windows at constant rates: conversations of five calls, up to three attempts each."""

    def constant(histories, rate, icc, storm=0.0):
        rng = np.random.default_rng(histories)
        strength = (1 - icc) / icc if icc else None
        calls = (histories, 48, 4, 5)
        chance = rng.beta(rate * strength, (1 - rate) * strength, calls[:3])[..., None] if icc else np.full(calls, rate)
        chance = np.where(np.arange(48)[:, None, None] == 20, np.maximum(chance, storm), chance)
        failed = rng.random((3, *calls)) < chance
        made = np.cumprod(np.stack([np.ones(calls, bool), *failed[:-1]]), axis=0).astype(bool)
        attempt, history, at, talk, call = np.nonzero(made)
        con = engine()
        con.register("given", {
            "h": history, "w": at, "c": talk, "i": call, "k": attempt, "failed": failed[made].astype(int), "no": np.arange(len(at)),
        })  # fmt: skip
        con.execute(
            f"""
            INSERT INTO attempts (tool, call_id, attempt, trace_id, span_id, conversation_id, started_at, status, ending)
            SELECT h, concat_ws('-', h, w, c, i), k + 1, concat_ws('-', h, w, c), printf('%016x', no), concat_ws('-', h, w, c),
                TIMESTAMP '{NOON}' + to_seconds(300 * w + 30 * i + k), CASE WHEN failed = 1 THEN 'error' ELSE 'success' END, 'returned'
            FROM given
            """
        )
        hashes.refresh(con)
        return answer(con)

    return constant


@pytest.mark.long
@pytest.mark.parametrize(("rate", "icc"), [(0.1, 0.0), (0.3, 0.2), *(pytest.param(*case, marks=pytest.mark.simulations) for case in [(0.3, 0.0), (0.1, 0.2), (0.3, 0.5)])])  # fmt: skip
def test_constant_rates_have_no_storms(constant, rate, icc):
    """At most 5 % of the histories; without the test, each history has windows where the rates are high by chance."""
    rows = constant(200, rate, icc)
    assert len({row["tool"] for row in rows if row["retry_share"] > 0.1 and row["failure_rate"] > rate}) == 200
    assert len({row["tool"] for row in rows if row["rising"]}) <= 0.05 * 200


@pytest.mark.parametrize(("rate", "icc"), [(0.05, 0.0), (0.1, 0.2)])
def test_a_planted_storm_is_found(constant, rate, icc):
    rows = constant(50, rate, icc, storm=0.8)
    rising = [(row["tool"], row["window"]) for row in rows if row["rising"]]
    planted = NOON + timedelta(minutes=100)
    assert len([tool for tool, at in rising if at == planted]) >= 48
    assert len([tool for tool, at in rising if at != planted]) <= 3


def test_a_window_begins_on_its_own_moment_and_not_on_the_next(engine, make):
    edge = NOON + timedelta(minutes=5)
    con = engine(make(started_at=edge - timedelta(microseconds=1)), make(started_at=edge))
    assert [(row["window"], row["attempts"]) for row in answer(con)] == [(NOON, 1), (edge, 1)]
    assert [row["window"] for row in answer(con, window_s=3600)] == [NOON]
    assert [row["window"] for row in answer(con, window_s=2**63 - 1)] == [datetime(1970, 1, 1)]
    with pytest.raises(BadParameter, match="^parameter 'window_s' must be a whole number, 1 or more; got 0"):
        answer(con, window_s=0)


def test_a_retry_in_a_later_window_is_one_there(engine, make):
    same = {"call_id": "c", "status": "error"}
    con = engine(make(**same, started_at=NOON), make(**same, attempt=2, started_at=NOON + timedelta(minutes=7)))
    assert [row["retries"] for row in answer(con)] == [0, 1]
    assert [row["retries"] for row in answer(con, since=NOON + timedelta(minutes=1))] == [1]


def test_unfinished_attempts_are_neither_attempts_nor_retries(engine, make):
    same = {"call_id": "c", "started_at": NOON}
    con = engine(
        make(**same, status=None, ending="paused"), make(**same, attempt=2), make(status=None, ending="cancelled", started_at=NOON)
    )  # fmt: skip
    (row,) = answer(con)
    assert (row["attempts"], row["retries"], row["left_out"]) == (1, 0, 2)
    assert answer(engine(make(status=None, ending="cancelled"))) == []


def test_tools_are_not_compared_with_each_other(engine, window):
    con = engine(*window(0, 20, 0, tool="a"), *window(5, 0, 4, 1, tool="b"), *window(10, 0, 4, 1, tool="a"))
    assert [(row["tool"], row["rising"]) for row in answer(con)] == [("a", False), ("a", True), ("b", None)]
    assert [(row["attempts"], row["rising"]) for row in answer(con, by=[])] == [(20, False), (8, True), (8, True)]


@pytest.mark.parametrize("seed", range(12))
def test_every_attempt_is_in_one_window(engine, make, seed):
    draw = random.Random(seed)
    width = draw.choice([1, 7, 60, 300, 900])
    made = [(draw.randrange(1500), draw.randrange(20), draw.random() < 0.4) for _ in range(draw.choice([1, 2, 30]))]
    rows = answer(
        engine(*(
            make(call_id=f"call_{call}", started_at=NOON + timedelta(seconds=second), status="error" if bad else "success")
            for second, call, bad in made
        )),
        window_s=width,
    )  # fmt: skip
    assert sum(row["attempts"] for row in rows) == len(made)
    assert sum(row["retries"] for row in rows) == len(made) - len({call for _, call, _ in made})
    assert sum(row["failures"] for row in rows) == sum(bad for _, _, bad in made)
    assert [row["window"] for row in rows] == sorted({row["window"] for row in rows})
    for row in rows:
        assert (row["window"] - datetime(1970, 1, 1)).total_seconds() % width == 0
        for part, low, high in (("retries", "retry_low", "retry_high"), ("failures", "failure_low", "failure_high")):
            expected = proportion_confint(row[part], row["attempts"], method="wilson")
            if row["clusters"] == row["attempts"]:
                assert (row[low], row[high]) == pytest.approx(expected, abs=1e-9)
            else:  # the attempts of one call are alike
                assert row[low] <= expected[0] + 1e-9
                assert row[high] >= expected[1] - 1e-9
