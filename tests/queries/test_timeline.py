"""Attempts in stretches of time of a round length."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.queries.answers import run

from .conftest import START


def answer(con, **given):
    relation = run(con, "timeline", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.mark.parametrize(
    ("lasts", "seconds"), [(0, 1), (59, 1), (61, 2), (3600, 60), (86400, 1800), (7 * 86400, 10800), (30 * 86400, 43200)]
)
def test_an_interval_is_the_shortest_round_time_within_the_limit(engine, make, lasts, seconds):
    con = engine(*(make(started_at=START + timedelta(seconds=at)) for at in {0, lasts}))
    assert {row["seconds"] for row in answer(con)} == {seconds}


def test_the_length_of_the_window_replaces_that_of_the_attempts(engine, make):
    con = engine(make(started_at=START), make(started_at=START + timedelta(seconds=59)))
    assert {row["seconds"] for row in answer(con, span_s=7 * 86400)} == {10800}
    assert {row["seconds"] for row in answer(con, span_s=30, parts=10)} == {5}


def test_each_attempt_is_in_the_stretch_in_which_it_began(engine, make):
    times = [0.0, 29.9, 30.0, 3599.0]
    con = engine(*(make(started_at=START + timedelta(seconds=at), status="error" if at else "success") for at in times))
    rows = answer(con, parts=120)
    at = datetime(2026, 3, 1, 12)
    assert [(row["started"], row["attempts"], row["failures"]) for row in rows] == [
        (at, 2, 1), (at + timedelta(seconds=30), 1, 1), (at + timedelta(seconds=3570), 1, 1),
    ]  # fmt: skip
    assert rows[0]["rate"] == 0.5
    assert 0 < rows[0]["low"] < 0.5 < rows[0]["high"] < 1


def test_all_in_one_and_by_tool_and_version(engine, make):
    con = engine(
        make(tool="a"), make(tool="b", tool_version="2", duration_ms=None), make(tool="b", status=None, ending="paused")
    )
    assert [(row["attempts"], row["left_out"], row["p50"]) for row in answer(con, by=[])] == [(2, 1, 10.0)]
    assert [(row["tool"], row["attempts"]) for row in answer(con)] == [("a", 1), ("b", 1)]
    assert {row["version"] for row in answer(con, by=["version"], tool="b")} == {"2", None}


def test_there_are_at_most_the_requested_intervals(engine, make):
    con = engine(*(make(started_at=START + timedelta(seconds=37 * n)) for n in range(1000)))
    for parts in (1, 7, 60, 300):
        assert len(answer(con, by=[], parts=parts)) <= parts + 1
    assert sum(row["attempts"] for row in answer(con, by=[])) == 1000
