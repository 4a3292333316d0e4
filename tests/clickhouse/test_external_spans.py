"""Tool spans of other libraries as tool calls of a store in ClickHouse: what a view says of them, and what it cannot."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.clickhouse.compare import address
from tests.clickhouse.conftest import Fill, exporters_tables
from tests.clickhouse.others import differing, plain
from tests.clickhouse.test_edges import duck
from tests.ingest.spans.conftest import mcp, span, tool
from tooltrace.cli import cli
from tooltrace.clickhouse import conventions_sql, external_spans_sql, materialized, views
from tooltrace.clickhouse.query import connect
from tooltrace.clickhouse.rows import lines, span_row
from tooltrace.core.records import ToolCall
from tooltrace.ingest.spans import Assembler
from tooltrace.ingest.spans.conventions import detect as known
from tooltrace.normalize.exceptions.codes import CODES
from tooltrace.otel.span_data import SpanData
from tooltrace.recording.settings import Settings


def insert(engine: Any, database: str, forms: list[SpanData]) -> None:
    engine.raw_insert(
        f"{database}.otel_traces", insert_block=lines([span_row(form) for form in forms]), fmt="JSONEachRow"
    )


def taken(engine: Any, database: str, forms: list[SpanData], sql: str) -> list[Any]:
    """Return the rows of ``sql`` for the spans ``forms``."""
    tables = replace(exporters_tables(engine, database), foreign=True)
    insert(engine, database, forms)
    views.apply(engine, tables, database)
    with connect(address(engine, database)) as lease:
        return lease.sql(sql).fetchall()


def test_the_same_attributes_are_read() -> None:
    assert [one.name for one in conventions_sql.CONVENTIONS] == [one.name for one in known.CONVENTIONS]
    for mine, other in zip(conventions_sql.CONVENTIONS, known.CONVENTIONS, strict=True):
        assert dict(mine.reads) == dict(other.reads)
    assert external_spans_sql.CONSUMED == known.CONSUMED


def test_the_same_spans_are_tool_calls(engine: Any) -> None:
    rng = random.Random(3)
    values = {
        "gen_ai.operation.name": ["execute_tool", "chat", ""], "gen_ai.tool.name": ["add", ""], "openinference.span.kind": ["TOOL", "tool", "LLM"],
        "traceloop.span.kind": ["tool", "task"], "langfuse.observation.type": ["tool", "span"], "mcp.method.name": ["tools/call", "tools/list"],
        "rpc.method": ["tools/call", "x"], "tool_arguments": ["{}"], "tool_response": ["1"], "pydantic_ai.tool.deferral.name": ["x"],
        "logfire.span_type": ["pending_span", "span"], "other": ["x"],
    }  # fmt: skip
    forms = []
    for _ in range(600):
        keys = rng.sample(sorted(values), rng.choice([0, 1, 1, 2, 2, 3, 4]))
        attributes = {key: rng.choice(values[key]) for key in keys}
        forms.append(span(rng.choice(["running tool", "span", "execute_tool add"]), attributes=attributes))
    expected = {form.span_id for form in forms if known.is_tool_span(form.name, form.attributes)}
    found = taken(engine, "foreign_kinds", forms, "SELECT span_id FROM tool_calls")
    assert {row[0] for row in found} == expected
    assert 100 < len(expected) < 500


def test_an_exception_has_the_code_that_it_has_in_the_store(engine: Any) -> None:
    forms = [tool(error=(name, "why")) for name in sorted(CODES)]
    calls = {
        call.span_id: call for call in Assembler(Settings(store=None)).convert(forms) if isinstance(call, ToolCall)
    }
    wrong = set()
    for found in taken(
        engine, "foreign_codes", forms, "SELECT span_id, ending, code, retryable, error_type FROM tool_calls"
    ):
        call = calls[found[0]]
        if found[1:] != (call.ending, call.code, call.retryable, call.error_type):
            wrong.add(str(call.error_type).rpartition(".")[2])
    assert len(calls) == len(CODES)
    several: dict[str, set[Any]] = {}
    for name, verdict in CODES.items():
        several.setdefault(name.rpartition(".")[2], set()).add((str(verdict.code), verdict.retryable))
    builtin = {"ConnectionError", "TimeoutError", "PermissionError"}
    assert wrong <= {name for name, verdicts in several.items() if len(verdicts) > 1} | builtin


def test_a_call_reported_by_two_libraries_is_counted_twice_and_check_reports_it(engine: Any) -> None:
    outer = tool("add", call_id="c1", arguments={"a": 1})
    inner = mcp("add", outer, attributes={"gen_ai.tool.call.arguments": '{"a":1}'})
    alone = tool("add", trace_id="9" * 32)
    calls = [
        call for call in Assembler(Settings(store=None)).convert([outer, inner, alone]) if isinstance(call, ToolCall)
    ]
    assert len(calls) == 2
    assert len(taken(engine, "foreign_twice", [outer, inner, alone], "SELECT * FROM tool_calls")) == 3
    where = address(engine, "foreign_twice").url
    done = CliRunner().invoke(cli, ["clickhouse", "check", "--store", where], catch_exceptions=False)
    assert done.exit_code == 0
    assert "3 of them only from spans of other instrumentations; 1 are probably duplicates" in done.stdout


def test_external_tool_spans_stay_spans_by_default(engine: Any) -> None:
    where = address(engine, "foreign_not")
    exporters_tables(engine, "foreign_not")
    insert(engine, "foreign_not", plain())
    for more, calls in (([], 0), (["--foreign"], len(plain())), ([], 0)):
        words = ["clickhouse", "init", "--apply", *more, "--store", where.url]
        done = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert done.exit_code == 0
        assert ("two instrumentations" in done.stderr) == bool(more)
        with connect(where) as lease:
            count = "SELECT (SELECT count(*) FROM tool_calls) AS calls, (SELECT count(*) FROM spans) AS spans"
            assert lease.sql(count).fetchall() == [(calls, len(plain()) - calls)]


def test_materialized_tables_include_new_external_calls(engine: Any, tmp_path: Path) -> None:
    tables = replace(exporters_tables(engine, "foreign_kept"), foreign=True)
    forms = plain()
    half = len(forms) // 2
    insert(engine, "foreign_kept", forms[:half])
    for statement in (
        *materialized.table_statements(tables, "foreign_kept"),
        *views.statements(tables, "foreign_kept", materialized=True),
    ):
        engine.command(statement)
    insert(engine, "foreign_kept", forms[half:])
    insert(engine, "foreign_kept", forms[half:])
    asked = "SELECT * FROM tool_calls ORDER BY trace_id"
    records = Assembler(Settings(store=None)).convert(forms)
    with duck(tmp_path / "kept.duckdb", records) as con, connect(address(engine, "foreign_kept")) as lease:
        mine, theirs = con.sql(asked), lease.sql(asked)
        assert not differing(mine.columns, mine.fetchall(), theirs.fetchall())[:5]


def test_a_native_call_without_a_recorder_version_is_not_external(engine: Any, fill: Fill) -> None:
    call = ToolCall(
        tool="t", call_id="c", trace_id="1" * 32, span_id="2" * 16, started_at=datetime(2026, 3, 1, tzinfo=UTC)
    )
    fill("foreign_ours", [call])
    where = address(engine, "foreign_ours").url
    done = CliRunner().invoke(cli, ["clickhouse", "check", "--store", where], catch_exceptions=False)
    assert "1 attempt; 0 duplicate rows" in done.stdout
    assert "other instrumentations" not in done.stdout


@pytest.mark.parametrize("result", ['{"ok": false, "error": "not_in_channel"}', "error: no such file"])
def test_a_failure_described_only_in_the_result_is_not_detected(engine: Any, result: str) -> None:
    form = tool(attributes={"gen_ai.tool.call.result": result})
    (call,) = Assembler(Settings(store=None)).convert([form])
    assert isinstance(call, ToolCall)
    assert call.status == "error"
    sql = "SELECT status, rule, rule_grade FROM tool_calls"
    assert taken(engine, f"foreign_result_{len(result)}", [form], sql) == [("success", "span_status", "unread")]
