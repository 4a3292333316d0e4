"""Indexes over the exporter's table of spans: the engine reads less for one tool, one attempt, one trace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.history import make_history
from tests.clickhouse.compare import address
from tests.clickhouse.conftest import Fill, records_of
from tests.clickhouse.exporter import SPANS, definition
from tooltrace.analysis import query_store
from tooltrace.cli import cli
from tooltrace.clickhouse.attribute_sql import Variant
from tooltrace.clickhouse.query import connect
from tooltrace.core.records import Message, Record, ToolCall
from tooltrace.redact.snapshot import Json
from tooltrace.store.url import Address

ROWS = 6_000


@pytest.fixture(scope="module", params=["map", "json"])
def where(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Any, fill: Fill) -> Address:
    """A store whose table of spans has many granules, though it has few rows."""
    variant: Variant = request.param
    store: Path = tmp_path_factory.mktemp("indexes") / "i.duckdb"
    make_history(store, ROWS)
    database = f"indexed_{variant}"
    fill(database, records_of(store), variant)
    small = definition(SPANS, f"{database}.small", variant).replace("granularity = 8192", "granularity = 16")
    engine.command(small)
    engine.command(f"INSERT INTO {database}.small SELECT * FROM {database}.otel_traces")
    return Address(f"{address(engine, database).url}&variant={variant}&traces=small")


def init(where: Address, *more: str) -> Any:
    done = CliRunner().invoke(cli, ["clickhouse", "init", *more, "--store", where.url], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def read(engine: Any, question: Callable[[], Any]) -> int:
    """How many rows the engine took up for it."""
    selected = "SELECT sum(value) FROM system.events WHERE event = 'SelectedRows'"
    before = engine.query(selected).result_rows[0][0]
    question()
    return int(engine.query(selected).result_rows[0][0] - before)


def test_less_is_read_and_the_answer_is_the_same(where: Address, engine: Any) -> None:
    init(where, "--apply")
    ((span,),) = query_store(where, "recent", limit=1).select("span_id").rows
    questions: dict[str, Callable[[], Any]] = {
        "tool": lambda: query_store(where, "latency", tool="fetch").rows,
        "span and trace": lambda: query_store(where, "around", span_id=span).rows,
    }
    answers = {name: question() for name, question in questions.items()}
    before = {}
    engine.command("SYSTEM DROP QUERY CONDITION CACHE")
    for name, question in questions.items():
        before[name] = read(engine, question)
    assert "ALTER TABLE … DROP INDEX" in init(where, "--apply", "--indexes").stderr
    engine.command("SYSTEM DROP QUERY CONDITION CACHE")
    for name, question in questions.items():
        assert read(engine, question) < before[name] * 0.7, name
        assert question() == answers[name]


def test_the_indexes_option_adds_index_statements(where: Address) -> None:
    printed = init(where, "--indexes")
    assert printed.stdout.count("ADD INDEX IF NOT EXISTS") == 3
    assert "INDEX" not in init(where).stdout


def test_content_expires_before_the_rows(engine: Any, fill: Fill) -> None:
    now = datetime.now(UTC)
    records: list[Record] = []
    for number, age in enumerate((1, 40, 400)):
        span, at = f"{number + 1:016x}", now - timedelta(days=age)
        records += [
            ToolCall(
                tool="t", call_id="c", trace_id=span * 2, span_id=span, started_at=at, status="success", text="content",
                arguments=Json('{"a":1}'), code="X", attributes=Json('{"kept":1}'),
            ),
            Message(call_id="c", span_id=span, text="content", sha256="1", length=1, error=False, at=at),
        ]  # fmt: skip
    fill("expiring", records)
    where = address(engine, "expiring")
    init(where, "--tables", "--days", "30", "--row-days", "365", "--apply")
    for table in ("attempts", "messages"):
        engine.command(f"OPTIMIZE TABLE expiring.tooltrace_{table} FINAL")
    with connect(where) as lease:
        found = lease.sql(
            "SELECT text, arguments, code, attributes IS NOT NULL, seen_text FROM tool_calls ORDER BY started_at"
        ).fetchall()
    assert found == [(None, None, "X", True, None), ("content", '{"a":1}', "X", True, "content")]
