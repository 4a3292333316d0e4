"""The demo's records reach a collector: its file and the store agree on every attribute."""

from __future__ import annotations

import json
import subprocess
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.collector.harness import Collector, plain, quiet
from tooltrace.otel import attributes as names

CALLS = 300
ROW = {**names.FIELDS, "call_id": names.TOOL_CALL_ID}
"""Column of ``tool_calls`` to the attribute that carries it."""
ELSEWHERE = {"trace_id", "span_id", "parent_span_id", "started_at", "service", "host", "pid", "attributes", "release", "environment",
             "advised_action"}  # fmt: skip
"""Columns that the span carries as its own ids, time and resource, or as attributes under names of their own, or that a view computes."""
LATER = {"seen_text", "seen_hash", "seen_length", "seen_error"}
"""Columns of what the model was given, which happens when the span has ended: an event of its own."""
JSON = {"arguments", "result", "stats", "context", "signals", "sources", "full_sizes", "flags"}


def rows(store: Path, table: str = "tool_calls") -> list[dict[str, Any]]:
    with tt.connect(store) as db:
        found = db.execute(f"SELECT * FROM {table}")
        columns = [column[0] for column in found.description]
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]


OWN = [sys.executable, "-m", "tooltrace", "demo", "--calls", str(CALLS), "--days", "0", "--store"]
"""An application that has set up nothing: the standard variables are enough."""
SDK = [sys.executable, str(Path(__file__).with_name("demo_through_sdk.py")), str(CALLS)]
"""An application with the SDK's own exporters."""


@pytest.fixture(
    scope="module",
    params=[(OWN, "http/protobuf"), (OWN, "grpc"), (SDK, "http/protobuf"), (SDK, "grpc")],
    ids=["own-http", "own-grpc", "sdk-http", "sdk-grpc"],
)
def sent(request: Any, otelcol: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Collector, Path]]:
    """The collector's files and the store, of one run of the demo."""
    folder = tmp_path_factory.mktemp("demo")
    collector, store = Collector(otelcol, "to-file.yaml", folder), folder / "t.duckdb"
    program, protocol = request.param
    env = collector.environment(protocol)
    try:
        collector.start()
        done = subprocess.run([*program, str(store)], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if program is OWN:  # what the process had no time for before it ended
            tooltrace("export", "otlp", "--pending", "--store", str(store), env=env)
        collector.stop()
    finally:
        collector.kill()
    yield collector, store


def tooltrace(*words: str, env: dict[str, str] | None = None) -> str:
    """Return the output of the command."""
    command = [sys.executable, "-m", "tooltrace", *words]
    done = subprocess.run(command, env=env or quiet(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_attempt_is_one_span(sent: tuple[Collector, Path]) -> None:
    collector, store = sent
    spans = [span for span in collector.spans() if span["scope"].get("name") == "tooltrace"]
    ids = sorted(span["spanId"] for span in spans)
    assert ids == sorted(row["span_id"] for row in rows(store))
    assert len(ids) > CALLS, "there were no retries"
    assert len(set(ids)) == len(ids)


def test_span_and_row_agree(sent: tuple[Collector, Path]) -> None:
    collector, store = sent
    by_id = {span["spanId"]: span for span in collector.spans()}
    compared = Counter[str]()
    for row in rows(store):
        span = by_id[row["span_id"]]
        attributes = dict(span["attributes"])
        assert attributes.pop(names.OPERATION_NAME) == "execute_tool"
        if attributes.pop(names.RESULT_IS_TEXT, False):
            assert json.loads(attributes.pop(names.TOOL_CALL_RESULT)) == row["text"]
        for column in row.keys() - ELSEWHERE - LATER:
            exported, kept = attributes.pop(ROW[column], None), row[column]
            if column == "call_id" and exported is None:
                exported = row["span_id"]
            if column in JSON and kept is not None:
                exported, kept = json.loads(exported), json.loads(kept)
            assert exported == kept, column
            compared[column] += kept is not None
        failed = row["status"] == "error"
        assert attributes.pop(names.ERROR_TYPE, None) == ((row["error_type"] or row["code"]) if failed else None)
        assert attributes == (json.loads(row["attributes"]) if row["attributes"] else {})
    assert {"tool", "call_id", "arguments", "result", "confidence", "sources", "code", "next_action"} <= {*+compared}


def test_ids_name_time_status_and_resource(sent: tuple[Collector, Path]) -> None:
    collector, store = sent
    by_id = {span["spanId"]: span for span in collector.spans()}
    for row in rows(store):
        span = by_id[row["span_id"]]
        assert span["traceId"] == row["trace_id"]
        assert (span.get("parentSpanId") or None) == row["parent_span_id"]
        assert span["name"] == f"execute_tool {row['tool']}"
        assert span["resource"]["service.name"] == row["service"]
        assert span["kind"] == 1, "INTERNAL"
        assert int(span["startTimeUnixNano"]) // 1000 == round(row["started_at"].timestamp() * 1e6)
        took = (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) / 1e6
        assert took >= 0
        error = {"code": 2} | ({"message": row["error_message"]} if row["error_message"] else {})
        assert span["status"] == (error if row["status"] == "error" else {})


def test_the_metric_counts_every_attempt_in_its_bucket(sent: tuple[Collector, Path]) -> None:
    collector, store = sent
    counted, sums = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
    for metric in collector.metrics():
        if metric["name"] != "gen_ai.execute_tool.duration":
            continue
        assert metric["unit"] == "s"
        for point in metric["histogram"]["dataPoints"]:
            series = plain(point["attributes"])
            assert series[names.OPERATION_NAME] == "execute_tool"
            key = (series[names.TOOL_NAME], series.get(names.ERROR_TYPE))
            sums[key] += point["sum"]
            assert tuple(point["explicitBounds"]) == names.DURATION_BUCKETS
            for number, count in enumerate(point["bucketCounts"]):
                counted[*key, number] += int(count)
    expected, seconds = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
    for row in rows(store):
        key = (row["tool"], (row["error_type"] or row["code"]) if row["status"] == "error" else None)
        expected[*key, bisect_left(names.DURATION_BUCKETS, row["duration_ms"] / 1e3)] += 1
        seconds[key] += row["duration_ms"] / 1e3
    assert +counted == expected
    assert sums == pytest.approx(seconds)


def test_every_label_is_an_evaluation_event_of_its_span(sent: tuple[Collector, Path]) -> None:
    collector, store = sent
    events = [log for log in collector.logs() if log.get("eventName") == "gen_ai.evaluation.result"]
    outcomes = rows(store, "outcomes")
    assert len(events) == len(outcomes) > 0
    spans = {(span["traceId"], span["spanId"]) for span in collector.spans()}
    evaluations = Counter()
    for event in events:
        assert (event["traceId"], event["spanId"]) in spans
        about = event["attributes"]
        evaluations[
            about[names.TOOL_CALL_ID], about[names.EVALUATION_SCORE_LABEL], about[names.EVALUATION_EXPLANATION]
        ] += 1
    assert evaluations == Counter(
        (row["call_id"], "correct" if row["correct"] else "incorrect", row["reason"]) for row in outcomes
    )


def test_every_exception_is_an_event_of_its_span(sent: tuple[Collector, Path]) -> None:
    collector, store = sent
    events = {log["spanId"]: log for log in collector.logs() if log.get("eventName") == names.EXCEPTION_EVENT}
    raised = [row for row in rows(store) if row["ending"] == "raised" and row["status"] == "error"]
    assert len(raised) > 0
    assert sorted(events) == sorted(row["span_id"] for row in raised)
    for row in raised:
        event = events[row["span_id"]]
        assert event["traceId"] == row["trace_id"]
        assert event["severityNumber"] == 13, "WARN"
        assert event["attributes"]["exception.message"] == row["error_message"]
        assert event["attributes"][names.ERROR_TYPE] == row["error_type"]


def test_the_files_import_to_the_same_rows(sent: tuple[Collector, Path], tmp_path: Path) -> None:
    collector, store = sent
    files = [str(collector.folder / "traces.jsonl"), str(collector.folder / "logs.jsonl")]
    for _ in range(2):  # the second time adds nothing
        tooltrace("import", *files, "--store", str(tmp_path / "i.duckdb"))
    origin = {"host", "pid"}  # where the application's own resource says neither
    for table, key in (("tool_calls", "span_id"), ("outcomes", "call_id")):
        there, here = rows(tmp_path / "i.duckdb", table), rows(store, table)
        assert len(there) == len(here)
        kept = {row[key]: row for row in here}
        for row in there:
            differing = {name for name, value in row.items() if value != kept[row[key]][name]}
            assert differing <= origin | LATER, {name: (row[name], kept[row[key]][name]) for name in differing}
