"""Values that first appear in the time range."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.queries.answers import run
from tooltrace.analysis import find
from tooltrace.analysis.query_verdict import query_verdict
from tooltrace.store.result import read

from .conftest import START

LATER = START + timedelta(days=3)


def answer(con, **given):
    relation = run(con, "changes", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def test_a_version_a_code_and_a_tool_that_are_new(engine, make):
    con = engine(
        make(tool_version="1"), make(tool_version="1", status="error", code="OLD"),
        make(tool_version="2", started_at=LATER, status="error", code="OLD"),
        make(tool_version="2", started_at=LATER + timedelta(seconds=1), status="error", code="NEW"),
        make(tool="other", tool_version="1", started_at=LATER + timedelta(seconds=2), status="error", code="ITS"),
    )  # fmt: skip
    found = [
        (row["kind"], row["tool"], row["name"], row["attempts"], row["failures"]) for row in answer(con, since=LATER)
    ]
    assert found == [
        ("tool", "other", None, 1, 1), ("code", "search", "NEW", 1, 1), ("version", "search", "2", 2, 2),
    ]  # fmt: skip


def test_a_version_is_compared_with_the_one_before(engine, make):
    con = engine(
        *(make(tool_version="1", status="error" if n < 1 else "success") for n in range(4)),
        *(make(tool_version="2", status="error", started_at=LATER) for _ in range(3)),
    )
    (row,) = [row for row in answer(con, since=LATER) if row["kind"] == "version"]
    assert (row["rate"], row["before_rate"]) == (1.0, 0.25)
    assert row["low"] == pytest.approx(0.4385, abs=1e-4)


def test_without_a_window_the_first_day_of_a_tool_is_where_it_starts_from(engine, make):
    con = engine(make(tool_version="1"), make(tool_version="2", started_at=START + timedelta(hours=1)),
                 make(tool_version="3", started_at=LATER))  # fmt: skip
    assert [(row["kind"], row["name"]) for row in answer(con)] == [("version", "3")]
    assert answer(con, until=LATER) == []


def test_a_returning_value_is_not_new(engine, make):
    con = engine(
        make(tool_version="1", code="A", status="error"),
        make(tool_version="1", code="A", status="error", started_at=LATER),
    )
    assert answer(con, since=LATER) == []
    assert len(answer(con, since=START, limit=1)) == 1


def test_a_code_has_no_rate(engine, make):
    con = engine(make(), make(status="error", code="NEW", started_at=LATER))
    assert [(row["kind"], row["rate"], row["low"], row["high"]) for row in answer(con, since=LATER)] == [
        ("code", None, None, None)
    ]


@pytest.mark.parametrize(("attempts", "conversations", "too_few"), [(20, 20, False), (19, 19, True), (40, 5, False), (40, 4, True)])  # fmt: skip
def test_a_rate_of_few_attempts_or_few_conversations_is_marked(engine, make, attempts, conversations, too_few):
    con = engine(
        make(tool_version="1"),
        *(
            make(
                tool_version="2", started_at=LATER, conversation_id=f"c{n % conversations}", status="error", code="NEW"
            )
            for n in range(attempts)
        ),
    )
    assert {row["kind"]: row["too_few"] for row in answer(con, since=LATER)} == {"version": too_few, "code": None}


def test_the_verdict_names_the_newest_even_if_it_has_few_attempts(engine, make):
    con = engine(make(tool_version="1"), make(tool_version="2", started_at=LATER))
    result = read(con, find("changes").statement(since=LATER))
    sentence = query_verdict(find("changes"), result)
    assert sentence is not None
    assert sentence.clauses[0].values["name"].value == "2"
