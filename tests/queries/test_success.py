"""How many calls succeed: by their last attempt, and without those that the infrastructure failed."""

from __future__ import annotations

import pytest

from tests.queries.answers import run

COLUMNS = "tool, calls, succeeded, rate, infrastructure, too_few"


def test_the_last_attempt_counts_and_the_infrastructure_is_apart(engine, make):
    con = engine(
        make(call_id="a", status="error", code="INVALID_PARAM", attempt=1),
        make(call_id="a", attempt=2),
        make(call_id="b", status="error", code="NOT_FOUND"),
        make(call_id="c", status="error", code="TIMEOUT"),
        make(call_id="d", ending="lost", status=None, duration_ms=None),
        *(make(call_id=f"e{number}") for number in range(6)),
    )
    assert run(con, "success").project(COLUMNS).fetchall() == [("search", 8, 7, pytest.approx(7 / 8), 2, True)]


def test_tools_that_succeed_least_come_first(engine, make):
    con = engine(make(), make(), make(tool="load", status="error", code="X"), make(tool="load"))
    assert run(con, "success").project("tool, rate").fetchall() == [("load", 0.5), ("search", 1.0)]
    assert run(con, "success", tool="load").project("calls").fetchall() == [(2,)]
