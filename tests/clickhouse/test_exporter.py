"""What the collector's genuine exporter writes into ClickHouse is read as it was recorded, and is what we write ourselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clickhouse.compare import address, both, differences
from tests.clickhouse.conftest import exporters_tables, records_of
from tests.collector.conftest import otelcol  # noqa: F401
from tests.collector.harness import Collector, free_port, until
from tests.collector.test_clickhouse import alive, asking
from tooltrace.clickhouse import views
from tooltrace.clickhouse.asking import connect
from tooltrace.clickhouse.backfill import Backfill
from tooltrace.clickhouse.client import House
from tooltrace.exporters.otlp_forms import Forms
from tooltrace.queries import catalogue, find
from tooltrace.store.lease import reading

CALLS = 300
OF_THE_PROCESS = "service, host, pid"
"""Which an application's own SDK says of itself, or does not."""
SERVER = Path(__file__).parents[1] / "collector" / "clickhouse_engine.py"
DEMO = SERVER.with_name("demo_through_sdk.py")


@pytest.fixture(scope="module")
def captured(otelcol: Path, tmp_path_factory: pytest.TempPathFactory, engine: Any) -> Path:  # noqa: F811
    """A run of the demo in a store; and in the database ``genuine``, in the exporter's tables and as it sent it."""
    folder, port = tmp_path_factory.mktemp("genuine"), free_port()
    server = subprocess.Popen([sys.executable, str(SERVER), str(port), str(folder / "engine")])
    plain = ["yaml:exporters::clickhouse::compress: none"]
    collector = Collector(otelcol, "to-clickhouse.yaml", folder, {"CLICKHOUSE": f"http://127.0.0.1:{port}"}, plain)
    ask, store = asking(port), folder / "t.duckdb"
    try:
        until(lambda: alive(ask), 60, "the engine answers")
        collector.start()
        subprocess.run(
            [sys.executable, str(DEMO), str(CALLS), str(store)], env=collector.environment("grpc"), check=True
        )
        collector.stop()
        made = [ask(f"SHOW CREATE TABLE otel.{table}")[0]["statement"] for table in ("otel_traces", "otel_logs")]
    finally:
        collector.kill()
        server.kill()
        server.wait()
    engine.command("CREATE DATABASE genuine")
    for statement in made:
        engine.command(statement.replace("otel.otel_", "genuine.otel_"))
    for file in sorted((folder / "engine" / "inserts").glob("*.sql")):
        into = file.read_text().replace("`", "").replace('"', "")
        if "otel.otel_traces " in into or "otel.otel_logs " in into:
            into = into.replace("otel.otel_", "genuine.otel_").rpartition("FORMAT Native")[0]
            engine.command(f"{into} FROM INFILE '{file.with_suffix('.native')}' FORMAT Native")
    views.apply(engine, House(address(engine, "genuine")).tables, "genuine")
    return store


@pytest.mark.parametrize("table", ["tool_calls", "outcomes", "gates", "messages"])
def test_tables_are_those_of_the_store(captured: Path, engine: Any, table: str) -> None:
    with reading(captured) as con, connect(address(engine, "genuine")) as lease:
        left_out = f"EXCLUDE ({OF_THE_PROCESS})" if table == "tool_calls" else ""
        asked = f"SELECT * {left_out} FROM {table} ORDER BY ALL"
        mine, theirs = con.sql(asked), lease.sql(asked)
        assert mine.columns == theirs.columns
        key = [mine.columns.index(name) for name in ("span_id", "call_id", "labeled_at") if name in mine.columns]
        order = lambda row: [str(row[at]) for at in key]  # noqa: E731
        found = sorted(mine.fetchall(), key=order), sorted(theirs.fetchall(), key=order)
        assert found[0] or table != "tool_calls"
        assert not differences(*found)[:5]


@pytest.mark.parametrize("name", catalogue())
def test_queries_answer_as_from_the_store(captured: Path, engine: Any, name: str) -> None:
    with reading(captured) as con:
        ((call, span, middle),) = con.execute(
            "SELECT min(call_id), min(span_id), quantile_disc(started_at, 0.5) FROM tool_calls"
        ).fetchall()
        known = {
            "call": {"id": call},
            "labels": {"call_id": call},
            "call_gates": {"call_id": call},
            "around": {"span_id": span},
        }
        known["compare"] = {"before_until": middle, "since": middle}
        known["burn_rate"] = {"until": middle}
        mine, theirs = both(con, engine, "genuine", name, **known.get(name, {}))
    if name == "call":
        at = [
            place
            for place, column in enumerate(find(name).heading.columns)
            if column.name in OF_THE_PROCESS.split(", ")
        ]
        mine, theirs = (
            [tuple(cell for place, cell in enumerate(row) if place not in at) for row in rows]
            for rows in (mine, theirs)
        )
    assert not differences(mine, theirs)[:5]


def test_we_insert_what_the_exporter_does(captured: Path, engine: Any) -> None:
    """The same rows to the last letter, but for what the application's SDK measured and said itself."""
    for table in ("otel_traces", "otel_logs"):
        engine.command(f"CREATE TABLE IF NOT EXISTS genuine.ours_{table} AS genuine.{table}")
    where = address(engine, "genuine")
    ours = type(where)(f"{where.url}&traces=ours_otel_traces&logs=ours_otel_logs")
    Backfill(House(ours), Forms()).send(records_of(captured))
    told = "Timestamp, TraceId, SpanId, ParentSpanId, SpanName, SpanKind, StatusCode, StatusMessage, ScopeName, ScopeVersion"
    for ask in (
        f"SELECT {told} FROM genuine.{{0}} ORDER BY SpanId",
        "SELECT SpanId, mapSort(SpanAttributes) FROM genuine.{0} ORDER BY SpanId",
    ):
        mine, theirs = (engine.query(ask.format(table)).result_rows for table in ("ours_otel_traces", "otel_traces"))
        assert len(mine) == len(theirs) > 0
        assert mine == theirs
    events = "SELECT Timestamp, EventName, mapSort(LogAttributes) FROM genuine.{0} WHERE EventName <> '' ORDER BY ALL"
    mine, theirs = (engine.query(events.format(table)).result_rows for table in ("ours_otel_logs", "otel_logs"))
    assert {row[:2] for row in theirs} <= {row[:2] for row in mine}


@pytest.mark.parametrize("table", ["otel_traces", "otel_logs"])
def test_our_tables_of_tests_are_the_exporter_s(captured: Path, engine: Any, table: str) -> None:
    exporters_tables(engine, f"plain_{table}")
    columns = "SELECT name, type FROM system.columns WHERE database = '{0}' AND table = '{1}' AND default_kind = '' ORDER BY position"
    genuine, ours = (
        engine.query(columns.format(database, table)).result_rows for database in ("genuine", f"plain_{table}")
    )
    assert genuine == ours
    keys = "SELECT sorting_key, partition_key FROM system.tables WHERE database = '{0}' AND name = '{1}'"
    assert (
        engine.query(keys.format("genuine", table)).result_rows
        == engine.query(keys.format(f"plain_{table}", table)).result_rows
    )
