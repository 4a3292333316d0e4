"""A question with its parameters written into it is the question, and needs nothing besides."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.grids import every_fifth
from tests.queries.answers import run
from tests.queries.conftest import START
from tooltrace.analysis import catalogue, find
from tooltrace.analysis.parameters import literal
from tooltrace.errors import BadParameter
from tooltrace.store.result import read

GIVEN = {"call": {"id": "call_1"}, "labels": {"call_id": "call_1"}, "call_gates": {"call_id": "call_1"}}
ASKED = [
    name for name, query in catalogue().items() if name in GIVEN or not any(p.required for p in query.header.parameters)
]


@pytest.mark.parametrize("name", every_fifth(ASKED))
def test_it_runs_as_it_is_and_answers_the_same(name, engine, make):
    con = engine(make(status="error", code="A"), make(), make(tool="it's"))
    text = find(name).render_with_values(**GIVEN.get(name, {}))
    answer = run(con, name, **GIVEN.get(name, {}))
    assert tuple(answer.columns) == find(name).columns()
    spelled = read(con, replace(find(name).statement(**GIVEN.get(name, {})), sql=text, params=None))
    assert (spelled.columns, spelled.rows) == (answer.columns, answer.rows)


def test_passed_values_are_inserted(engine, make):
    con = engine(make(tool="it's"), make(tool="$tool"), make())
    text = find("failure_rate").render_with_values("day", tool="it's", since=START, min_n=1)
    assert "tool = 'it''s'" in text
    assert "started_at >= TIMESTAMP '2026-03-01 12:00:00'" in text
    assert con.sql(text).project("day, attempts").fetchall() == [(START.date(), 1)]
    assert con.sql(find("failure_rate").render_with_values(tool="$tool")).project("attempts").fetchall() == [(1,)]
    with pytest.raises(BadParameter, match="^parameter 'min_n' must be"):
        find("failure_rate").render_with_values(min_n=-1)


def test_the_heading_stays_as_it_is():
    head = find("errors").text.partition("SELECT\n")[0]
    assert find("errors").render_with_values(tool="x").startswith(head)


def test_required_parameters_stay_placeholders():
    assert "$id" in find("call").render_with_values()
    assert "$id" not in find("call").render_with_values(id="x").partition("WITH ")[2]


CON = duckdb.connect(":memory:", config={"threads": 1})


@given(st.none() | st.text().filter(lambda text: "\0" not in text and text.isprintable()) | st.integers(0, 2**63 - 1)
       | st.floats(0, allow_infinity=False) | st.datetimes(datetime(1, 1, 1), datetime(9999, 1, 1)))  # fmt: skip
def test_a_literal_is_the_value_and_its_type(value):
    ((found,),) = CON.execute(f"SELECT {literal(value)}").fetchall()
    assert found == value
    assert type(found) is type(value)
