"""The figures of a window and of the one before it: the same as the questions that ask for each alone."""

from __future__ import annotations

import math
import random
from datetime import timedelta

import pytest

from tests.queries.answers import run
from tooltrace.core.records import Outcome

from .conftest import START


def answer(con, name="overview", **given):
    relation = run(con, name, **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def history(make, n=400, seed=1):
    """Two days of calls, some tried again, some cancelled, some from a cache, half of them judged."""
    draw = random.Random(seed)
    records = []
    for number in range(n):
        at = START + timedelta(minutes=7 * number, microseconds=draw.randrange(10**6))
        tries = draw.choice([1, 1, 1, 2, 3])
        for attempt in range(1, tries + 1):
            failed = draw.random() < 0.3 or attempt < tries
            call = make(
                call_id=f"c{number}", attempt=attempt, started_at=at + timedelta(seconds=5 * attempt),
                tool=draw.choice(["search", "fetch"]) if tries == 1 else "search",
                status=None if draw.random() < 0.05 else "error" if failed else "success",
                duration_ms=draw.lognormvariate(4, 1), cached=draw.random() < 0.1,
                rule_grade=draw.choice(["certain", "heuristic", "unread", None]),
                confidence=draw.random(), conversation_id=f"s{number // 9}",
            )  # fmt: skip
            records.append(call)
            if draw.random() < 0.5:
                records.append(Outcome(span_id=call.span_id, correct=draw.random() < 0.6, labeled_at=START))
    return records


@pytest.fixture(scope="module")
def middle():
    return START + timedelta(minutes=7 * 200)


@pytest.mark.long
def test_each_figure_is_the_one_of_its_own_question(engine, make, middle):
    con = engine(*history(make))
    now, before = answer(con, since=middle, before=START)
    assert (now["period"], before["period"]) == ("now", "before")
    for row, window in ((now, {"since": middle}), (before, {"since": START, "until": middle})):
        (failed,) = answer(con, "failure_rate", by=[], **window)
        assert row["unread"] > 0
        for name in ("attempts", "failures", "unread", "rate", "low", "high", "calls", "failed_calls", "call_rate"):
            assert row[name] == pytest.approx(failed[name], rel=1e-12), name
        assert (row["call_low"], row["call_high"]) == pytest.approx((failed["call_low"], failed["call_high"]))
        (retried,) = answer(con, "retries", by=[], **window)
        assert row["retried"] == retried["retried"] > 0
        (taken,) = answer(con, "latency", by=[], **window)
        assert row["p95"] == pytest.approx(taken["p95"])


def test_the_interval_of_the_percentile_ends_at_order_statistics(engine, make):
    durations = [random.Random(3).lognormvariate(3, 1.5) for _ in range(500)]
    durations = [d * (1 + i / 1e5) for i, d in enumerate(random.Random(4).lognormvariate(3, 1.5) for _ in range(500))]
    (row,) = answer(engine(*(make(duration_ms=ms) for ms in durations)))
    ranked = sorted(durations)
    spread = 1.959963984540054 * math.sqrt(500 * 0.95 * 0.05)
    low, high = ranked[math.ceil(475 - spread) - 1], ranked[math.ceil(475 + spread + 1) - 1]
    assert row["p95_low"] == pytest.approx(low, rel=2e-3)
    assert row["p95_high"] == pytest.approx(high, rel=2e-3)
    assert row["p95_low"] < row["p95"] < row["p95_high"]


def test_few_durations_have_no_upper_limit(engine, make):
    (row,) = answer(engine(*(make(duration_ms=float(ms)) for ms in range(1, 11))))
    assert (row["p95_high"], row["too_few"]) == (None, True)
    assert row["p95_low"] <= row["p95"]


def test_without_since_there_is_no_previous_range(engine, make, middle):
    con = engine(*history(make, 20))
    assert [row["period"] for row in answer(con, before=START)] == ["now"]
    assert answer(con, since=middle) == []


def test_absurd_durations_are_not_an_error(engine, make):
    con = engine(*(make(duration_ms=ms) for ms in (1e300, float("inf"), float("nan"), -1.0, 0.0, None)))
    (row,) = answer(con)
    assert (row["attempts"], row["p95"]) == (6, 0.0)
