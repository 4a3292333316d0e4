"""Loops, and the footprint of results, are the same in both engines where there are some."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clickhouse.compare import both, differences
from tests.clickhouse.conftest import Fill
from tests.queries.loop_histories import honest, planted, records
from tests.stores import create_empty_store
from tooltrace.store.journal import Journal
from tooltrace.store.journal_format import encode
from tooltrace.store.paths import StorePaths
from tooltrace.store.reader import open_reader

LOOPS = "loops"


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory, fill: Fill) -> Any:
    path = tmp_path_factory.mktemp(LOOPS) / "loops.duckdb"
    made = [*records(planted(2)), *records(honest(1))]
    journal = Journal(StorePaths.of(path).journal)
    journal.write(b"".join(map(encode, made)))
    journal.close()
    create_empty_store(path)
    fill(LOOPS, made)
    with open_reader(path) as con:
        yield con


@pytest.mark.parametrize("given", [{}, {"k": 4}, {"window_s": 60}, {"tool": "fetch"}, {"until": "2026-03-01T12:02:00"}])
def test_both_engines_find_the_same_loops(con: Any, engine: Any, given: dict[str, Any]) -> None:
    duck, house = both(con, engine, LOOPS, "loops", **given)
    assert duck
    assert not differences(duck, house)[:5]


@pytest.mark.parametrize("given", [{}, {"by": ["agent"]}, {"by": ["conversation"]}, {"cut": 5}, {"tool": "job_status"}])
def test_both_engines_count_the_same_footprint(con: Any, engine: Any, given: dict[str, Any]) -> None:
    duck, house = both(con, engine, LOOPS, "footprint", **given)
    assert duck
    assert not differences(duck, house)[:5]
