"""The collector's own ClickHouse exporter, its own tables and ClickHouse's own engine have every attempt as the store has it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.collector.conftest import receivers
from tests.collector.harness import PAGE, Collector, free_port
from tests.collector.test_demo import ELSEWHERE, LATER, ROW, rows
from tests.waiting import until
from tooltrace.otel import attributes as names

CALLS = 200
Ask = Callable[[str], list[dict[str, Any]]]


def asking(port: int) -> Ask:
    def ask(sql: str) -> list[dict[str, Any]]:
        with urlopen(f"http://127.0.0.1:{port}/?default_format=JSONEachRow", sql.encode()) as answer:
            return [json.loads(line) for line in answer.read().splitlines()]

    return ask


def alive(ask: Ask) -> bool:
    try:
        return ask("SELECT 1 AS one") == [{"one": 1}]
    except OSError:
        return False


@pytest.fixture(scope="module")
def kept(otelcol: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """How to ask ClickHouse, and the store, when both have a run of the demo."""
    folder, port = tmp_path_factory.mktemp("clickhouse"), free_port()
    program = [str(receivers()), str(Path(__file__).with_name("clickhouse_engine.py"))]
    with (folder / "engine.log").open("wb") as log:
        engine = subprocess.Popen([*program, str(port), str(folder / "engine")], stderr=log)
    plain = ["yaml:exporters::clickhouse::compress: none"]
    collector = Collector(otelcol, "to-clickhouse.yaml", folder, {"CLICKHOUSE": f"http://127.0.0.1:{port}"}, plain)
    ask, store = asking(port), folder / "t.duckdb"
    try:
        until(lambda: alive(ask))
        collector.start()
        demo = [sys.executable, str(Path(__file__).with_name("demo_through_sdk.py")), str(CALLS), str(store)]
        subprocess.run(demo, env={**collector.environment("grpc"), "OTEL_EXPORTER_OTLP_TIMEOUT": "60"}, check=True)
        collector.stop()
        assert not (log := (folder / "engine.log").read_text()), log
        yield ask, store
    finally:
        collector.kill()
        engine.kill()
        engine.wait()


def test_every_attempt_is_a_row_of_otel_traces(kept: tuple[Ask, Path]) -> None:
    ask, store = kept
    found = {row["SpanId"]: row for row in ask("SELECT * FROM otel.otel_traces")}
    stored = rows(store)
    assert ask("SELECT count() AS n FROM otel.otel_traces") == [{"n": len(stored)}]
    for row in stored:
        span = found[row["span_id"]]
        assert span["TraceId"] == row["trace_id"]
        assert span["ParentSpanId"] == (row["parent_span_id"] or "")
        assert span["SpanName"] == f"execute_tool {row['tool']}"
        assert span["SpanKind"] == "Internal"
        assert span["ScopeName"] == "tooltrace"
        failed = row["status"] == "error"
        assert (span["StatusCode"], span["StatusMessage"]) == (
            ("Error", row["error_message"]) if failed else ("Unset", "")
        )
        attributes = dict(span["SpanAttributes"])
        if attributes.pop(names.RESULT_IS_TEXT, None) == "true":
            assert json.loads(attributes.pop(names.TOOL_CALL_RESULT)) == row["text"]
        for column in row.keys() - ELSEWHERE - LATER - {"call_id"}:
            assert same(row[column], attributes.get(ROW[column])), column


def same(kept: Any, exported: str | None) -> bool:
    """Whether ``exported`` is how the exporter writes ``kept`` into a map of strings."""
    if kept is None or isinstance(kept, str):
        return kept == exported
    if isinstance(kept, bool):
        return exported == ("true" if kept else "false")
    return exported is not None and type(kept)(exported) == kept


def test_the_metric_counts_every_attempt(kept: tuple[Ask, Path]) -> None:
    ask, store = kept
    counted = ask(
        "SELECT Attributes['gen_ai.tool.name'] AS tool, toUInt32(sum(Count)) AS n FROM otel.otel_metrics_histogram"
        " WHERE MetricName = 'gen_ai.execute_tool.duration' GROUP BY tool"
    )
    tools = [row["tool"] for row in rows(store)]
    assert {row["tool"]: row["n"] for row in counted} == {tool: tools.count(tool) for tool in set(tools)}


def test_every_label_is_a_row_of_otel_logs(kept: tuple[Ask, Path]) -> None:
    ask, store = kept
    events = ask(
        "SELECT TraceId, SpanId, LogAttributes FROM otel.otel_logs WHERE EventName = 'gen_ai.evaluation.result'"
    )
    by_call = {event["LogAttributes"]["gen_ai.tool.call.id"]: event for event in events}
    outcomes = rows(store, "outcomes")
    assert len(events) == len(outcomes) > 0
    for outcome in outcomes:
        exported = by_call[outcome["call_id"]]["LogAttributes"]["gen_ai.evaluation.score.label"]
        assert exported == ("correct" if outcome["correct"] else "incorrect")


def test_the_question_of_the_page_is_answered(kept: tuple[Ask, Path]) -> None:
    ask, store = kept
    (question,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.S)
    expected: dict[str, list[dict[str, Any]]] = {}
    for row in rows(store):
        expected.setdefault(row["tool"], []).append(row)
    answer = {row["tool"]: row for row in ask(question)}
    assert answer.keys() == expected.keys()
    for tool, attempts in expected.items():
        group = answer[tool]
        assert int(group["attempts"]) == len(attempts)
        assert int(group["failures"]) == sum(row["status"] == "error" for row in attempts)
        durations = sorted(row["duration_ms"] for row in attempts)
        assert group["median_ms"] == pytest.approx(durations[len(durations) // 2], abs=0.001)
