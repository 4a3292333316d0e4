"""Spans next to an attempt in its trace."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.queries.answers import run
from tooltrace.core.records import Span

from .conftest import START

TRACE = "a" * 32


def span(**given: Any) -> Span:
    return Span(**{"trace_id": TRACE, "started_at": START, "duration_ms": 5.0, "scope": "agents", **given})


def answer(con, **given):
    return run(con, "around", **given).project("relation, call_id").fetchall()


def test_parent_children_and_siblings(engine, make):
    span = {name: f"{number:016x}" for number, name in enumerate(("root", "this", "twin", "child", "grandchild"), 1)}
    inside = {"root": None, "this": "root", "twin": "root", "child": "this", "grandchild": "child"}
    records = [
        make(call_id=name, trace_id=TRACE, span_id=span[name], parent_span_id=span.get(parent))
        for name, parent in inside.items()
    ]
    elsewhere = make(call_id="stranger", span_id=f"{9:016x}", parent_span_id=span["this"])
    con = engine(*records, elsewhere)
    assert answer(con, span_id=span["this"]) == [("parent", "root"), ("child", "child"), ("sibling", "twin")]
    assert answer(con, span_id=span["root"]) == [("child", "this"), ("child", "twin")]
    assert answer(con, span_id="none such") == answer(con) == []


def test_the_nearest_of_many_siblings_are_shown(engine, make):
    records = [
        make(call_id=str(n), trace_id=TRACE, parent_span_id="p", started_at=START + timedelta(seconds=n))
        for n in range(200)
    ]
    found = answer(engine(*records), span_id=records[100].span_id)
    assert len(found) == 50
    assert {int(call) for _, call in found} <= set(range(70, 131))


def test_spans_that_are_not_tool_calls_are_listed_by_name(engine, make):
    turn, this, request, other = (f"{number:016x}" for number in range(101, 105))
    con = engine(
        make(call_id="this", trace_id=TRACE, span_id=this, parent_span_id=turn),
        make(call_id="twin", trace_id=TRACE, parent_span_id=turn, started_at=START + timedelta(seconds=2)),
        span(name="invoke_agent clerk", span_id=turn, status="ok"),
        span(name="GET", span_id=request, parent_span_id=this, status="error", scope="http"),
        span(name="chat", span_id=other, parent_span_id=turn),
        span(name="elsewhere", trace_id="b" * 32, span_id=f"{5:016x}", parent_span_id=this),
    )
    found = run(con, "around", span_id=this).project("relation, tool, span, scope, status, call_id").fetchall()
    assert found == [
        ("parent", None, "invoke_agent clerk", "agents", "ok", None),
        ("child", None, "GET", "http", "error", None),
        ("sibling", None, "chat", "agents", None, None),
        ("sibling", "search", None, None, "success", "twin"),
    ]
