"""One span of another library."""

from __future__ import annotations

from tests.queries.answers import run
from tooltrace.core.records import Json, Span

from .conftest import START


def test_a_span_is_found_by_its_id_and_an_attempt_is_not(engine, make):
    attempt = make()
    one = Span(
        name="chat",
        trace_id="a" * 32,
        span_id="b" * 16,
        started_at=START,
        attributes=Json('{"model":"m"}'),
        scope="llm",
    )
    con = engine(attempt, one)
    assert run(con, "span", span_id="b" * 16).project("name, scope, attributes").fetchall() == [
        ("chat", "llm", '{"model":"m"}')
    ]
    assert run(con, "span", span_id=attempt.span_id).fetchall() == []
    assert run(con, "span").fetchall() == []
