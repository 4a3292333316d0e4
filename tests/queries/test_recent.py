"""The last attempts by when they ended."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.queries.answers import run


def spans(con, **given):
    answer = run(con, "recent", **given)
    return [row[answer.columns.index("call_id")] for row in answer.fetchall()]


def test_the_last_ended_attempt_is_first(engine, make):
    start = datetime(2026, 3, 1)
    con = engine(
        make(call_id="long", started_at=start, duration_ms=3_600_000.0, consumer_ms=1000.0),
        make(
            call_id="short",
            started_at=start + timedelta(minutes=59),
            duration_ms=1.0,
            status="error",
            tool="fetch",
        ),
        make(call_id="open", started_at=start, duration_ms=None, status=None, ending="abandoned"),
    )
    assert spans(con) == ["long", "short", "open"]
    assert spans(con, limit=1) == ["long"]
    assert spans(con, since="2026-03-01T01:00:01") == ["long"]
    assert spans(con, until="2026-03-01T01:00:01") == ["short", "open"]
    assert spans(con, status="error") == spans(con, tool="fetch") == ["short"]
    assert spans(con, limit=0) == []


def test_an_absurd_duration_is_not_an_error(engine, make):
    con = engine(*(make(call_id=str(ms), duration_ms=ms) for ms in (1e300, float("inf"), float("nan"), -1e300)))
    assert len(spans(con)) == 4
