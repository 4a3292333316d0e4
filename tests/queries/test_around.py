"""What stands next to an attempt in its trace."""

from __future__ import annotations

from datetime import timedelta

from tooltrace.queries import run

from .conftest import START

TRACE = "a" * 32


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


def test_of_many_siblings_the_nearest_are_shown(engine, make):
    records = [
        make(call_id=str(n), trace_id=TRACE, parent_span_id="p", started_at=START + timedelta(seconds=n))
        for n in range(200)
    ]
    found = answer(engine(*records), span_id=records[100].span_id)
    assert len(found) == 50
    assert {int(call) for _, call in found} <= set(range(70, 131))
