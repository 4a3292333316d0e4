"""The counts over time and by status add up to the rows of attempts, under the same filters."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.queries.answers import run
from tooltrace.analysis import find

from .conftest import START

STATUSES = ("success", "partial", "error", None)


def counts(con, **params):
    answer = run(con, "attempt_counts", **params)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]


@settings(max_examples=examples(10))
@given(
    st.lists(st.tuples(st.integers(0, 5000), st.sampled_from(STATUSES)), max_size=30),
    st.integers(1, 20),
    st.sampled_from([None, "error"]),
)
def test_the_counts_add_up_to_the_rows(engine, make, given_, parts, status):
    con = engine(
        *(
            make(started_at=START + timedelta(seconds=at), status=each, ending="returned" if each else "cancelled")
            for at, each in given_
        )
    )
    rows = run(con, "attempts", status=status, limit=1000)
    expected = Counter(row[rows.columns.index("status")] for row in rows.fetchall())
    found: Counter[str | None] = Counter()
    for row in counts(con, parts=parts, status=status):
        found[row["status"]] += row["attempts"]
    assert found == expected


def test_an_interval_has_a_row_for_each_status(engine, make):
    con = engine(
        make(status="error"), make(), make(), make(started_at=START + timedelta(seconds=59)), make(status=None)
    )
    rows = counts(con, parts=6)
    assert {row["seconds"] for row in rows} == {10}
    assert [(row["started"], row["status"], row["attempts"]) for row in rows] == [
        (START.replace(tzinfo=None), "error", 1),
        (START.replace(tzinfo=None), "success", 2),
        (START.replace(tzinfo=None), None, 1),
        (START.replace(tzinfo=None) + timedelta(seconds=50), "success", 1),
    ]


def test_the_length_of_an_interval_can_be_given(engine, make):
    con = engine(make(), make(started_at=START + timedelta(seconds=59)), make(started_at=START + timedelta(seconds=61)))
    assert [(row["seconds"], row["attempts"]) for row in counts(con, seconds=60)] == [(60, 2), (60, 1)]


def test_no_attempts_have_no_rows(engine):
    assert counts(engine()) == []


def test_the_filters_are_those_of_attempts():
    paging = {"down_to", "down_to_span", "before", "before_span", "sort", "offset", "limit"}
    names = {parameter.name for parameter in find("attempts").header.parameters} - paging
    assert {parameter.name for parameter in find("attempt_counts").header.parameters} - {"parts", "seconds"} == names


def filters_of(name: str) -> str:
    text = find(name).text
    return text[text.index("    WHERE ($since IS NULL") : text.index("lower($text)))")]


def test_the_conditions_are_those_of_attempts():
    assert filters_of("attempt_counts") == filters_of("attempts")


@pytest.mark.parametrize("label", ["right", "wrong", "any", "none"])
def test_a_filter_that_needs_another_table(engine, make, label):
    assert sum(row["attempts"] for row in counts(engine(make(), make()), label=label)) == (2 if label == "none" else 0)
