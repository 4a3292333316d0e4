"""A store in ClickHouse, as a user meets it: the command, ``tt.query``, the views, labels, and history sent there."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import tooltrace as tt
from benchmarks.history import make_history
from tests.clickhouse.compare import address, both, differences
from tests.clickhouse.conftest import Fill, exporters_tables, records_of
from tests.clickhouse.test_edges import attempts, duck
from tooltrace.analysis import catalogue, find
from tooltrace.cli import cli
from tooltrace.clickhouse import materialized, views
from tooltrace.clickhouse.client import ClickHouseConnection
from tooltrace.clickhouse.query import connect
from tooltrace.core.records import Outcome
from tooltrace.errors import BadParameter, ConfigError, QueryError, StoreError, StoreMissing
from tooltrace.labels.from_file import LabelFileReport, unmatched
from tooltrace.store.base import open_store
from tooltrace.store.read.reader import open_reader
from tooltrace.store.url import Address, address_of

ROWS = 600


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store on the disk."""
    store = tmp_path_factory.mktemp("local") / "local.duckdb"
    make_history(store, ROWS)
    return store


@pytest.fixture(scope="module")
def house(local: Path, engine: Any, fill: Fill) -> Address:
    """The same in ClickHouse."""
    fill("house", records_of(local))
    return address(engine, "house")


def command(*words: str) -> Result:
    return CliRunner().invoke(cli, words, catch_exceptions=False)


def output_of(*words: str) -> Any:
    done = command(*words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_commands_answer_as_they_do_from_a_file(local: Path, house: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_reader(local) as con:
        ((call,),) = con.execute("SELECT call_id FROM tool_calls WHERE attempt = 3 ORDER BY span_id LIMIT 1").fetchall()
    monkeypatch.setenv("TOOLTRACE_STORE", house.url)
    for words in (
        ["query", "latency", "--format", "json"],
        ["query", "recent", "-p", "limit=7", "--format", "json"],
        ["show", call, "--format", "json"],
        ["show", call[:9], "--format", "json"],
        ["sql", "SELECT tool, count(*) AS n FROM tool_calls GROUP BY tool ORDER BY tool", "--format", "json"],
    ):
        assert close(output_of(*words), output_of(*words, "--store", str(local))), words


def close(a: Any, b: Any) -> bool:
    """The same, but for the last digits of a figure."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(close, a, b))
    return bool(a == pytest.approx(b, rel=1e-9) if isinstance(a, float) else a == b)


def test_python_queries_clickhouse_as_it_queries_a_file(
    house: Address, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLTRACE_STORE", house.url)
    found = tt.query("failure_rate", by=["agent"])
    assert close(
        [list(row) for row in found],
        [list(row) for row in tt.query("failure_rate", by=["agent"], store=local).rows],
    )
    assert found.df().shape == (3, len(found.columns))
    with tt.connect() as db:
        assert db.sql("SELECT count(*) FROM tool_calls").fetchall() == [(ROWS,)]


def test_a_statement_can_return_some_columns(house: Address, local: Path) -> None:
    statement = find("timeline").statement(("tool",), only=("tool", "started", "attempts"))
    found, expected = (open_store(store).query(statement) for store in (house.url, local))
    assert found.columns == expected.columns == ["tool", "started", "attempts"]
    assert sorted(found) == sorted(expected)


def test_wrong_parameters_are_reported_before_any_request(house: Address) -> None:
    with pytest.raises(BadParameter, match="min_n"):
        tt.query("failure_rate", store=house.url, min_n="few")
    with pytest.raises(QueryError):
        tt.query("failure_rates", store=house.url)


def test_wrong_sql_is_a_one_line_error(house: Address) -> None:
    done = command("sql", "SELECT nothing FROM tool_calls", "--store", house.url)
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "nothing" in done.stderr


def test_text_of_a_parameter_is_text(house: Address) -> None:
    for text in ("it's", "back\\", "\\'; DROP VIEW attempts; --", "{tool:String}", "日本", "a\nb", "$tool", "%s"):
        assert tt.query("failure_rate", store=house.url, tool=text).rows == []
        assert tt.query("failure_rate", store=house.url, by=f"attributes.{text}").rows


def test_missing_views_are_reported_with_the_command_that_creates_them(engine: Any) -> None:
    exporters_tables(engine, "bare")
    with pytest.raises(StoreMissing, match="tooltrace clickhouse init"):
        tt.query("recent", store=address(engine, "bare").url)
    with pytest.raises(StoreMissing, match="no_such"):
        tt.query("recent", store=address(engine, "no_such").url)


def test_an_unreachable_server_is_an_error() -> None:
    with pytest.raises(StoreError, match=r"cannot connect to the store .*u:…@127\.0\.0\.1:1/otel") as found:
        tt.query("recent", store="clickhouse://u:secret@127.0.0.1:1/otel")
    assert "secret" not in str(found.value)


def test_the_native_port_is_recognised() -> None:
    with pytest.raises(ConfigError, match="8123"):
        tt.query("recent", store="clickhouse://h:9000/otel")


def test_an_address_is_shown_without_its_password() -> None:
    found = address_of("clickhouse://u:p%40ss@h/db")
    assert isinstance(found, Address)
    assert f"{found} {found!r} {found}" == "clickhouse://u:…@h/db clickhouse://u:…@h/db clickhouse://u:…@h/db"
    assert ClickHouseConnection(found)._arguments()["password"] == "p@ss"
    assert open_store("a/b.duckdb").path == Path("a/b.duckdb").absolute()


def test_a_command_that_writes_refuses_an_address(house: Address) -> None:
    done = command("doctor", "--store", house.url)
    assert done.exit_code == 2
    assert "local store" in done.stderr


def test_init_prints_its_statements_and_runs_them_with_apply(engine: Any, local: Path) -> None:
    exporters_tables(engine, "fresh")
    where = ["--store", address(engine, "fresh").url]
    printed = command("clickhouse", "init", *where)
    assert printed.stdout.count("CREATE OR REPLACE VIEW") == 17
    assert "counts a span twice" in printed.stderr
    with pytest.raises(StoreMissing):
        tt.query("recent", store=where[1])
    for _ in range(2):
        assert command("clickhouse", "init", "--apply", *where).exit_code == 0
    assert tt.query("failure_rate", store=where[1]).rows == []
    assert command("export", "clickhouse", "--endpoint", where[1], "--store", str(local)).exit_code == 0
    assert f"{ROWS:,} attempts; 0 duplicate rows" in command("clickhouse", "check", *where).stdout


def test_init_reports_missing_exporter_tables_and_wrong_options(engine: Any) -> None:
    engine.command("CREATE DATABASE without_tables")
    where = address(engine, "without_tables").url
    done = command("clickhouse", "init", "--apply", "--store", where)
    assert done.exit_code == 1
    assert "the collector's exporter creates them" in done.stderr
    assert "clickhouse init to create" not in done.stderr
    done = command("clickhouse", "init", "--days", "5", "--store", where)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--tables" in done.stderr


def test_history_arrives_completely_and_once(engine: Any, local: Path) -> None:
    exporters_tables(engine, "sent")
    where = address(engine, "sent")
    views.apply(engine, ClickHouseConnection(where).tables, "sent")
    for again in ([], ["--again"], ["--again", "--since", "2020-01-01"]):
        assert command("export", "clickhouse", "--endpoint", where.url, "--store", str(local), *again).exit_code == 0
        with open_reader(local) as con, connect(where) as lease:
            for table in ("tool_calls", "outcomes", "messages", "gates"):
                count = f"SELECT count(*) FROM {table}"
                assert lease.sql(count).fetchall() == con.execute(count).fetchall(), (table, again)
    with open_reader(local) as con:
        for name in ("failure_rate", "calibration", "gates", "laundering"):
            assert not differences(*both(con, engine, "sent", name))[:5]


def test_tables_have_each_span_once_and_answer_the_same(engine: Any, local: Path, house: Address) -> None:
    tables = exporters_tables(engine, "twice")
    for table in (tables.traces, tables.logs):
        engine.command(f"INSERT INTO twice.{table} SELECT * FROM house.{table}")
    for statement in [
        *materialized.table_statements(tables, "twice"),
        *views.statements(tables, "twice", materialized=True),
    ]:
        engine.command(statement)
    for table in (tables.traces, tables.logs):
        engine.command(f"INSERT INTO twice.{table} SELECT * FROM house.{table}")
    assert engine.query("SELECT count() FROM twice.otel_traces").result_rows == [(2 * ROWS,)]
    middle = {"before": "..2020-01-01", "after": "2020-01-01.."}
    needed = {
        "call": {"id": "call_"},
        "ids": {"id": "call_"},
        "labels": {"call_id": "x"},
        "call_gates": {"call_id": "x"},
        "compare": middle,
        "conversation_calls": {"conversation": "x"},
        "version_pairs": {"before_version": "1.0", "version": "1.1"},
        "find": {"text": "x"},
    }
    with open_reader(local) as con:
        for name in catalogue():
            assert not differences(*both(con, engine, "twice", name, **needed.get(name, {})))[:5], name


def test_duplicate_deliveries_are_reported(engine: Any, house: Address) -> None:
    tables = exporters_tables(engine, "doubled")
    for _ in range(2):
        engine.command(f"INSERT INTO doubled.{tables.traces} SELECT * FROM house.{tables.traces}")
    views.apply(engine, tables, "doubled")
    done = command("clickhouse", "check", "--store", address(engine, "doubled").url)
    assert done.exit_code == 1
    assert f"{2 * ROWS:,} attempts; {ROWS:,} duplicate rows" in done.stdout
    assert len(tt.query("recent", store=address(engine, "doubled").url, limit=9).rows) == 9


def test_labels_without_a_call_are_counted(house: Address, local: Path) -> None:
    with open_reader(local) as con:
        ((call, span),) = con.execute("SELECT call_id, span_id FROM tool_calls LIMIT 1").fetchall()
    done = LabelFileReport()
    for named in ({"call_id": call}, {"call_id": "o'clock"}, {"span_id": span}, {"conversation_id": "nowhere"}):
        done.count(Outcome(**named, correct=True, labeler="me", labeled_at=datetime(2026, 1, 1, tzinfo=UTC)))
    assert unmatched(done, house) == 2


def test_a_label_is_written_to_clickhouse_and_counts(engine: Any, fill: Fill, local: Path) -> None:
    fill("labelled", records_of(local))
    where = address(engine, "labelled")
    span = tt.query("recent", store=where.url, status="success", limit=1).rows[0][-1]
    done = command("label", span, "--span", "--wrong", "--labeler", "me", "--reason", "it's old", "--store", where.url)
    assert done.exit_code == 0, done.stderr
    with connect(where) as lease:
        found = lease.sql(
            "SELECT span_id, correct, score, labeler, reason FROM outcomes WHERE labeler = 'me'"
        ).fetchall()
        assert found == [(span, False, None, "me", "it's old")]
        assert lease.sql(f"SELECT count(*) FROM judged WHERE span_id = '{span}'").fetchall() == [(1,)]


def test_another_s_evaluation_is_an_outcome(engine: Any) -> None:
    tables = exporters_tables(engine, "judging")
    views.apply(engine, tables, "judging")
    rows = [
        ("ok", {"gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.score.value": "0.75"}),
        ("word", {"gen_ai.evaluation.name": "answer", "gen_ai.evaluation.score.label": "Not Correct"}),
        ("inverse", {"gen_ai.evaluation.name": "toxicity", "gen_ai.evaluation.score.value": "0.9"}),
        ("range", {"gen_ai.evaluation.name": "stars", "gen_ai.evaluation.score.value": "4"}),
    ]
    for span, attributes in rows:
        row = {
            "Timestamp": "2026-03-01 12:00:00",
            "SpanId": span,
            "EventName": "gen_ai.evaluation.result",
            "LogAttributes": attributes,
        }
        engine.raw_insert("judging.otel_logs", insert_block=json.dumps(row).encode(), fmt="JSONEachRow")
    with connect(address(engine, "judging")) as lease:
        found = lease.sql("SELECT span_id, correct, score, labeler FROM outcomes ORDER BY span_id").fetchall()
    assert found == [("ok", None, 0.75, "relevance"), ("word", False, None, "answer")]


def test_spans_that_are_not_tool_calls_are_rows_of_spans(engine: Any) -> None:
    tables = exporters_tables(engine, "other")
    views.apply(engine, tables, "other")
    row = {
        "Timestamp": "2026-03-01 12:00:00.000001", "TraceId": "1" * 32, "SpanId": "2" * 16, "SpanName": "chat", "SpanKind": "Client",
        "StatusCode": "Error", "StatusMessage": "no", "Duration": 2_500_000, "SpanAttributes": {"a": "b"}, "ScopeName": "lib",
        "Events.Timestamp": ["2026-03-01 12:00:00.5"], "Events.Name": ["it"], "Events.Attributes": [{"x": "y"}],
    }  # fmt: skip
    engine.raw_insert("other.otel_traces", insert_block=json.dumps(row).encode(), fmt="JSONEachRow")
    with connect(address(engine, "other")) as lease:
        assert lease.sql("SELECT count(*) FROM tool_calls").fetchall() == [(0,)]
        (found,) = lease.sql(
            "SELECT name, span_kind, started_at, duration_ms, status, status_message, attributes, scope FROM spans"
        ).fetchall()
        ((events,),) = lease.sql("SELECT events FROM spans").fetchall()
    assert found == ("chat", "client", datetime(2026, 3, 1, 12, 0, 0, 1), 2.5, "error", "no", '{"a":"b"}', "lib")
    assert json.loads(events)[0]["name"] == "it"


def test_a_process_queries_clickhouse_and_records_locally(
    house: Address, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tooltrace.recording import config

    before = config.active_recorder
    monkeypatch.chdir(tmp_path)
    try:
        tt.configure(store=house.url)
        tt.TraceLogger().record("recorded_here", "ok", call_id="new", duration_ms=1.0)
        assert tt.query("recent", limit=1, tool="recorded_here").rows == []
        assert len(tt.query("failure_rate")) == 12
        assert len(tt.query("recent", store=tmp_path / "tooltrace.duckdb")) == 1
        tt.configure(store=tmp_path / "own.duckdb")
        monkeypatch.setenv("TOOLTRACE_STORE", house.url)
        assert tt.query("failure_rate").rows == []
    finally:
        tt.shutdown()
        with config._lock.current:
            config.active_recorder = before


def test_tables_over_attributes_that_are_json(engine: Any, fill: Fill, tmp_path: Path) -> None:
    records = attempts(random.Random(9), 120)
    tables = fill("kept_json", records, "json")
    for statement in [
        *materialized.table_statements(tables, "kept_json"),
        *views.statements(tables, "kept_json", materialized=True),
    ]:
        engine.command(statement)
    with duck(tmp_path / "kept.duckdb", records) as con, connect(address(engine, "kept_json")) as lease:
        for table in ("tool_calls", "outcomes", "gates", "messages"):
            asked = f"SELECT * FROM {table} ORDER BY ALL"
            mine, theirs = con.sql(asked), lease.sql(asked)
            at = [mine.columns.index(name) for name in ("span_id", "call_id")]
            order = lambda row: [str(row[place]) for place in at]  # noqa: B023, E731
            assert not differences(sorted(mine.fetchall(), key=order), sorted(theirs.fetchall(), key=order))[:5]
