"""What a circuit breaker would have prevented: cases by hand, and the breaker that is recommended."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from tests.queries.answers import run
from tooltrace.analysis import find
from tooltrace.errors import BadParameter
from tooltrace.recording.circuit_breaker import CircuitBreaker

START = datetime(2026, 3, 1, 12)


def answer(con, **given):
    relation = run(con, "breaker", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.fixture
def history(make):
    """Attempts of one tool: when each began, in seconds, and whether it failed; each takes a second."""

    def history(*steps, **given):
        return [
            make(started_at=START + timedelta(seconds=second), **{"duration_ms": 1000.0, "status": status, **given})
            for second, status in steps
        ]

    return history


def test_a_case_to_follow_by_hand(engine, history):
    con = engine(
        *history(
            (0, "error"), (10, "error"), (20, "error"),  # the third is over at 21: open until 21 + 60
            (30, "error"), (40, "success"), (81, "error"),  # blocked: two that failed and one good
            (82, "error"), (83, "error"), (84, "success"),  # closed again, and counting from 0
            (90, "error"),
        )
    )  # fmt: skip
    (row,) = answer(con, recovery_timeout=60)
    assert (row["attempts"], row["failures"], row["trips"]) == (10, 8, 1)
    assert (row["would_block"], row["prevented"], row["blocked_good"]) == (3, 2, 1)
    assert (row["precision"], row["prevented_share"]) == (2 / 3, 2 / 8)
    assert 0 < row["low"] < row["precision"] < row["high"] < 1
    assert (row["time_open_ms"], row["saved_ms"]) == (60_000.0, 2000.0)
    assert row["too_few"] is True


def test_by_default_three_failures_open_it_for_five_minutes(engine, history):
    failures = [(second, "error") for second in (0, 1, 2)]
    con = engine(*history(*failures, (303, "success"), (304, "success")))
    (row,) = answer(con)
    assert (row["would_block"], row["blocked_good"], row["time_open_ms"]) == (1, 1, 300_000.0)
    assert answer(con, failure_threshold=4)[0]["trips"] == 0


def test_calls_running_when_the_breaker_opens_are_allowed(engine, history):
    con = engine(*history((0, "error"), (0.1, "error"), (0.2, "error"), (0.3, "error"), (1.1, "error"), (1.3, "error")))
    (row,) = answer(con)
    assert (row["trips"], row["would_block"]) == (1, 1)  # the third is over at 1.2 s


def test_an_unfinished_attempt_changes_nothing_and_is_shown(engine, history):
    cut = history((1.5, None), (2.5, None), ending="cancelled")
    (row,) = answer(engine(*history((0, "error"), (2, "error"), (4, "error"), (6, "error")), *cut))
    assert (row["attempts"], row["trips"], row["would_block"], row["left_out"]) == (4, 1, 1, 2)
    (row,) = answer(engine(*cut))
    assert (row["attempts"], row["trips"], row["precision"], row["low"], row["left_out"]) == (0, 0, None, None, 2)


def test_a_partial_result_is_not_a_failure(engine, history):
    (row,) = answer(engine(*history((0, "error"), (2, "error"), (4, "partial"), (6, "error"), (8, "error"))))
    assert row["trips"] == 0


def test_each_group_has_a_breaker_of_its_own(engine, history):
    failing = [(second, "error") for second in range(0, 10, 2)]
    con = engine(*history(*failing, tool="a"), *history(*failing, tool="b", agent="x"))
    assert [(row["tool"], row["prevented"]) for row in answer(con)] == [("a", 2), ("b", 2)]
    assert [row["prevented"] for row in answer(con, by=[])] == [6]
    assert [(row["agent"], row["prevented"]) for row in answer(con, by="agent")] == [("x", 2), (None, 2)]
    assert [row["attempts"] for row in answer(con, tool="a", until=START + timedelta(seconds=4))] == [2]


@pytest.mark.parametrize("odd", [None, float("nan"), float("inf"), -1e300, 1e300])
def test_a_duration_beyond_all_reason_is_none(engine, history, odd):
    steps = [*((second, "error") for second in range(4)), (302, "success"), (303, "success")]
    (row,) = answer(engine(*history(*steps, duration_ms=odd)))
    assert (row["trips"], row["would_block"], row["saved_ms"]) == (1, 2, 0.0)


def failing(share, outage=(0, 0), n=1000, seed=1):
    """Whether each of ``n`` attempts fails, 40 s apart: by chance, and nearly always during the ``outage``."""
    chance = random.Random(seed)
    return [chance.random() < (0.97 if outage[0] <= place < outage[1] else share) for place in range(n)]


@pytest.mark.parametrize(
    ("failed", "helps"),
    [
        pytest.param(failing(0.05, (400, 600)), True, id="an outage of two hours"),
        pytest.param(failing(0.02, (200, 900)), True, id="an outage of eight hours"),
        pytest.param([True] * 300, True, id="a tool that never worked"),
        *(pytest.param(failing(p, seed=seed), False, id=f"{p} by chance") for p, seed in ((0.05, 1), (0.5, 2), (0.9, 3))),
        pytest.param([True] * 19, None, id="too few attempts"),
    ],
)  # fmt: skip
def test_a_breaker_is_recommended_for_outages_and_not_for_independent_failures(engine, history, failed, helps):
    con = engine(*history(*((40 * i, "error" if fails else "success") for i, fails in enumerate(failed))))
    (row,) = answer(con)
    recommended, *counted = (row[f"recommended{name}"] for name in ("", "_prevented", "_blocked_good"))
    if not helps:
        assert [recommended, *counted] == ["none" if helps is False else None, None, None]
        return
    numbers = {name: int(value) for name, value in (part.split("=") for part in recommended.split(", "))}
    assert repr(CircuitBreaker(**numbers)) == f"CircuitBreaker({recommended})"
    (replayed,) = answer(con, **numbers)
    assert counted == [replayed["prevented"], replayed["blocked_good"]], "what the query counts for these numbers"
    assert counted[0] > max(0.5 * sum(failed), 5 * counted[1])


def test_one_failure_may_be_enough_and_none_is_refused(engine, history):
    con = engine(*history((0, "error"), (2, "success")))
    assert answer(con, failure_threshold=1)[0]["blocked_good"] == 1
    for name in ("failure_threshold", "recovery_timeout"):
        with pytest.raises(BadParameter, match=f"^parameter '{name}' must be a whole number, 1 or more; got 0"):
            answer(con, **{name: 0})


def test_grouped_by_code_and_day_the_complete_history_is_replayed(engine, make):
    """Three failures in a row before midnight open it; it blocks two more and a good one after midnight."""
    midnight = datetime(2026, 3, 2)
    seconds = [(-30, "A"), (-20, "B"), (-10, "A"), (10, "A"), (20, "B"), (30, None)]
    con = engine(
        *(make(started_at=midnight + timedelta(seconds=second), code=code, status="error" if code else "success")
          for second, code in seconds)
    )  # fmt: skip
    of = ("attempts", "failures", "trips", "would_block", "prevented", "blocked_good")
    whole = answer(con, by=[])[0]
    assert [whole[name] for name in of] == [6, 5, 1, 3, 2, 1]
    by_code = {row["code"]: [row[name] for name in of] for row in answer(con, by="code")}
    assert by_code == {"A": [3, 3, 1, 1, 1, 0], "B": [2, 2, 0, 1, 1, 0], None: [1, 0, 0, 1, 0, 1]}
    by_day = {row["day"].day: [row[name] for name in of] for row in answer(con, by="day")}
    assert by_day == {1: [3, 3, 1, 0, 0, 0], 2: [3, 2, 0, 3, 2, 1]}


@pytest.mark.parametrize("large", [3600, 10**9, 2**31, 2**62, 2**63 - 1])
def test_large_parameters_are_not_an_error(engine, history, large):
    """An hour in microseconds has more than 32 bits."""
    con = engine(*history(*((second, "error") for second in range(6))))
    assert answer(con, failure_threshold=large)[0]["trips"] == 0
    assert answer(con, recovery_timeout=large)[0]["would_block"] == 3


def test_the_defaults_are_in_the_heading():
    stated = {parameter.name: parameter.default for parameter in find("breaker").header.parameters}
    assert (stated["failure_threshold"], stated["recovery_timeout"]) == (3, 300)
