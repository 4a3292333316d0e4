"""Percentiles of the time in the tool."""

from __future__ import annotations

import pytest

from tooltrace.queries import run


def test_percentiles_of_one_to_a_hundred(engine, make):
    con = engine(*(make(duration_ms=float(ms)) for ms in range(1, 101)))
    (row,) = run(con, "latency").fetchall()
    assert row[:2] == ("search", 100)
    assert row[2:7] == pytest.approx((50.5, 90.1, 95.05, 99.01, 100.0))
    assert row[7:] == (0, None, 0, False)


def test_only_finished_attempts_with_a_duration_and_only_the_tools_own_time(engine, make):
    con = engine(
        make(duration_ms=10.0, first_item_ms=2.0, consumer_ms=5000.0), make(duration_ms=30.0, status="error", ending="raised"),
        make(duration_ms=None), make(duration_ms=9000.0, status=None, ending="paused", first_item_ms=900.0),
        make(duration_ms=1.0, status=None, ending="cancelled"),
    )  # fmt: skip
    assert run(con, "latency").fetchall() == [("search", 2, 20.0, 28.0, 29.0, 29.8, 30.0, 1, 2.0, 3, True)]
