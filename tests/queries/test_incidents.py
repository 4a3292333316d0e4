"""An outage has a beginning, failures, and an end or none yet; chance does not explain it."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import numpy as np
import pytest
from scipy.special import betaln

from tests.queries.answers import run
from tooltrace.errors import BadParameter

START = datetime(2026, 3, 1, 12)
MEANS = {"x": "error", ".": "success", "p": "partial"}


ALL = 1e9


def answer(con, chance=ALL, recovering=1, **given):
    relation = run(con, "incidents", chance=chance, recovering=recovering, **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.fixture
def history(make):
    """One attempt a minute: x failed, . succeeded, p was partial, c was cancelled."""

    def history(marks, **given):
        return [
            make(started_at=START + timedelta(minutes=minute), status=MEANS.get(mark),
                 ending="returned" if mark in MEANS else "cancelled", **given)
            for minute, mark in enumerate(marks)
        ]  # fmt: skip

    return history


def minutes(row):
    """Began and ended, in minutes, and what was in between."""
    began = (row["started"] - START) / timedelta(minutes=1)
    ended = row["ended"] and (row["ended"] - START) / timedelta(minutes=1)
    return began, ended, row["failures"], row["attempts"]


def test_a_case_to_follow_by_hand(engine, history):
    con = engine(*history("..xx.xxx.xxxxp.xxx"))
    first, second, open_ = sorted(answer(con), key=minutes)
    assert minutes(first) == (5, 8, 3, 3)
    assert minutes(second) == (9, 13, 4, 4)
    assert minutes(open_) == (15, None, 3, 3)
    assert (second["time_to_recovery_ms"], second["lasted_ms"]) == (240_000.0, 240_000.0)
    assert (open_["time_to_recovery_ms"], open_["lasted_ms"]) == (None, 120_000.0)
    assert answer(con)[0] == open_
    assert not any(row["may_be_older"] for row in (first, second, open_))


def test_the_number_of_failures_that_begin_an_incident_can_be_set(engine, history):
    con = engine(*history(".xx.x..xx"))
    assert answer(con) == []
    assert [minutes(row) for row in answer(con, failing=2)] == [(7, None, 2, 2), (1, 3, 2, 2)]
    assert [minutes(row) for row in answer(con, failing=2, recovering=2)] == [(7, None, 2, 2), (1, 5, 3, 4)]
    assert [minutes(row)[:2] for row in answer(con, failing=1)] == [(7, None), (1, 3), (4, 5)]
    for name in ("failing", "recovering"):
        with pytest.raises(BadParameter, match=f"^parameter '{name}' must be a whole number, 1 or more; got 0"):
            answer(con, **{name: 0})


def test_a_grouped_incident_belongs_to_the_group_of_its_first_failure(engine, make):
    """Four failures around midnight, the second and third of another code than the first."""
    midnight = START.replace(hour=0) + timedelta(days=1)
    codes = [None, None, "TIMEOUT", "AUTH", "AUTH", "TIMEOUT", None]
    con = engine(
        *(make(started_at=midnight + timedelta(minutes=minute - 4), status="error" if code else "success", code=code)
          for minute, code in enumerate(codes))
    )  # fmt: skip
    (row,) = answer(con, by=["tool", "code"])
    assert (row["code"], row["failures"], row["time_to_recovery_ms"]) == ("TIMEOUT", 4, 240_000.0)
    assert [(row["day"], row["failures"]) for row in answer(con, by="day")] == [(START.date(), 4)]
    assert [row["hour"] for row in answer(con, by="hour")] == [midnight - timedelta(hours=1)]
    assert [row["status"] for row in answer(con, by="status")] == ["error"]


def test_an_attempt_that_did_not_finish_interrupts_nothing_and_is_shown(engine, history):
    (row,) = answer(engine(*history("c.xcxcxcc.c")))
    assert minutes(row) == (2, 9, 3, 3)
    assert row["unfinished"] == 4
    assert answer(engine(*history("ccc"))) == []


def test_one_that_the_window_begins_with_may_be_older(engine, history):
    con = engine(*history(".xxxx."))
    assert [row["may_be_older"] for row in answer(con)] == [False]
    (row,) = answer(con, since=START + timedelta(minutes=2))
    assert (minutes(row), row["may_be_older"]) == ((2, 5, 3, 3), True)
    (row,) = answer(con, until=START + timedelta(minutes=5))
    assert minutes(row) == (1, None, 4, 4)


def test_each_group_has_incidents_of_its_own(engine, history):
    con = engine(
        *history("xxx", tool="a", code="TIMEOUT"), *history("...", tool="b"), *history("xxx.", tool="c", agent="z")
    )
    assert [(row["tool"], row["ended"] is None, row["code"]) for row in answer(con)] == [
        ("a", True, "TIMEOUT"),
        ("c", False, None),
    ]
    assert answer(con, by=[], failing=4) == []
    assert [(row["agent"], row["failures"]) for row in answer(con, by="agent")] == [("z", 3)]
    assert answer(con, tool="b") == []


def by_chance(length, failed, attempts, ended=1):
    """The expected number of such runs at the rate of the other attempts, ``failed`` of ``attempts``.

    ``ended``: successes that are left out because they ended the run.
    """
    a, b = failed + 0.5, attempts - ended - failed + 0.5
    return (1 + attempts * b / (a + b)) * np.exp(betaln(a + length, b) - betaln(a, b))


def test_a_run_is_compared_with_the_rate_of_all_other_attempts(engine, history):
    rows = answer(engine(*history("..x...xxxx....x....xxx...", conversation_id=None)))
    assert [(row["failures"], row["clusters"]) for row in rows] == [(4, 4), (3, 3)]
    assert [row["by_chance"] for row in rows] == pytest.approx([by_chance(4, 5, 21), by_chance(3, 6, 22)], rel=1e-9)
    assert by_chance(3, 6, 22) > 0.05 > by_chance(6, 2, 40)


def test_runs_that_a_single_success_parts_are_one_incident(engine, history):
    """A tool that fails 19 times of 20 since a change: two successes in a row end an incident, one does not."""
    marks = "." * 40 + "xxxx" + ".xxxxx" * 4 + "..x"
    con = engine(*history(marks, conversation_id=None))
    (row,) = answer(con, chance=0.05, recovering=2)
    assert minutes(row) == (40, 68, 24, 28)
    assert row["by_chance"] < 1e-9, "the runs count together"
    assert len(answer(con, recovering=1)) == 5
    assert all(one["by_chance"] > row["by_chance"] for one in answer(con, recovering=1))


def test_incidents_are_open_ones_first_then_by_failures(engine, history):
    con = engine(*history("xxxx...xxxxxx...xxxxx....", tool="a"), *history("...........xxx", tool="b"))
    assert [(row["tool"], row["failures"]) for row in answer(con)] == [("b", 3), ("a", 6), ("a", 5), ("a", 4)]


@pytest.mark.long
def test_a_constant_rate_has_no_incidents(engine, history):
    """30 % of 1,400 attempts fail: 26 runs of three or more, explained by the rate."""
    draw = random.Random(3)
    marks = "".join("x" if draw.random() < 0.3 else "." for _ in range(1400))
    con = engine(*history(marks, conversation_id=None))
    assert 15 < len(answer(con)) < 40
    assert answer(con, chance=0.05) == []
    con = engine(*history(marks + "x" * 15 + "." + marks, conversation_id=None))
    (row,) = answer(con, chance=0.05)
    assert (row["failures"] >= 15, row["too_few"], row["by_chance"] < 1e-4) == (True, False, True)


def test_a_tool_that_always_fails_has_one_incident(engine, history):
    for marks in ("xxx", "x" * 50, "xxcxx"):
        (row,) = answer(engine(*history(marks)), chance=0.05)
        assert (row["failures"], row["by_chance"], row["ended"]) == (marks.count("x"), None, None)


def test_ten_outages_are_ten_incidents(engine, history):
    con = engine(*history(("." * 60 + "x" * 7) * 10, conversation_id=None))
    assert len(answer(con, chance=0.05)) == 10


def test_failures_of_one_conversation_are_not_an_outage_where_conversations_differ(engine, make):
    """Ten conversations of six attempts; in three of them everything fails."""

    def attempts(conversations):
        return [
            make(conversation_id=f"talk_{c}", status="error" if bad else "success", started_at=START + timedelta(minutes=10 * c + i))
            for c, bad in enumerate(conversations) for i in range(6)
        ]  # fmt: skip

    differ = answer(engine(*attempts([0, 1, 0, 0, 1, 0, 0, 0, 1, 0])))
    assert [(row["failures"], row["clusters"], row["too_few"]) for row in differ] == [(6, 1, True)] * 3
    assert all(row["by_chance"] > 1 for row in differ)
    same = engine(*attempts([0, 0, 0, 0, 1, 1, 1, 1, 0, 0]))
    (row,) = answer(same, chance=0.05)
    assert (row["failures"], row["clusters"], row["too_few"]) == (24, 4, False)


def test_incidents_of_a_tool_that_fails_in_bursts_are_marked(engine, history):
    """A run is bursty if the other runs of failures are as long; isolated failures do not explain it."""
    bursts = answer(engine(*history(("." * 60 + "x" * 7) * 10, conversation_id=None)), chance=0.05)
    assert [row["bursty"] for row in bursts] == [True] * 10
    (outage,) = answer(engine(*history(("." * 12 + "x") * 10 + "x" * 6 + "." * 9, conversation_id=None)), chance=0.05)
    assert (outage["failures"], outage["bursty"]) == (7, False)
    (alone,) = answer(engine(*history("." * 60 + "x" * 7 + "." * 9, conversation_id=None)), chance=0.05)
    assert (alone["failures"], alone["bursty"]) == (7, False)
    (longest,) = answer(engine(*history(("." * 20 + "xx") * 9 + "x" * 20, conversation_id=None)), chance=0.05)
    assert (longest["failures"], longest["bursty"]) == (22, False)


def test_by_bursts_is_the_expected_number_of_runs_as_long(engine, history):
    """The two other runs have four failures, of which two followed another one; the rate counts as half a failure."""
    (row,) = answer(engine(*history("..xx.xxxxx...xx....", conversation_id=None)))
    rate = 4.5 / 14
    a, b = 0.5 * rate + 2, 0.5 * (1 - rate) + 2
    assert row["by_bursts"] == pytest.approx(3 * np.exp(betaln(a + 4, b) - betaln(a, b)), rel=1e-9)


def test_an_incident_is_too_few_if_the_rest_of_the_history_is_of_few_conversations(engine, make):
    def attempts(conversations):
        return [
            make(conversation_id=f"talk_{c}", status="error" if bad else "success", started_at=START + timedelta(minutes=10 * c + i))
            for c, bad in enumerate(conversations) for i in range(6)
        ]  # fmt: skip

    assert [row["too_few"] for row in answer(engine(*attempts([0, 0, 1, 1, 1, 0, 0])))] == [True]
    assert [row["too_few"] for row in answer(engine(*attempts([0, 0, 0, 1, 1, 1, 0, 0])))] == [False]
    assert [row["too_few"] for row in answer(engine(*attempts([1, 1, 1])))] == [False]
