"""A result is what a DuckDB relation is, whether an engine holds it or Python does."""

from __future__ import annotations

import copy
from datetime import datetime
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.analysis import find
from tooltrace.store.result import QueryResult, ResultColumn, Statement

COLUMNS = [("tool", "VARCHAR"), ("n", "BIGINT"), ("rate", "DOUBLE"), ("at", "TIMESTAMP")]
rows = st.lists(
    st.tuples(
        st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(allow_nan=False),
        st.none() | st.datetimes(datetime(1, 1, 1), datetime(9999, 1, 1)),
    ),
    max_size=20,
)


@given(rows)
def test_rows_and_a_relation_over_them_are_the_same(made: list[tuple[Any, ...]]) -> None:
    result = QueryResult.of_rows(COLUMNS, made, Statement(sql=""))
    held = QueryResult.of_relation(result.relation, Statement(sql=""))
    assert held.rows == held.fetchall() == result.rows == result.fetchall() == made
    assert held.columns == result.columns
    assert len(held) == len(result) == len(made)
    assert held.fields == result.fields
    assert list(map(str, held.types)) == list(map(str, result.types))
    for most in (0, 1, len(made)):
        cut = "rows" if len(made) > most else None
        assert [(each.rows, each.cut) for each in (held.limited(most), result.limited(most))] == [
            (made[:most], cut)
        ] * 2


@pytest.fixture(params=["rows", "relation"])
def result(request: pytest.FixtureRequest) -> QueryResult:
    made = [("search", 3, 0.5, None), ("fetch", 1, None, datetime(2026, 3, 1))]
    found = QueryResult.of_rows(COLUMNS, made, Statement(sql="", groups=("tool",)))
    if request.param == "rows":
        return found
    return QueryResult.of_relation(found.relation, Statement(sql="", groups=("tool",)))


def test_a_result_has_the_methods_of_a_relation(result: QueryResult) -> None:
    assert result.project("tool, n + 1").fetchall() == [("search", 4), ("fetch", 2)]
    assert result.filter("n > 1").order("n").fetchall() == [("search", 3, 0.5, None)]
    assert [column[0] for column in result.description] == result.columns
    assert result.shape == (2, 4)
    assert result["n"].fetchall() == [(3,), (1,)]
    assert "search" in str(result)
    assert "search" in repr(result)
    assert isinstance(result.relation, duckdb.DuckDBPyRelation)
    with pytest.raises(AttributeError):
        _ = result.no_such_thing
    assert not hasattr(result, "_no_such_thing")
    assert copy.copy(result).columns == result.columns


def test_frames_are_there(result: QueryResult) -> None:
    pytest.importorskip("pandas")
    assert list(result.df().columns) == result.columns


def test_parts_of_it_are_results(result: QueryResult) -> None:
    assert result.dicts()[0] == {"tool": "search", "n": 3, "rate": 0.5, "at": None}
    assert result.values("n") == [3, 1]
    part = result.with_columns_at([0, 2])
    assert (part.columns, part.groups, part.rows) == (["tool", "rate"], 1, [("search", 0.5), ("fetch", None)])
    assert result.with_columns_at([1]).groups == 0
    assert result.detached().rows == result.rows


def test_columns_have_the_units_of_the_query_and_else_of_their_type() -> None:
    query = find("failure_rate")
    types = ["DATE", *("BIGINT" for _ in query.value_columns(["day"]))]
    found = QueryResult.of_rows(list(zip(query.columns(["day"]), types, strict=True)), [], query.statement(["day"]))
    assert found.fields == (ResultColumn(name="day", unit="time", meaning=""), *query.value_columns(["day"]))
    kinds = [("a", "JSON"), ("b", "TIMESTAMP WITH TIME ZONE"), ("c", "BIGINT")]
    assert [each.unit for each in QueryResult.of_rows(kinds, [], Statement(sql="")).fields] == ["json", "time", "text"]


def test_times_with_a_zone_are_naive_utc_in_rows() -> None:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    relation = con.sql("SELECT TIMESTAMPTZ '2026-01-02 03:04:05+09' AS at")
    assert QueryResult.of_relation(relation, Statement(sql="")).rows == [(datetime(2026, 1, 1, 18, 4, 5),)]
