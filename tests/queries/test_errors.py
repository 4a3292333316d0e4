"""Errors by code and type, the most frequent first."""

from __future__ import annotations

from datetime import datetime

from tooltrace.queries import run


def test_errors_are_counted_shared_and_dated(engine, make):
    def error(day, **given):
        return make(status="error", started_at=datetime(2026, 3, day), **given)

    timeout = {"code": "TIMEOUT", "error_type": "TimeoutError"}
    con = engine(
        error(1, **timeout, retryable=True),
        error(3, **timeout, retryable=True, call_id="last"),
        error(2, **timeout, retryable=False),
        error(4, code="NOT_FOUND"),
        make(), make(status=None, ending="cancelled", error_type="CancelledError"), make(status="partial", code="NO_MATCH"),
    )  # fmt: skip
    assert run(con, "errors").fetchall() == [
        (
            "search",
            "TIMEOUT",
            "TimeoutError",
            3,
            0.75,
            datetime(2026, 3, 1),
            datetime(2026, 3, 3),
            2 / 3,
            0,
            "last",
        ),
        ("search", "NOT_FOUND", None, 1, 0.25, datetime(2026, 3, 4), datetime(2026, 3, 4), None, 1, "call_4"),
    ]


def test_rare_errors_are_left_out_and_the_shares_stay(engine, make):
    con = engine(*(make(status="error", code=code) for code in "AAAB"))
    assert [row[1:5:2] for row in run(con, "errors", min_n=2).fetchall()] == [("A", 3)]
    assert [row[4] for row in run(con, "errors", min_n=2).fetchall()] == [0.75]
