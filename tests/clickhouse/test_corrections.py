"""Corrections in a ClickHouse store: the views apply them as a local store does, over both forms of the tables."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

import tooltrace as tt
from tests.clickhouse.compare import address, both, differences
from tests.clickhouse.conftest import Fill
from tests.clickhouse.test_edges import NEEDED, START, attempts, duck, naive
from tooltrace.analysis import catalogue
from tooltrace.cli import cli
from tooltrace.clickhouse import materialized, views
from tooltrace.clickhouse.corrections_sql import with_span_ids
from tooltrace.clickhouse.query import connect
from tooltrace.clickhouse.tables import Tables
from tooltrace.core.records import Correction, Record, ToolCall
from tooltrace.errors import StoreMissing
from tooltrace.redact.snapshot import Json
from tooltrace.store.base import open_store

READING = (
    "SELECT span_id, status, code, rule, rule_grade, status_recorded, reading_recorded FROM attempts ORDER BY span_id"
)


def make_tables(engine: Any, tables: Tables, database: str) -> None:
    for statement in [
        *materialized.table_statements(tables, database),
        *views.statements(tables, database, materialized=True),
    ]:
        engine.command(statement)


def corrected_history(rng: random.Random, number: int) -> list[Record]:
    """Attempts of which anything may be missing, and corrections of all kinds, several of one attempt."""
    found = attempts(rng, number)
    calls = [record for record in found if isinstance(record, ToolCall)]
    for place in range(number // 2):
        call = rng.choice(calls)
        status = rng.choice([None, "success", "partial", "error"])
        found.append(
            Correction(
                **({"call_id": call.call_id} if rng.random() < 0.6 else {"span_id": call.span_id}),
                status=status,
                code=rng.choice([None, "TIMEOUT", "it's"]) if status in ("partial", "error") else None,
                rule=rng.choice([None, "flags"]),
                rule_grade=rng.choice([None, "heuristic", "certain"]),
                labeler=rng.choice(["ann", "bob"]),
                labeler_kind=rng.choice(["person", "agent", "rule"]),
                corrected_at=call.started_at + timedelta(microseconds=rng.choice([-5_000_000, -1, 0, 1, 2_000_000]) + place),
            )
        )  # fmt: skip
    return found


@pytest.fixture(scope="module", params=["map", "json", "tables"])
def corrected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Any, fill: Fill) -> Iterator[Any]:  # fmt: skip
    """The database of a corrected history, and a connection to the same history in a local store."""
    records = corrected_history(random.Random(5), 300)
    database = f"corrected_{request.param}"
    tables = fill(database, records, "json" if request.param == "json" else "map")
    if request.param == "tables":
        make_tables(engine, tables, database)
    with duck(tmp_path_factory.mktemp("corrected") / "c.duckdb", records) as con:
        yield database, con


def test_each_attempt_has_the_reading_that_a_local_store_gives_it(corrected: Any, engine: Any) -> None:
    database, con = corrected
    mine = con.execute(READING).fetchall()
    with connect(address(engine, database)) as session:
        assert not differences(mine, session.sql(READING).fetchall())[:5]
    assert len({row[1:3] for row in mine if row[5]}) > 5, "many attempts are corrected"
    assert any(row[3] == "flags" for row in mine)


@pytest.mark.parametrize("name", catalogue())
def test_every_query_counts_the_corrected_readings(corrected: Any, engine: Any, name: str) -> None:
    database, con = corrected
    if database == "corrected_json":
        pytest.skip("the attempts of this store are compared above; the queries read the same views")
    given = {key: naive(value) for key, value in NEEDED.get(name, {}).items()}
    assert not differences(*both(con, engine, database, name, **given))[:5]


def spread(days: int) -> list[ToolCall]:
    return [
        ToolCall(
            tool="t", call_id=f"c{day}", trace_id="1" * 32, span_id=f"{day + 1:016x}", started_at=START + timedelta(days=day),
            status="error", code="TIMEOUT", ending="returned",
        )
        for day in range(days)
    ]  # fmt: skip


def reads(engine: Any, sql: str) -> list[str]:
    """The part of the plan of ``sql`` that reads the table of attempts: columns, conditions, parts and granules."""
    plan = [row[0].strip(" │└─") for row in engine.query(f"EXPLAIN indexes = 1, header = 1 {sql}").result_rows]
    return plan[[line.startswith("ReadFrom") for line in plan].index(True) :]


@pytest.mark.parametrize("form", ["views", "tables"])
def test_a_filter_on_the_day_reads_its_days_with_corrections_and_without(engine: Any, fill: Fill, form: str) -> None:
    database = f"read_{form}"
    tables = fill(database, list(spread(20)))
    if form == "tables":
        make_tables(engine, tables, database)
    count = (
        f"SELECT count() FROM {database}.{{}} WHERE status = 'error' "
        f"AND started_at >= toDateTime64('{START + timedelta(days=18):%Y-%m-%d %H:%M:%S}', 6, 'UTC')"
    )
    without = reads(engine, count.format("attempts"))
    assert without == reads(engine, count.format("recorded_attempts")), "without corrections, nothing more is read"
    assert "Parts: 2/20" in without
    open_store(address(engine, database).url).write(
        [Correction(span_id=f"{day + 1:016x}", status="success", corrected_at=START) for day in (0, 5, 19)]
    )
    assert "Parts: 2/20" in reads(engine, count.format("attempts"))
    assert engine.query(count.format("attempts")).result_rows == [(1,)], "a filter sees the corrected status"


@pytest.mark.parametrize("variant", ["map", "json"])
def test_a_call_is_corrected_through_a_collector_whether_it_has_an_id_or_that_of_its_span(
    engine: Any, fill: Fill, variant: str
) -> None:
    database = f"collected_{variant}"
    calls = spread(3)
    calls[2] = replace(calls[2], call_id=calls[2].span_id)
    fill(database, [*calls], variant)
    corrections: list[Record] = [
        Correction(call_id=call.call_id, status="success", corrected_at=START + timedelta(days=30))
        for call in calls[1:]
    ]
    fill(f"{database}_later", [*calls, *corrections], variant)
    engine.command(f"INSERT INTO {database}.otel_logs SELECT * FROM {database}_later.otel_logs")
    for name in (database, f"{database}_later"):
        found = engine.query(
            f"SELECT call_id FROM {name}.attempts WHERE status = 'success' ORDER BY started_at"
        ).result_rows
        assert found == [(call.call_id,) for call in calls[1:]], "before the views exist, and after"


def test_a_correction_that_is_written_names_the_attempt_that_queries_would_find(tmp_path: Path) -> None:
    records = corrected_history(random.Random(8), 300)
    with duck(tmp_path / "calls.duckdb", records) as con:
        expected = con.execute(READING).fetchall()
        named = with_span_ids(records, lambda sql, params: con.execute(sql, dict(params)).fetchall())
    corrections = [record for record in named if isinstance(record, Correction)]
    assert sum(record.call_id is not None and record.span_id is not None for record in corrections) > 50
    with duck(tmp_path / "spans.duckdb", named) as con:
        assert not differences(expected, con.execute(READING).fetchall())[:5]


@pytest.fixture
def failed() -> ToolCall:
    return ToolCall(
        tool="read", call_id="c1", trace_id="a" * 32, span_id=f"{1:016x}", started_at=START, status="error",
        code="TIMEOUT", ending="returned", rule="error_text", rule_grade="heuristic",
    )  # fmt: skip


RECORDED = '{"code":"TIMEOUT","rule":"error_text","rule_grade":"heuristic"}'


def test_a_command_corrects_a_call_and_restores_its_reading(engine: Any, fill: Fill, failed: ToolCall) -> None:
    fill("commanded", [failed])
    where = address(engine, "commanded").url

    def command(*words: str) -> Any:
        done = CliRunner().invoke(cli, ["correct", *words, "--store", where], catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
        return done

    def reading() -> list[tuple[Any, ...]]:
        with tt.connect(where) as db:
            return db.execute(READING).fetchall()

    assert "is corrected to success by ann: inserted into" in command("c1", "--status", "success", "--labeler", "ann").stdout  # fmt: skip
    assert reading() == [(failed.span_id, "success", None, "correction", "certain", "error", RECORDED)]
    with tt.connect(where) as db:
        assert db.execute("SELECT call_id, span_id FROM corrections").fetchall() == [("c1", failed.span_id)]
    assert tt.query("failure_rate", store=where).select("failures").rows == [(0,)]
    with tt.connect(where) as db:
        assert db.execute("SELECT count(*) FROM outcomes").fetchall() == [(0,)], "a correction is not a label"
    command(failed.span_id, "--span", "--status", "recorded")
    assert reading() == [(failed.span_id, "error", "TIMEOUT", "error_text", "heuristic", None, None)]
    assert "No call later has been recorded" in command("later", "--status", "success").stderr


def test_a_span_that_arrives_corrected_is_restored_to_its_recorded_reading(
    engine: Any, fill: Fill, failed: ToolCall
) -> None:
    arrived = replace(
        failed, status="success", code=None, rule="correction", rule_grade="certain", status_recorded="error",
        reading_recorded=Json(RECORDED),
    )  # fmt: skip
    fill("arrived", [arrived])
    store = open_store(address(engine, "arrived").url)
    with store.connect() as db:
        assert db.sql(READING).fetchall()[0][1:] == ("success", None, "correction", "certain", "error", RECORDED)
    store.write([Correction(span_id=failed.span_id, status=None, corrected_at=START)])
    with store.connect() as db:
        assert db.sql(READING).fetchall()[0][1:] == ("error", "TIMEOUT", "error_text", "heuristic", None, None)


def test_views_of_an_older_version_refuse_a_correction(engine: Any, fill: Fill, failed: ToolCall) -> None:
    fill("later", [failed])
    engine.command("DROP VIEW later.corrections_in_force")
    with pytest.raises(StoreMissing, match="run tooltrace clickhouse init --apply"):
        open_store(address(engine, "later").url).write([Correction(call_id="c1", status="success", corrected_at=START)])
    assert engine.query("SELECT count() FROM later.otel_logs").result_rows == [(0,)]


def test_results_are_read_again_in_pages(engine: Any, fill: Fill, failed: ToolCall, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr("tooltrace.clickhouse.store._PAGE_ROWS", 2)
    read = replace(failed, status="success", code=None, rule="plain", rule_grade="unread")
    calls = [
        replace(read, call_id=f"c{n}", span_id=f"{n:016x}", started_at=START + timedelta(hours=5 * (n // 3)),
                result=Json('{"ok":false,"error":"not_in_channel"}' if n % 2 else "[1]"))
        for n in range(9)
    ]  # fmt: skip
    fill("reread", [*calls, replace(failed, call_id="h", span_id="f" * 16), Correction(call_id="c1", status="partial", corrected_at=START + timedelta(days=1))])  # fmt: skip
    where = address(engine, "reread").url

    def reread(mode: str, *more: str) -> str:
        done = CliRunner().invoke(cli, ["reread", "--rules", mode, "--store", where, *more], catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
        return done.stdout.splitlines()[-1]

    def statuses() -> list[tuple[Any, ...]]:
        return tt.query("recent", store=where).select("call_id", "status", "code").rows

    before = statuses()
    assert (
        reread("current", "--dry-run")
        == "9 attempts read again, 3 would change; 1 left as they were: result not stored."
    )
    assert statuses() == before
    assert reread("current").startswith("9 attempts read again, 3 changed")
    assert {call for call, _status, code in statuses() if code == "not_in_channel"} == {"c3", "c5", "c7"}
    assert ("c1", "partial", None) in statuses(), "a person's correction stays in force"
    assert reread("current").startswith("9 attempts read again, 0 changed")
    assert reread("certain", "--tool", "read", "--since", "2026-03-01") == "9 attempts read again, 1 changed."
    assert ("h", "success", None) in statuses()
