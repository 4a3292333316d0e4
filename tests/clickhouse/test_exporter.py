"""Rows of the collector's genuine exporter, as maps and as JSON, equal the recorded calls and the rows that we write."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.clickhouse.compare import address, both, differences
from tests.clickhouse.conftest import exporters_tables, records_of
from tests.clickhouse.others import differing, no_calls, plain
from tests.clickhouse.test_edges import duck
from tests.collector.conftest import otelcol  # noqa: F401
from tests.collector.harness import Collector, free_port, until
from tests.collector.test_clickhouse import alive, asking
from tooltrace.analysis import catalogue, find
from tooltrace.clickhouse import views
from tooltrace.clickhouse.attribute_sql import Variant
from tooltrace.clickhouse.client import ClickHouseConnection
from tooltrace.clickhouse.exporter import Backfill
from tooltrace.clickhouse.query import connect
from tooltrace.clickhouse.tables import Tables
from tooltrace.exporters.otlp_records import RecordEncoder
from tooltrace.ingest.spans import Assembler
from tooltrace.otel.otlp.from_proto import spans_from_proto
from tooltrace.otel.otlp.to_proto import spans_to_proto
from tooltrace.recording.settings import Settings
from tooltrace.store.read.reader import open_reader
from tooltrace.store.url import Address

CALLS = 300
OF_THE_PROCESS = "service, host, pid"
"""Which an application's own SDK says of itself, or does not."""
SERVER = Path(__file__).parents[1] / "collector" / "clickhouse_engine.py"
DEMO = SERVER.with_name("demo_through_sdk.py")
TABLES = ("otel_traces", "otel_logs")


@dataclass
class Captured:
    """A run of the demo in a store; and in a database, in the exporter's tables and as it sent it."""

    store: Path
    variant: Variant
    database: str
    later: str
    """A database of all that and what came later: a label, and the spans of others."""
    labelled: str
    """The attempt that the label is of."""
    others: bytes
    """The spans of others, as OTLP."""

    def address(self, engine: Any, more: str = "") -> Address:
        return Address(f"{address(engine, self.database).url}&variant={self.variant}{more}")


@pytest.fixture(scope="module", params=["map", "json"])
def captured(
    request: pytest.FixtureRequest,
    otelcol: Path,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
    engine: Any,
) -> Captured:
    folder, port, variant = tmp_path_factory.mktemp("genuine"), free_port(), request.param
    server = subprocess.Popen([sys.executable, str(SERVER), str(port), str(folder / "engine")])
    plain_bytes = "yaml:exporters::clickhouse::compress: none"
    kind = f"yaml:exporters::clickhouse::json: {str(variant == 'json').lower()}"
    where = {"CLICKHOUSE": f"http://127.0.0.1:{port}"}
    collector = Collector(otelcol, "to-clickhouse.yaml", folder, where, [plain_bytes, kind])
    run_sql, store = asking(port), folder / "t.duckdb"
    found = Captured(store, variant, f"genuine_{variant}", f"later_{variant}", "", b"")
    try:
        until(lambda: alive(run_sql), server)
        collector.start()
        subprocess.run(
            [sys.executable, str(DEMO), str(CALLS), str(store)], env=collector.environment("grpc"), check=True
        )
        collector.stop()
        first = inserts(folder)
        collector.start()
        say_more(found, collector)
        collector.stop()
        made = [run_sql(f"SHOW CREATE TABLE otel.{table}")[0]["statement"] for table in TABLES]
    finally:
        collector.kill()
        server.kill()
        server.wait()
    for database, files in ((found.database, first), (found.later, inserts(folder))):
        load(engine, database, made, files)
        tables = Tables(database=database, variant=variant, foreign=database == found.later)
        views.apply(engine, tables, database)
    return found


def inserts(folder: Path) -> list[Path]:
    return sorted((folder / "engine" / "inserts").glob("*.sql"))


def say_more(found: Captured, collector: Collector) -> None:
    """A label by the command, of the store's address and with the collector named; and the spans of others."""
    with open_reader(found.store) as con:
        ((found.labelled,),) = con.execute("SELECT min(span_id) FROM tool_calls WHERE status = 'success'").fetchall()
    words = ["label", found.labelled, "--span", "--wrong", "--labeler", "over there", "--reason", "it's old"]
    command = [sys.executable, "-m", "tooltrace", *words, "--store", "clickhouse://127.0.0.1:1/otel"]
    done = subprocess.run(
        command, env=collector.environment("http/protobuf"), check=True, capture_output=True, text=True
    )
    assert "sent to the collector" in done.stdout
    found.others = spans_to_proto([*plain(), *no_calls()]).SerializeToString()
    request = Request(
        f"{collector.endpoint('http')}/v1/traces", found.others, {"content-type": "application/x-protobuf"}
    )
    with urlopen(request) as answer:
        assert answer.status == 200


def load(engine: Any, database: str, made: list[str], files: Iterable[Path]) -> None:
    """The exporter's own tables and the very bytes that it sent."""
    engine.command(f"CREATE DATABASE {database}")
    for statement in made:
        engine.command(statement.replace("otel.otel_", f"{database}.otel_"))
    for file in files:
        into = file.read_text().replace("`", "").replace('"', "")
        if "otel.otel_traces " in into or "otel.otel_logs " in into:
            into = into.replace("otel.otel_", f"{database}.otel_").rpartition("FORMAT Native")[0]
            engine.command(f"{into} FROM INFILE '{file.with_suffix('.native')}' FORMAT Native")


@pytest.mark.parametrize("table", ["tool_calls", "outcomes", "gates", "messages"])
def test_tables_are_those_of_the_store(captured: Captured, engine: Any, table: str) -> None:
    with open_reader(captured.store) as con, connect(captured.address(engine)) as lease:
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
def test_queries_answer_as_from_the_store(captured: Captured, engine: Any, name: str) -> None:
    with open_reader(captured.store) as con:
        ((call, span, middle, conversation),) = con.execute(
            "SELECT min(call_id), min(span_id), quantile_disc(started_at, 0.5), min(conversation_id) FROM tool_calls"
        ).fetchall()
        known = {
            "call": {"id": call},
            "ids": {"id": call},
            "labels": {"call_id": call},
            "call_gates": {"call_id": call},
            "around": {"span_id": span},
            "conversation_calls": {"conversation": conversation},
            "version_pairs": {"before_version": "1.0", "version": "1.1"},
            "find": {"text": "e"},
        }
        known["compare"] = {"before": f"..{middle.isoformat()}", "after": f"{middle.isoformat()}.."}
        known["burn_rate"] = {"until": middle}
        mine, theirs = both(con, engine, captured.database, name, **known.get(name, {}))
    if name == "call":
        at = [
            place for place, column in enumerate(find(name).header.columns) if column.name in OF_THE_PROCESS.split(", ")
        ]
        mine, theirs = (
            [tuple(cell for place, cell in enumerate(row) if place not in at) for row in rows]
            for rows in (mine, theirs)
        )
    assert not differences(mine, theirs)[:5]


def test_inserted_rows_equal_those_of_the_collectors_exporter(captured: Captured, engine: Any) -> None:
    """The same rows to the last letter, but for what the application's SDK measured and said itself."""
    database = captured.database
    for table in TABLES:
        engine.command(f"CREATE TABLE IF NOT EXISTS {database}.ours_{table} AS {database}.{table}")
    ours = captured.address(engine, "&traces=ours_otel_traces&logs=ours_otel_logs")
    Backfill(ClickHouseConnection(ours), RecordEncoder()).send(records_of(captured.store))
    span_columns = "Timestamp, TraceId, SpanId, ParentSpanId, SpanName, SpanKind, StatusCode, StatusMessage, ScopeName, ScopeVersion"
    attribute_columns = (
        "toJSONString({0}Attributes), {0}AttributesKeys" if captured.variant == "json" else "mapSort({0}Attributes)"
    )
    for columns in (span_columns, attribute_columns.format("Span")):
        mine, theirs = (
            engine.query(f"SELECT SpanId, {columns} FROM {database}.{table} ORDER BY SpanId").result_rows
            for table in ("ours_otel_traces", "otel_traces")
        )
        assert len(mine) == len(theirs) > 0
        assert [sorted_keys(row) for row in mine] == [sorted_keys(row) for row in theirs]
    events = f"SELECT Timestamp, EventName, {attribute_columns.format('Log')} FROM {database}.{{0}} WHERE EventName <> '' ORDER BY ALL"
    mine, theirs = (engine.query(events.format(table)).result_rows for table in ("ours_otel_logs", "otel_logs"))
    assert theirs
    assert {row[:2] for row in theirs} <= {row[:2] for row in mine}


def sorted_keys(row: tuple[Any, ...]) -> list[Any]:
    return [sorted(cell) if isinstance(cell, list) else cell for cell in row]


@pytest.mark.parametrize("table", TABLES)
def test_our_tables_of_tests_are_the_exporter_s(captured: Captured, engine: Any, table: str) -> None:
    own = f"plain_{captured.variant}_{table}"
    exporters_tables(engine, own, captured.variant)
    columns = "SELECT name, type FROM system.columns WHERE database = '{0}' AND table = '{1}' AND default_kind = '' ORDER BY position"
    keys = "SELECT sorting_key, partition_key FROM system.tables WHERE database = '{0}' AND name = '{1}'"
    for asked in (columns, keys):
        genuine, ours = (
            engine.query(asked.format(database, table)).result_rows for database in (captured.database, own)
        )
        assert genuine == ours


def test_a_label_arrives_by_the_collector(captured: Captured, engine: Any) -> None:
    with connect(address(engine, captured.later)) as lease:
        found = lease.sql(
            "SELECT span_id, call_id, correct, score, reason FROM outcomes WHERE labeler = 'over there'"
        ).fetchall()
        judged = lease.sql(f"SELECT count(*) FROM judged WHERE span_id = '{captured.labelled}'").fetchall()
    assert found == [(captured.labelled, None, False, None, "it's old")]
    assert judged == [(1,)]


def test_tool_spans_of_others_are_the_calls_that_the_store_has(captured: Captured, engine: Any, tmp_path: Path) -> None:
    records = Assembler(Settings(store=None)).convert(list(spans_from_proto(captured.others)))
    asked = "SELECT * FROM tool_calls WHERE service = 'shop' ORDER BY trace_id"
    with duck(tmp_path / "others.duckdb", records) as con, connect(address(engine, captured.later)) as lease:
        mine, theirs = con.sql(asked), lease.sql(asked)
        columns, found = mine.columns, (mine.fetchall(), theirs.fetchall())
    assert len(found[0]) == len(plain())
    assert not differing(columns, *found)[:5]


def test_external_spans_that_are_not_tool_calls_stay_spans(captured: Captured, engine: Any, tmp_path: Path) -> None:
    records = Assembler(Settings(store=None)).convert(list(spans_from_proto(captured.others)))
    asked = "SELECT * FROM spans ORDER BY trace_id"
    with duck(tmp_path / "others.duckdb", records) as con, connect(address(engine, captured.later)) as lease:
        mine, theirs = con.sql(asked).fetchall(), lease.sql(asked).fetchall()
    assert len(mine) == len(no_calls())
    assert not differences(mine, theirs)[:5]
