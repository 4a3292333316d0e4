"""Failures over what can fail, with Wilson's interval, for attempts and for calls."""

from __future__ import annotations

import random

import pytest
from statsmodels.stats.proportion import proportion_confint

from tooltrace.analysis import run


def answer(con, **given):
    relation = run(con, "failure_rate", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.mark.parametrize(
    ("failures", "n", "low", "high"),
    [(81, 263, 0.255289, 0.366210), (0, 20, 0.0, 0.161125), (20, 20, 0.838875, 1.0)],
)
def test_the_known_intervals(engine, make, failures, n, low, high):
    (row,) = answer(engine(*(make(status="error" if i < failures else "success") for i in range(n))))
    assert (row["attempts"], row["failures"], row["rate"]) == (n, failures, failures / n)
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=5e-7)
    assert 0 <= row["low"] <= row["rate"] <= row["high"] <= 1
    assert (row["calls"], row["call_rate"], row["call_low"], row["call_high"]) == (
        n,
        row["rate"],
        row["low"],
        row["high"],
    )


def test_a_response_that_reports_an_error_is_a_failure_as_much_as_a_raise(engine, make):
    (row,) = answer(engine(make(status="error"), make(status="error", ending="raised"), make(status="partial"), make()))
    assert (row["failures"], row["attempts"], row["partial_rate"]) == (2, 4, 0.25)


def test_what_says_nothing_about_the_tool_is_shown_and_not_counted(engine, make):
    endings = ["cancelled", "abandoned", "paused", "declined", "expired"]
    con = engine(make(), make(status=None), *(make(status=None, ending=ending) for ending in endings))
    (row,) = answer(con)
    assert (row["attempts"], row["failures"], row["calls"]) == (1, 0, 1)
    assert [row[name] for name in (*endings, "unreported")] == [1] * 6
    (row,) = answer(engine(make(status="error", ending="declined")))
    assert (row["attempts"], row["rate"], row["low"], row["high"], row["call_low"]) == (
        0,
        None,
        None,
        None,
        None,
    )
    assert row["too_few"] is True


def test_a_call_failed_where_its_last_finished_attempt_did(engine, make):
    def attempts(call, *statuses):
        return [make(call_id=call, attempt=i, status=status, ending="returned" if status else "cancelled",
                     started_at=f"2026-03-01 12:00:0{i}") for i, status in enumerate(statuses, 1)]  # fmt: skip

    con = engine(*attempts("a", "error", "success"), *attempts("b", "error", "error"), *attempts("c", "error", None))
    (row,) = answer(con)
    assert (row["attempts"], row["failures"]) == (5, 4)
    assert (row["calls"], row["failed_calls"], row["cancelled"]) == (3, 2, 1)


def test_the_same_call_id_in_another_conversation_tool_or_process_is_another_call(engine, make):
    same = {"call_id": "call_1", "status": "error"}
    con = engine(
        make(**same), make(**same, conversation_id="other"), make(**same, tool="fetch"),
        make(**same, conversation_id=None, host="h", pid=1), make(**same, conversation_id=None, host="h", pid=2),
        make(**same, conversation_id=None, host="h", pid=2, attempt=2),
    )  # fmt: skip
    (row,) = answer(con, by=[])
    assert (row["attempts"], row["calls"], row["failed_calls"]) == (6, 5, 5)


def test_as_many_calls_as_the_view_calls_has(engine, make):
    con = engine(*(make(call_id=f"call_{i % 7}", attempt=i // 7 + 1, tool=f"t{i % 2}") for i in range(40)))
    ((count,),) = con.execute("SELECT count(*) FROM calls").fetchall()
    assert answer(con, by=[])[0]["calls"] == count


def test_too_few_to_tell_is_marked(engine, make):
    con = engine(*(make() for _ in range(20)))
    assert [row["too_few"] for n in (20, 21) for row in answer(con, min_n=n)] == [False, True]


@pytest.mark.parametrize("seed", range(12))
def test_every_interval_is_wilsons(engine, make, seed):
    draw = random.Random(seed)
    n = draw.choice([1, 2, 3, 40])
    statuses = draw.choices(["error", "partial", "success"], [draw.random(), draw.random(), draw.random()], k=n)
    (row,) = answer(engine(*(make(status=status) for status in statuses)))
    for part, low, high in (
        ("error", "low", "high"),
        ("error", "call_low", "call_high"),
        ("partial", "partial_low", "partial_high"),
    ):
        expected = proportion_confint(statuses.count(part), n, method="wilson")
        assert (row[low], row[high]) == pytest.approx(expected, abs=1e-9)
        assert 0 <= row[low] <= statuses.count(part) / n <= row[high] <= 1


def test_a_call_with_neither_conversation_nor_process_is_told_apart_from_one_with(engine, make):
    same = {"call_id": "call_1", "status": "error"}
    con = engine(
        make(**same, conversation_id="h"), make(**same, conversation_id=None, host="h"),
        make(**same, conversation_id=None, host="h", pid=0), make(**same, conversation_id=None),
        make(**same, conversation_id=None, attempt=2),
    )  # fmt: skip
    (row,) = answer(con)
    assert (row["attempts"], row["calls"], row["failed_calls"]) == (5, 4, 4)
