"""Windows of time: the share of retries in each, and whether failures rise meanwhile."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest
from statsmodels.stats.proportion import proportion_confint

from tooltrace.analysis import run
from tooltrace.errors import BadParameter

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
    assert [row["rising"] for row in rows] == [False, False, True, False]  # 10 % is not above 10 %
    assert [row["too_few"] for row in rows] == [False, True, True, True]


def test_many_retries_are_no_storm_while_failures_fall(engine, window):
    con = engine(*window(0, 1, 4, 1), *window(5, 4, 3, 1), *window(60, 0, 2, 1))
    assert [row["rising"] for row in answer(con)] == [None, False, True]


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
    assert [row["retries"] for row in answer(con, since=NOON + timedelta(minutes=1))] == [0]


def test_what_did_not_finish_is_neither_attempt_nor_retry(engine, make):
    same = {"call_id": "c", "started_at": NOON}
    con = engine(
        make(**same, status=None, ending="paused"), make(**same, attempt=2), make(status=None, ending="cancelled", started_at=NOON)
    )  # fmt: skip
    (row,) = answer(con)
    assert (row["attempts"], row["retries"], row["left_out"]) == (1, 0, 2)
    assert answer(engine(make(status=None, ending="cancelled"))) == []


def test_tools_are_not_compared_with_each_other(engine, window):
    con = engine(*window(0, 10, 0, tool="a"), *window(5, 0, 2, 1, tool="b"), *window(10, 0, 2, 1, tool="a"))
    assert [(row["tool"], row["rising"]) for row in answer(con)] == [("a", False), ("a", True), ("b", None)]
    assert [(row["attempts"], row["rising"]) for row in answer(con, by=[])] == [(10, False), (4, True), (4, False)]


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
            assert (row[low], row[high]) == pytest.approx(expected, abs=1e-9)
