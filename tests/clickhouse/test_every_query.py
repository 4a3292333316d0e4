"""Every query answers the same from DuckDB and from ClickHouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from benchmarks.history import make_history
from tests.clickhouse.compare import both, differences
from tests.clickhouse.conftest import Fill, records_of
from tooltrace.analysis import catalogue, find
from tooltrace.store.read.reader import open_reader

ROWS = 200_000
FEW = 8_000
BIG, SMALL, AS_JSON = "big", "small", "small_as_json"


def made(path: Path, rows: int) -> Path:
    make_history(path, rows)
    return path


WITHOUT_ROWS = "span", "refusals", "model_turns", "commands"
"""Queries that find nothing: the history has no spans of other libraries, no refused attempts and no commands of a shell."""


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory, engine: Any, fill: Fill) -> Iterator[duckdb.DuckDBPyConnection]:
    """200,000 attempts of 30 days, in both."""
    store = made(tmp_path_factory.mktemp("big") / "big.duckdb", ROWS)
    fill(BIG, records_of(store))
    with open_reader(store) as con:
        yield con


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, engine: Any, fill: Fill) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same of 8,000, for what is asked in many ways; attributes as maps, and as JSON."""
    store = made(tmp_path_factory.mktemp("small") / "small.duckdb", FEW)
    records = records_of(store)
    fill(SMALL, records)
    fill(AS_JSON, records, "json")
    with open_reader(store) as con:
        yield con


def one(con: duckdb.DuckDBPyConnection, sql: str) -> Any:
    return con.execute(sql).fetchall()[0][0]


def needed(con: duckdb.DuckDBPyConnection, name: str) -> dict[str, Any]:
    """Parameters of each query that give it an interesting result."""
    known = {
        "call": {"id": one(con, "SELECT call_id FROM tool_calls WHERE attempt = 3 ORDER BY span_id LIMIT 1")},
        "ids": {"id": one(con, "SELECT trace_id FROM tool_calls ORDER BY span_id LIMIT 1")},
        "labels": {"call_id": one(con, "SELECT call_id FROM outcomes WHERE span_id IS NULL ORDER BY call_id LIMIT 1")},
        "call_gates": {"call_id": one(con, "SELECT call_id FROM gates ORDER BY call_id LIMIT 1")},
        "around": {"span_id": one(con, "SELECT span_id FROM tool_calls ORDER BY span_id LIMIT 1")},
    }
    middle = one(con, "SELECT min(started_at) + INTERVAL 15 DAY FROM tool_calls")
    known["overview"] = {"since": middle, "before": one(con, "SELECT min(started_at) FROM tool_calls")}
    known["gap"] = known["overview"]
    known["steps"] = {"trace_id": one(con, "SELECT min(trace_id) FROM tool_calls")}
    known["labelling"] = {
        "spans": one(
            con, "SELECT string_agg(span_id, ',' ORDER BY span_id) FROM tool_calls WHERE attempt = 1 AND span_id < '01'"
        )
    }
    known["conversation_calls"] = {"conversation": one(con, "SELECT min(conversation_id) FROM tool_calls")}
    known["version_pairs"] = {"before_version": "1.1", "version": "1.2"}
    known["find"] = {"text": "question 42", "words": "yes"}
    known["compare"] = {"before": f"..{middle.isoformat()}", "after": f"{middle.isoformat()}.."}
    known["incidents"] = {"chance": 1e9}
    known["loops"] = {"k": 2, "window_s": 86400}
    known["changes"] = {"since": one(con, "SELECT min(started_at) + INTERVAL 5 DAY FROM tool_calls")}
    known["burn_rate"] = {"until": one(con, "SELECT max(started_at) FROM tool_calls")}
    takes = {parameter.name for parameter in find(name).header.parameters}
    return {key: value for key, value in known.get(name, {}).items() if key in takes}


@pytest.mark.parametrize("name", catalogue())
def test_both_engines_agree_on_200_000_attempts(big: duckdb.DuckDBPyConnection, engine: Any, name: str) -> None:
    duck, house = both(big, engine, BIG, name, **needed(big, name))
    assert duck or name in WITHOUT_ROWS
    assert not differences(duck, house)[:5]


@pytest.mark.parametrize("name", catalogue())
def test_both_engines_agree_on_json_attributes(small: duckdb.DuckDBPyConnection, engine: Any, name: str) -> None:
    duck, house = both(small, engine, AS_JSON, name, **needed(small, name))
    assert duck or name in WITHOUT_ROWS
    assert not differences(duck, house)[:5]


GROUPED = [name for name, query in catalogue().items() if query.header.by]


@pytest.mark.parametrize("name", GROUPED)
def test_by_everything(small: duckdb.DuckDBPyConnection, engine: Any, name: str) -> None:
    by = ["attributes.region" if one == "attributes" else one for one in find(name).header.by]
    threes = [by[place : place + 3] for place in range(0, len(by), 3)]
    for groups in [by[:1], *threes]:
        duck, house = both(small, engine, SMALL, name, by=groups, **needed(small, name))
        assert not differences(duck, house)[:5], groups


@pytest.mark.parametrize("name", catalogue())
def test_both_engines_agree_on_one_tool_in_a_time_range(
    small: duckdb.DuckDBPyConnection, engine: Any, name: str
) -> None:
    takes = {parameter.name for parameter in find(name).header.parameters}
    since = one(small, "SELECT min(started_at) + INTERVAL 3 DAY FROM tool_calls")
    until = one(small, "SELECT min(started_at) + INTERVAL 9 DAY FROM tool_calls")
    window = {"since": since, "until": until, "tool": "fetch", "min_n": 3}
    if name == "compare":  # its windows have their own start
        takes -= {"since", "until"}
    given = {**needed(small, name), **{key: value for key, value in window.items() if key in takes}}
    duck, house = both(small, engine, SMALL, name, **given)
    assert not differences(duck, house)[:5]


ORDERS = {
    "attempts": ("message",),
    "conversations": ("conversation", "agent", "correct", "tools", "last_error"),
}


@pytest.mark.parametrize(("name", "column"), [(name, column) for name in ORDERS for column in ORDERS[name]])
def test_both_engines_agree_on_the_order_by_texts(
    small: duckdb.DuckDBPyConnection, engine: Any, name: str, column: str
) -> None:
    for sort in (column, f"-{column}"):
        duck, house = both(small, engine, SMALL, name, sort=sort, limit=200)
        assert duck
        assert not differences(duck, house)[:5], sort
