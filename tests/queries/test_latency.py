"""Percentiles of the time in the tool."""

from __future__ import annotations

import random
from math import inf, nan

import numpy as np
import pytest

from tests.queries.answers import run


def answer(con, **given):
    relation = run(con, "latency", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def test_percentiles_of_one_to_a_hundred(engine, make):
    con = engine(*(make(duration_ms=float(ms)) for ms in range(1, 101)))
    (row,) = answer(con)
    assert (row["tool"], row["n"], row["max"]) == ("search", 100, 100.0)
    assert [row[f"p{p}"] for p in (50, 90, 95, 99)] == pytest.approx([50.5, 90.1, 95.05, 99.01])
    assert (row["streams"], row["time_to_first_item"], row["time_to_first_item_p95"]) == (0, None, None)
    assert (row["left_out"], row["untimed"], row["untimed_share"], row["too_few"]) == (0, 0, 0.0, False)


def test_only_finished_attempts_with_a_duration_and_only_the_tools_own_time(engine, make):
    con = engine(
        make(duration_ms=10.0, first_item_ms=2.0, consumer_ms=5000.0), make(duration_ms=30.0, status="error", ending="raised"),
        make(duration_ms=None), make(duration_ms=9000.0, status=None, ending="paused", first_item_ms=900.0),
        make(duration_ms=1.0, status=None, ending="cancelled"),
    )  # fmt: skip
    (row,) = answer(con)
    assert [row[name] for name in ("n", "p50", "p90", "p95", "p99", "max")] == [2, 20.0, 28.0, 29.0, 29.8, 30.0]
    assert (row["streams"], row["time_to_first_item"], row["time_to_first_item_p95"]) == (1, 2.0, 2.0)
    assert (row["left_out"], row["untimed"], row["untimed_share"], row["too_few"]) == (3, 1, 1 / 3, True)


def test_the_first_item_of_streams(engine, make):
    con = engine(*(make(duration_ms=1000.0, first_item_ms=float(ms)) for ms in range(1, 22)), make(duration_ms=3.0))
    (row,) = answer(con)
    assert (row["n"], row["streams"]) == (22, 21)
    assert (row["time_to_first_item"], row["time_to_first_item_p95"]) == (11.0, 20.0)


def test_invalid_durations_are_unknown(engine, make):
    wrong = [nan, inf, -inf, -1.0, 1e13, None]
    con = engine(*(make(duration_ms=ms) for ms in (*wrong, 5.0)), *(make(first_item_ms=ms) for ms in wrong))
    (row,) = answer(con)
    assert (row["n"], row["p50"], row["max"], row["untimed"], row["untimed_share"]) == (7, 10.0, 10.0, 6, 6 / 13)
    assert (row["streams"], row["time_to_first_item"]) == (0, None)
    (row,) = answer(engine(make(duration_ms=nan)))
    assert (row["n"], row["p50"], row["p99"], row["max"], row["untimed_share"]) == (0, None, None, None, 1.0)


@pytest.mark.parametrize("seed", range(12))
def test_as_numpy_has_it(engine, make, seed):
    draw = random.Random(seed)
    times = [round(draw.lognormvariate(3, 2), draw.choice([0, 6])) for _ in range(draw.choice([1, 2, 3, 20, 61]))]
    (row,) = answer(engine(*(make(duration_ms=ms) for ms in times)))
    expected = np.percentile(times, [50, 90, 95, 99])
    assert [row[name] for name in ("p50", "p90", "p95", "p99")] == pytest.approx(expected, rel=1e-12)
    assert (row["n"], row["max"], row["too_few"]) == (len(times), max(times), len(times) < 20)


def test_the_slowest_tool_is_first_and_the_untimed_last(engine, make):
    con = engine(make(tool="a", duration_ms=1.0), make(tool="b", duration_ms=9.0), make(tool="c", duration_ms=None))
    assert [row["tool"] for row in answer(con)] == ["b", "a", "c"]


def test_cached_results_have_no_time_in_the_tool(engine, make):
    con = engine(make(duration_ms=50.0, cached=False), *(make(duration_ms=0.04, cached=True) for _ in range(4)))
    (row,) = answer(con)
    assert [row[name] for name in ("n", "p50", "left_out", "cached", "untimed", "untimed_share")] == [
        1,
        50.0,
        4,
        4,
        0,
        0.0,
    ]


def test_percentiles_have_intervals_of_order_statistics(engine, make):
    """For 200 independent attempts of 1 to 200 ms: the ranks of the binomial distribution."""
    (row,) = answer(engine(*(make(duration_ms=float(ms)) for ms in range(1, 201))))
    assert (row["p50_low"], row["p50_high"]) == (86, 115)
    assert (row["p95_low"], row["p95_high"]) == (pytest.approx(184), pytest.approx(197))
    assert (row["clusters"], row["design_effect"]) == (200, 1)
    (few,) = answer(engine(*(make(duration_ms=float(ms)) for ms in range(1, 101))))
    assert (few["p95_low"], few["p95_high"]) == (pytest.approx(90), pytest.approx(100))


def test_durations_that_are_equal_within_a_conversation_count_once(engine, make):
    con = engine(*(make(conversation_id=f"s{talk}", duration_ms=10.0 + talk) for talk in range(20) for _ in range(10)))
    (row,) = answer(con)
    assert (row["n"], row["clusters"], row["too_few"]) == (200, 20, False)
    assert row["design_effect"] == pytest.approx(10, rel=0.2)
    assert row["p50_high"] - row["p50_low"] >= 8, "as wide as that of 20 attempts"


def test_four_conversations_are_too_few(engine, make):
    for talks, too_few in ((4, True), (5, False)):
        con = engine(*(make(conversation_id=f"s{number % talks}") for number in range(40)))
        assert [row["too_few"] for row in answer(con)] == [too_few]
