"""What retries cost: the known case of facts, and a small one worked by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tooltrace.queries import run


@pytest.fixture
def call(make):
    """The attempts of one call, a second apart, 10 ms each; None is one that was cancelled."""

    def call(name, *statuses, **given):
        first = make(call_id=name)
        return [
            make(call_id=name, attempt=i, status=status, ending="returned" if status else "cancelled",
                 started_at=first.started_at + timedelta(seconds=i), **given)
            for i, status in enumerate(statuses, 1)
        ]  # fmt: skip

    return call


def answer(con, **given):
    relation = run(con, "retries", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def test_the_known_case(engine, call):
    plan = {
        (0, "success"): 80,
        (1, "success"): 8,
        (2, "success"): 3,
        (0, "error"): 4,
        (1, "error"): 2,
        (2, "error"): 3,
    }
    records = []
    for (failures, last), count in plan.items():
        for i in range(count):
            records += call(f"{failures}{last}{i}", *["error"] * failures, last)
    (row,) = answer(engine(*records))
    assert (row["calls"], row["attempts"], row["amplification"]) == (100, 122, 1.22)
    assert (row["retried"], row["recovered"], row["gave_up"]) == (16, 11, 9)
    assert (row["wasted_ms"], row["wasted_share"]) == pytest.approx((220.0, 22 / 122))


def test_a_cancelled_attempt_is_no_retry_and_is_shown(engine, call):
    (row,) = answer(engine(*call("a", "error", None, "success"), *call("b", None)))
    assert (row["calls"], row["attempts"], row["recovered"], row["left_out"]) == (1, 2, 1, 2)


def test_a_call_is_counted_where_it_ended(engine, call):
    first, second = call("a", "error", "success")
    moved = [first, *call("b", "success"), second]
    rows = answer(engine(*moved), by="status")
    assert [(row["status"], row["calls"], row["attempts"], row["recovered"]) for row in rows] == [("success", 2, 3, 1)]


def test_success_after_success_is_no_recovery(engine, call):
    (row,) = answer(engine(*call("a", "success", "success")))
    assert (row["retried"], row["recovered"], row["gave_up"]) == (1, 0, 0)
