"""Queries of a session have the figures that the same queries have alone."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from tests.store.conftest import make_call
from tests.stores import create_empty_store, write_records
from tooltrace.analysis import catalogue, find
from tooltrace.errors import QueryCancelled, QueryError, StoreMissing
from tooltrace.store.base import Cancellation, open_store
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.read import session as session_module
from tooltrace.store.result import Statement

REQUIRED = {
    "id": "call",
    "call_id": "call",
    "span_id": "0" * 16,
    "text": "e",
    "conversation": "c",
    "before_version": "1.0",
    "version": "1.1",
    "after": "7d",
}
"""A value for each parameter that a query requires."""


def statement(name: str) -> Statement:
    query = find(name)
    return query.statement(**{p.name: REQUIRED[p.name] for p in query.header.parameters if p.required})


def ordered(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Rows in an order that does not depend on the last digits of floats: threads add in any order."""
    return sorted(rows, key=lambda row: [f"{each:.6g}" if isinstance(each, float) else repr(each) for each in row])


def parsed(cell: object) -> object:
    with suppress(TypeError, json.JSONDecodeError):  # other text, or JSON that was cut
        return json.loads(cell)  # type: ignore[arg-type]
    return cell


def approximate(cell: object) -> object:
    """Return what equals ``cell`` but for the last digits: rel 1e-9; within JSON, where six digits stay, abs 2e-6."""
    if isinstance(cell, dict):
        return pytest.approx(cell, abs=2e-6)
    return pytest.approx(cell, rel=1e-9, nan_ok=True) if isinstance(cell, float) else cell


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.simulations)])
def test_every_query_has_the_same_rows(demo_store: Path, every: int):
    """Each query of the catalogue, or each fifth and the one that draws from a bootstrap."""
    store = open_store(demo_store)
    statements = {name: statement(name) for name in catalogue()}
    names = [name for number, name in enumerate(statements) if number % every == 0 or name == "calibration"]
    with store.session(threads=1, memory_mib=512) as session, ThreadPoolExecutor(2) as pool:
        shared = dict(zip(names, pool.map(lambda name: session.query(statements[name]), names), strict=True))
    for name in names:
        alone = store.query(statements[name])
        assert shared[name].columns == alone.columns
        assert shared[name].types == alone.types
        assert len(shared[name].rows) == len(alone.rows), name
        for row, expected in zip(ordered(shared[name].rows), ordered(alone.rows), strict=True):
            assert [parsed(each) for each in row] == [approximate(parsed(each)) for each in expected], name


@pytest.mark.parametrize("by", [("tool",), ("version",), ()])
def test_some_columns_have_the_values_that_they_have_beside_others(demo_store: Path, by: tuple[str, ...]) -> None:
    query, store = find("timeline"), open_store(demo_store)
    only = (*query.groups(by), "started", "attempts", "failures")
    with store.session() as session:
        some = session.query(query.statement(by, only=only))
        every = session.query(query.statement(by))
    assert some.columns == list(only)
    assert some.groups == len(by)
    assert [column.meaning for column in some.fields] == [
        every.fields[every.columns.index(name)].meaning for name in only
    ]
    assert ordered(some.rows) == ordered(every.select(*only).rows)
    assert some.rows == store.query(query.statement(by, only=only)).rows


def test_a_session_on_no_store_is_refused(tmp_path: Path):
    with pytest.raises(StoreMissing), open_store(tmp_path / "none.duckdb").session():
        pass


def test_a_query_of_a_session_can_be_cancelled_alone(demo_store: Path):
    cancelled = Cancellation()
    cancelled.cancel()
    with open_store(demo_store).session() as session:
        with pytest.raises(QueryCancelled):
            session.query(statement("failure_rate"), cancellation=cancelled)
        assert session.query(statement("failure_rate")).rows


IN_MEMORY = Statement(
    sql="SELECT count(*) FROM duckdb_views() WHERE database_name = 'memory' AND NOT internal", name="views"
)
FIGURES = Statement(sql="SELECT count(*), count(DISTINCT call_id), wilson_low(1, 2) FROM tool_calls", name="figures")


def test_a_session_makes_views_only_where_the_database_has_older_ones(tmp_path: Path) -> None:
    paths = StorePaths.of(create_empty_store(tmp_path / "t.duckdb"))
    write_records(paths, make_call(1), make_call(2))
    fold(paths)
    with open_store(paths.database).session() as session:
        figures = session.query(FIGURES).rows
        assert figures[0][:2] == (2, 2)
        assert session.query(IN_MEMORY).rows == [(0,)]
    with duckdb.connect(paths.database) as con:
        con.execute("UPDATE meta SET value = 'of an earlier version' WHERE key = 'views'")
    with open_store(paths.database).session() as session:
        assert session.query(FIGURES).rows == figures
        assert session.query(IN_MEMORY).rows != [(0,)]


MEDIAN = Statement(sql="SELECT quantile_cont(hash(range) / 7, 0.5) AS median FROM range(5_000_000)")
"""Its values stay in memory: 40 MB."""


def test_a_query_that_cannot_write_to_temporary_files_gets_more_memory(demo_store: Path):
    limit = Statement(sql="SELECT current_setting('memory_limit') AS memory")
    with open_store(demo_store).session(threads=1, memory_mib=32) as session:
        usual = session.query(limit).rows
        (median,) = session.query(MEDIAN).values("median")
        assert session.query(limit).rows == usual, "the next query has the limit of the session again"
    assert median > 0


def test_a_query_that_needs_even_more_memory_fails(demo_store: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(session_module, "MORE_MIB", 33)
    with (
        open_store(demo_store).session(threads=1, memory_mib=32) as session,
        pytest.raises(QueryError, match="needs more memory"),
    ):
        session.query(MEDIAN)
