"""The past calls of the demo have the problems that they are made to show, and each is found by its question."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import tooltrace as tt
from tests.conftest import recording_into
from tooltrace.demo.history import record_history

NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with recording_into(tmp_path_factory.mktemp("history") / "demo.duckdb") as store:
        calls = record_history(NOW, days=10, seed=7)
        tt.flush()
        with tt.connect(store) as db:
            assert db.sql("SELECT count(DISTINCT call_id) FROM tool_calls").fetchall() == [(calls,)]
            assert db.sql("SELECT count(*) FROM losses").fetchall() == [(0,)]
        yield store


def by_tool(history: Path, query: tt.QueryName) -> dict[str, dict[str, object]]:
    return {row["tool"]: row for row in tt.query(query, store=history, since=NOW - timedelta(days=11)).dicts()}


def test_it_lies_in_the_days_before(history: Path) -> None:
    with tt.connect(history) as db:
        ((first, last),) = db.sql("SELECT min(started_at), max(started_at) FROM tool_calls").fetchall()
    now = NOW.replace(tzinfo=None)
    assert now - timedelta(days=11) < first < now - timedelta(days=9)
    assert now - timedelta(days=2) < last < now


def test_one_tool_broke_with_a_version_two_days_ago(history: Path) -> None:
    changed = next(
        row for row in tt.query("drift", store=history, since=NOW - timedelta(days=11)).dicts() if row["worse"]
    )
    assert (changed["tool"], changed["statistic"]) == ("find_order", "failure_rate")
    assert (
        next(row for row in tt.query("states", store=history).dicts() if row["tool"] == "find_order")["version_since"]
        == "3.1.0"
    )


def test_the_other_problems_are_found_by_their_questions(history: Path) -> None:
    rates = by_tool(history, "failure_rate")
    assert rates["get_weather"]["low"] > 0.1
    assert rates["render_report"]["cancelled"] > 5
    assert rates["get_customer"]["failures"] == rates["calculate_refund"]["failures"] == 0
    retried = by_tool(history, "retries")["send_email"]
    assert (retried["retried"] > 20, retried["recovered"]) == (True, 0)
    calibrated = by_tool(history, "calibration")["classify_ticket"]
    assert calibrated["miscalibrated"]
    assert calibrated["gap_low"] > 0.1
    assert {row["tools"] for row in tt.query("loops", store=history, since=NOW - timedelta(days=11)).dicts()} == {
        "list_pages"
    }
