"""The state of each tool comes from its whole history: the usual rate is that before the last rise."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from tests.queries.answers import run
from tests.queries.conftest import START

MEANS = {"x": "error", ".": "success", "p": "partial"}


def states(con, **given):
    return run(con, "states", **given).dicts()


@pytest.fixture
def history(make):
    """One call a minute: x failed, . succeeded, p was partial, c was abandoned."""

    def history(marks, begin=0, **given):
        return [
            make(started_at=START + timedelta(minutes=begin + minute), status=MEANS.get(mark),
                 ending="returned" if mark in MEANS else "abandoned", code="API_ERROR" if mark == "x" else None, **given)
            for minute, mark in enumerate(marks)
        ]  # fmt: skip

    return history


@pytest.mark.parametrize(
    ("marks", "state", "minute", "calls", "bad", "usual_calls"),
    [
        ("." * 60, "fine", 0, 60, 0, 0),
        ("....x", "new", 4, 5, 1, 0),
        ("xxx", "broken", 0, 3, 3, 0),
        ("." * 60 + "x" * 12, "broken", 60, 12, 12, 60),
        ("." * 80 + "x.x.x.xx.x" * 4 + ".", "regressed", 80, 41, 24, 80),
        ("x...." * 30, "chronic", 0, 150, 30, 0),
        ("." * 60 + "c" * 12, "broken", 60, 12, 12, 60),
        ("." * 30 + "p" * 30, "fine", 0, 60, 0, 0),
    ],
)
def test_a_case_to_follow_by_hand(engine, history, marks, state, minute, calls, bad, usual_calls):
    [row] = states(engine(*history(marks)))
    found = row["state"], row["since"], row["calls"], row["bad"], row["usual_calls"]
    assert found == (state, (START + timedelta(minutes=minute)).replace(tzinfo=None), calls, bad, usual_calls)


def test_an_outage_that_is_over_is_a_row_with_its_end(engine, history):
    fine, over = sorted(states(engine(*history("." * 60 + "x" * 20 + "." * 60))), key=lambda row: row["state"])
    assert (fine["state"], over["state"]) == ("fine", "recovered")
    assert (over["since"], over["until"]) == tuple(
        (START + timedelta(minutes=at)).replace(tzinfo=None) for at in (60, 80)
    )
    assert (over["calls"], over["bad"], over["usual_rate"]) == (20, 20, 0.0)


def test_each_tool_is_compared_with_itself(engine, history):
    con = engine(*history("." * 60 + "x" * 12), *history("x...." * 30, tool="fetch"))
    assert [(row["tool"], row["state"]) for row in states(con)] == [("search", "broken"), ("fetch", "chronic")]
    assert [row["tool"] for row in states(con, tool="fetch")] == ["fetch"]
    assert {row["agent"] for row in states(con, by=["agent"])} == {None}


def test_the_state_is_that_at_a_time(engine, history):
    con = engine(*history("." * 60 + "x" * 20 + "." * 60))
    assert [row["state"] for row in states(con, until=START + timedelta(minutes=79))] == ["broken"]


def test_the_last_attempt_of_a_call_counts(engine, make):
    attempts = [
        make(call_id=f"c{number}", attempt=attempt, started_at=START + timedelta(minutes=number, seconds=attempt),
             trace_id=f"{number:032x}", status=status)
        for number in range(30)
        for attempt, status in ((1, "error"), (2, "success"))
    ]  # fmt: skip
    [row] = states(engine(*attempts))
    assert (row["state"], row["calls"], row["bad"]) == ("fine", 30, 0)


def test_a_consumer_that_has_enough_of_a_stream_says_nothing_about_the_tool(engine, history, make):
    left = [
        make(started_at=START + timedelta(hours=2, minutes=number), status=None, ending="abandoned", first_item_ms=5.0)
        for number in range(20)
    ]
    [row] = states(engine(*history("." * 60), *left))
    assert (row["state"], row["calls"]) == ("fine", 60)


def test_the_cause_is_that_of_most_failures(engine, make, history):
    more = [
        make(
            started_at=START + timedelta(hours=3, minutes=number),
            status="error",
            code=code,
            error_message=f"{code} {number}",
            duration_ms=500.0,
        )
        for number, code in enumerate(["TIMEOUT", *["RATE_LIMIT"] * 9, "TIMEOUT"])
    ]
    [row] = states(engine(*history("." * 60), *more))
    assert (row["code"], row["message"]) == ("RATE_LIMIT", "RATE_LIMIT 9")
    assert (row["timeout_ms"], row["lost_ms"], row["cut_off"]) == (500.0, 5_500.0, 0)


@pytest.mark.parametrize(("after", "found"), [(300.0, True), (100.0, False)])
def test_since_when_half_of_the_calls_take_longer(engine, make, after, found):
    """The one change of latency, beside the state: 60 calls of about 100 ms and then 60 others."""
    rng = np.random.default_rng(7)
    calls = [
        make(call_id=f"c{n}", conversation_id=f"s{n}", started_at=START + timedelta(minutes=n), duration_ms=ms)
        for n, ms in enumerate([*rng.normal(100, 10, 60), *rng.normal(after, 10, 60)])
    ]
    [row] = states(engine(*calls))
    if not found:
        assert (row["slower_since"], row["median_after"], row["calls_since"]) == (None, None, None)
        return
    assert row["slower_since"] == (START + timedelta(minutes=60)).replace(tzinfo=None)
    assert (row["median_before"], row["median_after"]) == pytest.approx((100, 300), abs=4)
    assert row["calls_since"] == 60
