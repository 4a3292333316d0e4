"""Search: a text in arguments, errors, results and in what the model received."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.queries.answers import run
from tooltrace.core.records import Message

from .conftest import START


def answer(con, text, **params):
    relation = run(con, "find", text=text, **params)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def hits(con, text, **params):
    return [(row["call_id"], row["field"], row["match"]) for row in answer(con, text, **params)]


@pytest.fixture
def con(engine, make):
    return engine(
        make(call_id="a", span_id="1" * 16, arguments='{"query":"Refund the reordered item"}'),
        make(call_id="b", span_id="2" * 16, status="error", error_message="no refund: order is closed",
             started_at=START + timedelta(minutes=1)),
        make(call_id="c", span_id="3" * 16, text="done", result='{"note":"say \\"hi\\"\\nrefund C:\\\\temp 退款"}', tool="pay",
             started_at=START + timedelta(minutes=2)),
        make(call_id="d", span_id="4" * 16, started_at=START + timedelta(minutes=3)),
        Message(call_id="d", span_id="4" * 16, style="openai", text="REFUND refused", sha256="0", length=14, error=True, at=START),
    )  # fmt: skip


def test_the_text_is_found_in_every_field_and_case_the_last_attempt_first(con):
    assert hits(con, "refund") == [
        ("d", "seen", "REFUND"), ("c", "result", "refund"), ("b", "error", "refund"), ("a", "arguments", "Refund"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "params", "found"),
    [
        ("refund", {"field": "error"}, ["b"]),
        ("refund", {"field": "arguments"}, ["a"]),
        ("refund", {"field": "seen"}, ["d"]),
        ("order", {}, ["b", "a"]),
        ("order", {"words": "yes"}, ["b"]),
        ("refund", {"words": "yes"}, ["d", "c", "b", "a"]),
        ("refund", {"tool": "pay"}, ["c"]),
        ("refund", {"limit": 2}, ["d", "c"]),
        ('say "hi"', {}, ["c"]),
        ('hi"\n refund', {}, ["c"]),
        (r"c:\temp", {}, ["c"]),
        ("退款", {}, ["c"]),
        ("退款", {"words": "yes"}, ["c"]),
        (".*", {}, []),
        ("%", {}, []),
        ("  ", {}, []),
        ("'; DROP TABLE attempts; --", {}, []),
        ("refund", {"until": START + timedelta(minutes=2)}, ["b", "a"]),
        ("refund", {"since": START + timedelta(minutes=2)}, ["d", "c"]),
    ],
)
def test_a_text_finds_the_attempts_that_contain_it(con, text, params, found):
    assert [row["call_id"] for row in answer(con, text, **params)] == found


def test_ids_of_a_protocol_are_found_in_the_context(engine, make):
    con = engine(
        make(call_id="a", text="rows", result="[1]", context='{"traceId":"tool_001"}'), make(call_id="b", text="x")
    )
    (row,) = answer(con, "tool_001")
    assert (row["call_id"], row["field"], row["match"]) == ("a", "result", "tool_001")


def test_the_text_around_the_first_match_is_cut(engine, make):
    con = engine(make(text="x" * 100 + " needle " + "y" * 300 + " needle"))
    (row,) = answer(con, "NEEDLE")
    assert (row["before"], row["match"], row["after"]) == ("x" * 59 + " ", "needle", " " + "y" * 139)


@pytest.mark.long
def test_the_pages_together_are_all_hits(engine, make):
    con = engine(*(make(text="needle", started_at=START + timedelta(seconds=at // 2)) for at in range(7)))
    whole = [row["span_id"] for row in answer(con, "needle")]
    found, last = [], {}
    while page := answer(con, "needle", limit=2, **last):
        found += [row["span_id"] for row in page]
        last = {"before": page[-1]["started_at"].isoformat(), "before_span": page[-1]["span_id"]}
    assert found == whole
    assert len(set(found)) == 7
