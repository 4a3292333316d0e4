"""Attempts by filter, a page at a time: every page together is the whole, in one order, each attempt once."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.queries.answers import run
from tooltrace.core.records import Message, Outcome

from .conftest import START


def answer(con, **params):
    relation = run(con, "attempts", **params)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def pages(con, limit, **params):
    last: dict[str, object] = {}
    while rows := answer(con, limit=limit, **params, **last):
        yield rows
        last = {"before": rows[-1]["ended_at"].isoformat(), "before_span": rows[-1]["span_id"]}


@settings(max_examples=examples(10))
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, 0.0, 1.0, 1000.0])), max_size=30), st.integers(1, 7)
)
def test_the_pages_together_are_all_rows_in_order(engine, make, times, limit):
    con = engine(*(make(started_at=START + timedelta(seconds=at), duration_ms=ms) for at, ms in times))
    all_spans = [row["span_id"] for row in answer(con, limit=1000)]
    assert [row["span_id"] for page in pages(con, limit) for row in page] == all_spans
    assert len(set(all_spans)) == len(times)


@settings(max_examples=examples(10))
@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.data())
def test_the_list_down_to_a_row_ends_with_it(engine, make, times, data):
    con = engine(*(make(started_at=START + timedelta(seconds=at)) for at in times))
    all_rows = answer(con, limit=1000)
    place = data.draw(st.integers(0, len(all_rows) - 1))
    end = all_rows[place]
    assert answer(con, down_to=end["ended_at"].isoformat(), down_to_span=end["span_id"]) == all_rows[: place + 1]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"tool": "fetch"}, {"b"}),
        ({"status": "error"}, {"b"}),
        ({"code": "TIMEOUT"}, {"b"}),
        ({"ending": "cancelled"}, {"c"}),
        ({"agent": "coder"}, {"c"}),
        ({"conversation": "other"}, {"d"}),
        ({"min_confidence": "0.5"}, {"a"}),
        ({"max_confidence": "0.9"}, {"d"}),
        ({"min_confidence": 0.2, "max_confidence": 0.9}, {"d"}),
        ({"text": "NO ANSWER"}, {"b"}),
        ({"text": "needle"}, {"a"}),
        ({"text": "%"}, set()),
        ({"text": "'; DROP TABLE attempts; --"}, set()),
        ({"until": "2026-03-01T12:00:30"}, {"a", "b", "c"}),
        ({"since": "2026-03-01T12:00:30"}, {"d"}),
        ({"tool": "fetch", "status": "success"}, set()),
    ],
)
def test_each_filter(engine, make, params, expected):
    con = engine(
        make(call_id="a", confidence=0.9, arguments='{"query":"Needle"}'),
        make(call_id="b", tool="fetch", status="error", code="TIMEOUT", error_message="no answer in 3 s"),
        make(call_id="c", status=None, ending="cancelled", agent="coder"),
        make(call_id="d", conversation_id="other", confidence=0.25, started_at=START + timedelta(minutes=1)),
    )
    assert {row["call_id"] for row in answer(con, **params)} == expected


def test_the_time_range_selects_by_the_start_and_the_order_is_by_the_end(engine, make):
    con = engine(
        make(call_id="long", started_at=START, duration_ms=60_000.0),
        make(call_id="short", started_at=START + timedelta(seconds=10)),
        make(call_id="later", started_at=START + timedelta(seconds=30)),
    )
    range_ = {"since": START.isoformat(), "until": (START + timedelta(seconds=30)).isoformat()}
    assert [row["call_id"] for row in answer(con, **range_)] == ["long", "short"]


def test_said_is_a_short_form_of_the_error_the_text_or_the_result(engine, make):
    con = engine(
        make(call_id="1", error_message="gone", text="x", result="[1]"), make(call_id="2", text="words", result="[1]"),
        make(call_id="3", result="[1]"), make(call_id="4"), make(call_id="5", text="é" * 300),
    )  # fmt: skip
    messages = {row["call_id"]: row["message"] for row in answer(con)}
    assert messages == {"1": "gone", "2": "words", "3": "[1]", "4": None, "5": "é" * 200}


def test_an_absurd_duration_is_not_an_error(engine, make):
    con = engine(*(make(duration_ms=ms) for ms in (1e300, float("inf"), float("nan"), -1e300)))
    assert len(answer(con)) == 4
    assert answer(con)[-1]["ended_at"] >= datetime(2026, 3, 1, 12)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"version": "2"}, {"a"}),
        ({"rule": "http"}, {"b"}),
        ({"min_duration_ms": 10}, {"a", "b"}),
        ({"max_duration_ms": 10}, {"c"}),
        ({"min_duration_ms": 10, "max_duration_ms": 20}, {"a"}),
        ({"label": "right"}, {"a"}),
        ({"label": "wrong"}, {"b"}),
        ({"label": "any"}, {"a", "b"}),
        ({"label": "none"}, {"c", "d"}),
        ({"label": "perhaps"}, set()),
        ({"model_saw_error": "yes"}, {"b"}),
        ({"model_saw_error": "no"}, {"a"}),
    ],
)
def test_filters_by_label_message_and_duration(engine, make, params, expected):
    right, wrong = make(call_id="a", tool_version="2"), make(call_id="b", rule="http", duration_ms=20.0)
    message = {"sha256": "0" * 64, "length": 1, "at": START}
    con = engine(
        right,
        wrong,
        make(call_id="c", duration_ms=9.5),
        make(call_id="d", duration_ms=None),
        Outcome(span_id=right.span_id, correct=True, labeled_at=START),
        Outcome(call_id=wrong.call_id, correct=False, labeled_at=START + timedelta(hours=1)),
        Message(call_id="a", span_id=right.span_id, error=False, **message),
        Message(call_id="b", span_id=wrong.span_id, error=True, **message),
    )
    assert {row["call_id"] for row in answer(con, **params)} == expected


SORTED = (
    "ended_at",
    "duration_ms",
    "attempt",
    "confidence",
    "tool",
    "tool_version",
    "status",
    "code",
    "agent",
    "call_id",
    "message",
)


@pytest.mark.parametrize("column", SORTED)
def test_every_order_is_that_of_its_column_and_its_pages_are_all_rows(engine, make, column):
    con = engine(
        make(tool="b", tool_version="1", confidence=0.5, agent="x", duration_ms=3.0),
        make(tool="a", code="GONE", status="error", duration_ms=None, attempt=2),
        make(tool="c", tool_version="2", confidence=0.1, agent="y", duration_ms=1.0, status=None, ending="cancelled"),
        make(tool="b", tool_version="1", confidence=0.5, started_at=START + timedelta(seconds=1)),
    )
    for sort, reverse in ((column, False), (f"-{column}", True)):
        rows = answer(con, sort=sort)
        values = [row["status"] or row["ending"] if column == "status" else row[column] for row in rows]
        known = [value for value in values if value is not None]
        assert known == sorted(known, reverse=reverse), sort
        assert values[len(known) :] == [None] * (4 - len(known)), "unknown values come last"
        paged = [answer(con, sort=sort, limit=3, offset=offset) for offset in (0, 3)]
        assert [row for page in paged for row in page] == rows
