"""Ids of calls, spans, conversations and traces, by an id or its beginning."""

from __future__ import annotations

import pytest

from tests.queries.answers import run
from tooltrace.core.records import Span

from .conftest import START


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("call_1", [("call", "call_1", "search", True)]),
        ("0000000000000001", [("call", "call_1", "search", True)]),
        ("call_", [("call", "call_1", "search", False), ("call", "call_12", "search", False)]),
        ("fff", [("span", "f" * 16, "chat", False)]),
        ("chat-1", [("conversation", "chat-1", None, True)]),
        ("a", [("trace", "a" * 32, None, False)]),
        ("nothing", []),
    ],
)
def test_whole_ids_come_before_beginnings(engine, make, given, found):
    first = make(call_id="call_1", span_id=f"{1:016x}", trace_id="a" * 32, conversation_id="chat-1")
    retry = make(call_id="call_1", attempt=2, span_id=f"{2:016x}", trace_id="a" * 32, conversation_id="chat-1")
    other = make(call_id="call_12", span_id=f"{3:016x}", trace_id="b" * 32, conversation_id="chat-12")
    span = Span(name="chat", trace_id="a" * 32, span_id="f" * 16, started_at=START)
    con = engine(first, retry, other, span)
    rows = run(con, "ids", id=given).project("kind, id, name, exact, matches").fetchall()
    assert [row[:-1] for row in rows] == found
    assert {row[-1] for row in rows} <= {len(found)}
