"""Every ``.sql`` file is in the catalogue, answers with the columns of its heading, and has a test of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.queries.answers import run
from tests.queries.test_every_by import ANALYSES
from tooltrace import assets
from tooltrace.analysis import catalogue, find, query_store
from tooltrace.errors import BadParameter, StoreMissing, UnknownQuery

FILES = sorted(assets.path("queries").glob("*.sql"))
GIVEN = {
    "call": {"id": "x"},
    "ids": {"id": "x"},
    "compare": {"before": "version:1", "after": "version:2"},
    "labels": {"call_id": "x"},
    "call_gates": {"call_id": "x"},
    "find": {"text": "x"},
    "conversation_calls": {"conversation": "x"},
    "version_pairs": {"before_version": "1", "version": "2"},
}


def test_every_file_is_in_the_catalog_with_a_question():
    assert [path.stem for path in FILES] == list(catalogue())
    assert all(query.question.endswith("?") for query in catalogue().values())


def test_every_file_has_a_test_of_its_own():
    assert {f"test_{path.name}"[:-3] + "py" for path in FILES} <= {
        path.name for path in Path(__file__).parent.iterdir()
    }


@pytest.mark.parametrize("name", [path.stem for path in FILES])
def test_the_heading_names_the_columns_of_the_answer_for_every_grouping(name, engine, make):
    con, query = engine(make()), find(name)
    single = [[dimension] for dimension in query.header.by if dimension != "attributes"]
    several = [[], ["attributes.region", *query.header.default_by]] if single else []
    if name in ANALYSES:  # test_every_by has their answers by each dimension
        single, several = [], several[:1]
    for by in (*single, *several):
        answer = run(con, name, by=by, **GIVEN.get(name, {}))
        assert tuple(answer.columns) == query.columns(by)


@pytest.mark.parametrize("name", [path.stem for path in FILES])
def test_every_query_gives_an_empty_result_in_an_empty_store(name, engine):
    answer = run(engine(), name, **GIVEN.get(name, {}))
    assert (answer.columns, answer.rows) == ([*find(name).columns()], [])


@pytest.mark.simulations
@pytest.mark.parametrize("name", [path.stem for path in FILES])
@pytest.mark.parametrize("large", [2**31 - 1, 2**63 - 1])
def test_no_query_fails_for_a_large_number_that_it_accepts(name, large, engine, make):
    """The engine computes with 32 bits if a value has no more: an hour in microseconds has more."""
    query = find(name)
    con = engine(*(make(status="error", call_id=f"call {number}") for number in range(6)))
    for parameter in query.header.parameters:
        if parameter.type in ("integer", "positive"):
            rows = run(con, name, **GIVEN.get(name, {}), **{parameter.name: large}).fetchall()
            assert all(len(row) == len(query.columns()) for row in rows), parameter.name


def test_everything_in_one_group_is_one_row_even_where_there_is_nothing(engine):
    (row,) = run(engine(), "failure_rate", by=[]).project("attempts, rate, low, high, too_few").fetchall()
    assert row == (0, None, None, None, True)


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UnknownQuery, match="no query 'failure_rat': did you mean 'failure_rate'"):
        find("failure_rat")
    with pytest.raises(UnknownQuery, match=r"the queries are \w+, \w+"):
        find("zzzzzz")


def test_an_unknown_parameter_is_named(engine):
    with pytest.raises(
        BadParameter,
        match="query recent has no parameter 'min_n': its parameters are since, until, tool, status, limit",
    ):
        run(engine(), "recent", min_n=3)
    with pytest.raises(BadParameter, match="parameter 'id' is required"):
        run(engine(), "call")


@pytest.mark.parametrize("name", ["failure_rate", "errors", "latency", "retries"])
def test_a_time_range_includes_its_start_and_excludes_its_end(name, engine, make):
    con = engine(make(status="error", code="A"))
    at = "2026-03-01T12:00:00"
    assert len(run(con, name, since=at).fetchall()) == 1
    assert run(con, name, until=at).fetchall() == []
    assert run(con, name, since="2026-03-01T13:00:00+01:00").fetchall() == run(con, name).fetchall()
    assert run(con, name, tool="other").fetchall() == []


def test_query_store_releases_the_store(stored, make):
    store = stored(make(status="error"), make())
    first = query_store(store, "failure_rate")
    second = query_store(store, "failure_rate")
    assert first.rows == second.rows
    assert first.select("attempts", "failures").rows == [(2, 1)]


def test_query_store_keeps_the_order_of_rows(stored, make):
    store = stored(*(make(tool=f"t{n}", duration_ms=float(n)) for n in range(50)))
    slowest = [row[0] for row in query_store(store, "latency", by="tool").rows]
    assert slowest == [f"t{n}" for n in range(49, -1, -1)]


def test_query_store_raises_for_a_missing_store(tmp_path):
    with pytest.raises(StoreMissing, match="nowhere.duckdb"):
        query_store(tmp_path / "nowhere.duckdb", "errors")
