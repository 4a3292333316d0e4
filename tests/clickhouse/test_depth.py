"""Recursive queries with more steps than ClickHouse allows by default."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.clickhouse.compare import both, differences
from tests.clickhouse.conftest import Fill
from tests.clickhouse.test_edges import duck
from tooltrace.core.records import Record, ToolCall

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
TRIPS = 1_100


def failure(place: int) -> ToolCall:
    return ToolCall(
        tool="search",
        call_id=f"call_{place}",
        trace_id=f"{place + 1:032x}",
        span_id=f"{place + 1:016x}",
        started_at=START + timedelta(seconds=3 * place),
        duration_ms=1.0,
        status="error",
        ending="raised",
        code="TIMEOUT",
    )


def test_a_breaker_that_opens_more_than_a_thousand_times(tmp_path: Path, engine: Any, fill: Fill) -> None:
    records: list[Record] = [failure(place) for place in range(TRIPS)]
    fill("depth", records)
    with duck(tmp_path / "t.duckdb", records) as con:
        mine, other = both(con, engine, "depth", "breaker", failure_threshold=1, recovery_timeout=1)
    assert [row[3] for row in mine] == [TRIPS]
    assert differences(mine, other) == []
