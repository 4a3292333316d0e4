"""Queries of a session have the figures that the same queries have alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tooltrace.analysis import catalogue, find
from tooltrace.errors import QueryCancelled, StoreMissing
from tooltrace.store.base import Cancellation, open_store
from tooltrace.store.result import Statement

REQUIRED = {"id": "call", "call_id": "call", "span_id": "0" * 16}


def statement(name: str) -> Statement:
    query = find(name)
    return query.statement(**{p.name: REQUIRED[p.name] for p in query.header.parameters if p.required})


def rows(result: object) -> list[tuple[object, ...]]:
    """Rows with floats of twelve digits: the order in which threads add differs from run to run."""
    return [
        tuple(float(f"{value:.12g}") if isinstance(value, float) else value for value in row)
        for row in result.rows  # type: ignore[attr-defined]
    ]


def test_every_query_has_the_same_rows(demo_store: Path):
    store = open_store(demo_store)
    names = list(catalogue())
    with store.session(threads=1, memory_mib=512) as session, ThreadPoolExecutor(2) as pool:
        shared = dict(zip(names, pool.map(lambda name: session.query(statement(name)), names), strict=True))
    for name in names:
        alone = store.query(statement(name))
        assert shared[name].columns == alone.columns
        assert [str(kind) for kind in shared[name].types] == [str(kind) for kind in alone.types]
        assert sorted(map(repr, rows(shared[name]))) == sorted(map(repr, rows(alone))), name


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
