"""Conversations: one row each, with counts over the whole conversation and the outcome of its labels."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.queries.answers import run
from tooltrace.core.records import Outcome

from .conftest import START


def answer(con, **params):
    relation = run(con, "conversations", **params)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.fixture
def con(engine, make):
    def at(seconds):
        return START + timedelta(seconds=seconds)

    return engine(
        make(conversation_id="one", call_id="a", tool="search", agent="planner", started_at=at(0), arguments='{"q":"needle"}'),
        make(conversation_id="one", call_id="b", tool="fetch", started_at=at(1), status="error", code="TIMEOUT",
             error_message="late", attempt=1),
        make(conversation_id="one", call_id="b", tool="fetch", started_at=at(2), attempt=2, duration_ms=500.0),
        make(conversation_id="two", call_id="c", tool="fetch", started_at=at(60), status="error", code="NOT_FOUND",
             error_message="gone"),
        make(conversation_id=None, call_id="d"),
        Outcome(call_id=None, conversation_id="two", target_kind="conversation", correct=False, labeler="ann",
                labeled_at=at(90)),
    )  # fmt: skip


def test_a_row_describes_the_whole_conversation(con):
    two, one = answer(con)
    assert (one["conversation"], one["agent"], one["attempts"], one["calls"], one["failed"]) == (
        "one",
        "planner",
        3,
        2,
        0,
    )
    assert (one["tools"], one["last_code"], one["last_error"]) == ("fetch, search", "TIMEOUT", "late")
    assert (one["duration_ms"], one["correct"]) == (2500.0, None)
    assert (two["conversation"], two["failed"], two["correct"], two["score"], two["labeler"]) == (
        "two",
        1,
        False,
        0.0,
        "ann",
    )


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"agent": "planner"}, ["one"]),
        ({"tool": "fetch"}, ["two", "one"]),
        ({"tool": "search"}, ["one"]),
        ({"code": "NOT_FOUND"}, ["two"]),
        ({"text": "NEEDLE"}, ["one"]),
        ({"outcome": "wrong"}, ["two"]),
        ({"outcome": "right"}, []),
        ({"outcome": "none"}, ["one"]),
        ({"since": START + timedelta(seconds=30)}, ["two"]),
        ({"until": START + timedelta(seconds=30)}, ["one"]),
        ({"sort": "started_at"}, ["one", "two"]),
        ({"sort": "-calls"}, ["one", "two"]),
        ({"sort": "-failed"}, ["two", "one"]),
        ({"limit": 1, "offset": 1}, ["one"]),
        ({"conversation": "two"}, ["two"]),
    ],
)
def test_filters_and_orders(con, params, found):
    assert [row["conversation"] for row in answer(con, **params)] == found


@pytest.mark.parametrize(
    "column", ["conversation", "agent", "calls", "failed", "attempts", "correct", "duration_ms", "tools", "last_error"]
)
def test_every_order_is_that_of_its_column(con, column):
    for sort, reverse in ((column, False), (f"-{column}", True)):
        rows = answer(con, sort=sort)
        known = [row[column] for row in rows if row[column] is not None]
        if column == "tools":
            known = [names.split(", ")[0] for names in known]
        assert known == sorted(known, reverse=reverse), sort
        assert [row[column] for row in rows][len(known) :] == [None] * (2 - len(known)), "unknown values come last"
        assert [row for offset in (0, 1) for row in answer(con, sort=sort, limit=1, offset=offset)] == rows
