"""Attempts with equal starts and clocks that step back, in ClickHouse: the same last attempts as in DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.clickhouse.compare import address
from tests.clickhouse.conftest import Fill
from tests.clickhouse.test_edges import duck
from tests.queries.last_attempts import CALLS, FAILED, LAST_SPANS, LATER, history, require_same_failed_calls
from tooltrace.analysis import query_store
from tooltrace.core.records import Outcome, Record


def test_all_queries_count_the_same_failed_calls(engine: Any, fill: Fill) -> None:
    records: list[Record] = [*history()]
    fill("last_attempts", records)

    def query(name: str, **given: Any) -> list[dict[str, Any]]:
        return query_store(address(engine, "last_attempts"), name, **given).dicts()

    require_same_failed_calls(query)


def test_the_views_name_the_same_attempts(tmp_path: Path, engine: Any, fill: Fill) -> None:
    labels = [Outcome(call_id=name, correct=True, labeler="ann", labeled_at=LATER) for name in CALLS]
    records: list[Record] = [*history(), *labels]
    fill("last_attempts_of_views", records)
    calls = "SELECT call_id, status, recovered, last_span_id FROM {}calls ORDER BY call_id"
    judged = "SELECT span_id FROM {}judged ORDER BY span_id"
    with duck(tmp_path / "t.duckdb", records) as con:
        mine = [con.execute(sql.format("")).fetchall() for sql in (calls, judged)]
    other = [engine.query(sql.format("last_attempts_of_views.")).result_rows for sql in (calls, judged)]
    assert [[tuple(row) for row in rows] for rows in other] == mine
    assert {row[0] for row in mine[0] if row[1] == "error"} == FAILED
    assert {span for (span,) in mine[1]} == LAST_SPANS


def test_labels_of_one_microsecond_are_judged_alike(tmp_path: Path, engine: Any, fill: Fill) -> None:
    attempts = history()
    labels = [
        Outcome(span_id=attempt.span_id, correct=number % 2 == place, labeler="ann", labeled_at=LATER)
        for number, attempt in enumerate(attempts)
        for place in (0, 1)
    ]
    records: list[Record] = [*attempts, *labels]
    fill("labels_of_one_microsecond", records)
    sql = "SELECT span_id, correct, score FROM {}judged ORDER BY span_id"
    with duck(tmp_path / "t.duckdb", records) as con:
        mine = con.execute(sql.format("")).fetchall()
    other = engine.query(sql.format("labels_of_one_microsecond.")).result_rows
    assert [tuple(row) for row in other] == mine
    assert {row[1:] for row in mine} == {(False, 0.0)}
