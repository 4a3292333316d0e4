"""The calls of one conversation, each by its last attempt."""

from __future__ import annotations

from datetime import timedelta

from tests.queries.answers import run

from .conftest import START


def test_a_call_is_its_last_attempt_in_order_of_the_first_start(engine, make):
    con = engine(
        make(conversation_id="one", call_id="a", started_at=START, status="error", code="TIMEOUT", duration_ms=5.0),
        make(conversation_id="one", call_id="b", started_at=START + timedelta(seconds=1), arguments='{"q":1}'),
        make(
            conversation_id="one",
            call_id="a",
            started_at=START + timedelta(seconds=2),
            attempt=2,
            duration_ms=7.0,
            text="ok",
        ),
        make(conversation_id="two", call_id="a", started_at=START),
    )
    relation = run(con, "conversation_calls", conversation="one")
    rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    assert [(row["call_id"], row["attempts"], row["status"], row["code"], row["duration_ms"]) for row in rows] == [
        ("a", 2, "success", None, 12.0), ("b", 1, "success", None, 10.0),
    ]  # fmt: skip
    assert (rows[0]["answer"], rows[1]["arguments"]) == ("ok", '{"q":1}')


def test_calls_without_a_conversation_are_those_of_their_trace(engine, make):
    one, two = "a" * 32, "b" * 32
    con = engine(
        make(conversation_id=None, trace_id=one, call_id="a", started_at=START),
        make(conversation_id=None, trace_id=one, call_id="b", started_at=START + timedelta(seconds=1)),
        make(conversation_id=None, trace_id=two, call_id="c", started_at=START),
        make(conversation_id="talk", trace_id=one, call_id="d", started_at=START),
    )
    relation = run(con, "conversation_calls", conversation=one)
    assert [row[relation.columns.index("call_id")] for row in relation.fetchall()] == ["a", "b"]
