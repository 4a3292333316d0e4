"""One call by its id, by a span of it, or by the beginning of either."""

from __future__ import annotations

import pytest

from tests.queries.answers import run
from tooltrace.analysis import find
from tooltrace.core.fields import fields_of
from tooltrace.core.records import ToolCall


@pytest.fixture
def con(engine, make):
    return engine(
        make(call_id="call_1", attempt=2, span_id="aa02", started_at="2026-03-01 12:00:02"),
        make(call_id="call_1", attempt=1, span_id="aa01", started_at="2026-03-01 12:00:01"),
        make(call_id="call_12", span_id="bb01", started_at="2026-03-02"),
        make(call_id="call_1", span_id="cc01", conversation_id="other", started_at="2026-03-03"),
    )


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("call_12", [(1, 1, "call_id", "bb01")]),
        ("aa02", [(1, 1, "span_id", "aa01"), (1, 1, "span_id", "aa02")]),
        ("bb", [(1, 1, "prefix", "bb01")]),
        ("call_1", [(2, 1, "call_id", "cc01"), (2, 2, "call_id", "aa01"), (2, 2, "call_id", "aa02")]),
        (
            "call",
            [
                (3, 1, "prefix", "cc01"),
                (3, 2, "prefix", "bb01"),
                (3, 3, "prefix", "aa01"),
                (3, 3, "prefix", "aa02"),
            ],
        ),
        ("CALL_1", []),
        ("%", []),
    ],
)
def test_an_id_selects_a_call_or_an_attempt(con, given, found):
    answer = run(con, "call", id=given)
    assert answer.project("named, place, match, span_id").fetchall() == found


def test_at_most_so_many_calls(con):
    assert run(con, "call", id="call", limit=2).project("named, place").fetchall() == [(3, 1), (3, 2)]


def test_columns_of_fields_have_the_fields_meaning():
    fields = {field.name: field for field in fields_of(ToolCall)}
    fields["conversation"] = fields["conversation_id"]
    meanings = {column.name: column.meaning for column in find("call").header.columns if column.name in fields}
    expected = {name: fields[name].about.meaning.removesuffix(".") for name in meanings}
    assert {name: text.lower() for name, text in meanings.items()} == {
        name: text.lower() for name, text in expected.items()
    }, "write the meanings of tooltrace/core/records.py into the heading of queries/call.sql"
    assert len(meanings) > 40
