"""Files that Phoenix, MLflow and the OpenTelemetry Collector wrote; see samples/README.md."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tooltrace.core.records import Outcome, Record, Span, ToolCall
from tooltrace.ingest.files import ImportResult, import_file
from tooltrace.recording.settings import Settings

FILES = Path(__file__).parent / "samples"
PHOENIX = ["phoenix-spans.json", "phoenix-otlp.json", "phoenix-frame.jsonl", "phoenix-frame.parquet"]
MLFLOW = ["mlflow-trace.json", "mlflow-list.json", "mlflow-frame.jsonl"]
COLLECTOR = ["collector.json", "collector-zstd.json"]

Read = Callable[[Path], list[Record]]


class ImportedRecords(list[Record]):
    """Replacement of the journal writer that collects the records."""

    add = list.append

    def write(self) -> None:
        """Nothing to write."""


def imported(path: Path) -> tuple[list[Record], ImportResult]:
    if path.name.endswith("-zstd.json"):
        pytest.importorskip("backports.zstd")
    kept = ImportedRecords()
    return kept, import_file(path, Settings(store=None), kept)  # type: ignore[arg-type]


def calls_of(records: list[Record]) -> list[ToolCall]:
    return sorted((record for record in records if isinstance(record, ToolCall)), key=lambda call: call.started_at)


@pytest.mark.parametrize("name", [*PHOENIX, *MLFLOW, *COLLECTOR])
def test_each_tool_span_is_a_call_with_its_status(name: str) -> None:
    records, outcome = imported(FILES / name)
    search, fetch, lookup = calls_of(records)
    assert (search.tool, search.status, search.ending) == ("search", "success", "returned")
    assert json.loads(search.result or "") == {"rows": [1, 2]}
    assert json.loads(search.arguments or "")["query"] == "a b"
    assert (fetch.tool, fetch.status, fetch.ending, fetch.code) == ("fetch", "error", "raised", "TIMEOUT")
    assert (fetch.error_type, fetch.error_message) == ("TimeoutError", "no answer in 5 s")
    assert (lookup.tool, lookup.status, lookup.ending, lookup.code) == ("lookup", "error", "returned", "NOT_FOUND")
    assert len({call.trace_id for call in (search, fetch, lookup)}) == 1
    assert search.duration_ms is not None and search.duration_ms >= 0
    assert outcome.skipped == 0
    (agent,) = (record for record in records if isinstance(record, Span) and record.name == "agent")
    assert {call.parent_span_id for call in (search, fetch, lookup)} == {agent.span_id}


@pytest.mark.parametrize("name", [*PHOENIX, *COLLECTOR])
def test_the_models_call_id_is_imported(name: str) -> None:
    search, fetch, lookup = calls_of(imported(FILES / name)[0])
    assert (search.call_id, fetch.call_id, lookup.call_id) == ("call_1", "call_2", lookup.span_id)


@pytest.mark.parametrize("names", [PHOENIX[:2], MLFLOW, COLLECTOR])
def test_the_forms_of_one_trace_are_the_same_records(names: list[str]) -> None:
    """Times aside, which Phoenix counts in microseconds or in floating point."""
    forms = [calls_of(imported(FILES / name)[0]) for name in names]
    ids = [[(call.tool, call.trace_id, call.span_id, call.arguments, call.result) for call in calls] for calls in forms]
    assert all(each == ids[0] for each in ids)


@pytest.mark.parametrize("end", [None, "as it is"])
def test_a_span_of_mlflow_in_progress_has_no_end(tmp_path: Path, end: Any) -> None:
    trace = json.loads((FILES / MLFLOW[0]).read_bytes())
    for span in trace["data"]["spans"]:
        if span["name"] == "search":
            span["status"] = {"code": "IN_PROGRESS"}
            span["attributes"].pop("mlflow.spanOutputs")
            if end is None:
                span["end_time_unix_nano"] = None
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(trace))
    search = calls_of(imported(file)[0])[0]
    assert (search.tool, search.duration_ms, search.status, search.ending) == ("search", None, None, "handed_over")


def test_an_mlflow_session_is_the_conversation() -> None:
    assert {call.conversation_id for call in calls_of(imported(FILES / MLFLOW[0])[0])} == {"conv-1"}


def test_phoenix_annotations_of_correctness_are_outcomes() -> None:
    records, outcome = imported(FILES / "phoenix-annotations.json")
    labels = {record.labeler: record for record in records if isinstance(record, Outcome)}
    search = calls_of(imported(FILES / "phoenix-spans.json")[0])[0]
    assert set(labels) == {"correctness", "helpful"}
    right = labels["correctness"]
    assert (right.span_id, right.correct, right.score, right.reason) == (search.span_id, True, 1.0, "as asked")
    assert (labels["helpful"].span_id, labels["helpful"].score) == (search.span_id, 0.2)
    assert [line.line for line in outcome.examples] == [1]
    assert "score 4.0" in outcome.examples[0].reason


def test_feedback_of_mlflow_on_a_span_is_an_outcome_and_nothing_else_is() -> None:
    records, outcome = imported(FILES / MLFLOW[0])
    labels = {record.labeler: record for record in records if isinstance(record, Outcome)}
    search = calls_of(records)[0]
    assert {name: (each.span_id, each.score) for name, each in labels.items()} == {
        "correctness": (search.span_id, 1.0),
        "helpful": (search.span_id, 0.25),
    }
    assert outcome.skipped == 0


@pytest.mark.parametrize("name", ["phoenix-own.json", "mlflow-own.jsonl"])
def test_our_own_calls_come_back_from_there_as_they_were(name: str) -> None:
    own = calls_of(imported(FILES / "own.jsonl")[0])
    found = calls_of(imported(FILES / name)[0])
    assert len(found) == 3
    if name.startswith("phoenix"):  # which keeps no resource
        own = [replace(call, service=None, host=None, pid=None) for call in own]
    assert found == own


@pytest.mark.parametrize("name", [*PHOENIX[:3], *MLFLOW, COLLECTOR[0]])
def test_a_compressed_file_is_the_same(name: str, tmp_path: Path) -> None:
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress((FILES / name).read_bytes()))
    assert imported(packed)[0] == imported(FILES / name)[0]


@pytest.mark.parametrize("name", [*PHOENIX[:3], *MLFLOW, COLLECTOR[0]])
def test_no_secret_gets_through(name: str, tmp_path: Path) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwx"
    path = tmp_path / name
    path.write_text((FILES / name).read_text().replace("a b", secret).replace("no answer in 5 s", secret))
    text = repr(imported(path)[0])
    assert "[redacted]" in text
    assert secret not in text


@pytest.mark.parametrize("name", [*PHOENIX, "phoenix-annotations.json", *MLFLOW, *COLLECTOR])
def test_twice_is_the_same(name: str) -> None:
    assert imported(FILES / name)[0] == imported(FILES / name)[0]


def test_a_truncated_collector_frame_is_skipped_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "cut-zstd.json"
    path.write_bytes((FILES / "collector-zstd.json").read_bytes()[:-10])
    records, outcome = imported(path)
    assert outcome.skipped == 1
    assert len(records) < len(imported(FILES / "collector-zstd.json")[0])


def test_a_zstd_compressed_file_is_read(tmp_path: Path) -> None:
    zstd: Any = pytest.importorskip("backports.zstd")
    path = tmp_path / "collector.json.zst"
    path.write_bytes(zstd.compress((FILES / "collector.json").read_bytes()))
    assert imported(path)[0] == imported(FILES / "collector.json")[0]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("phoenix-spans.json", '"name": "fetch", "context": {"trace_id"', '"name": "fetch", "context": {"trace"'),
        ("phoenix-frame.jsonl", '"status_code": "ERROR"', '"status_code": "ERROR", "context.span_id": "g"'),
        ("mlflow-list.json", '"name": "fetch"', '"gone": "fetch"'),
        ("collector.json", '"name":"fetch","kind":1,"startTimeUnixNano":"', '"name":"fetch","startTimeUnixNano":"x'),
    ],
)
def test_an_unreadable_span_is_skipped_and_the_others_are_imported(
    name: str, old: str, new: str, tmp_path: Path
) -> None:
    text = (FILES / name).read_text()
    assert old in text
    path = tmp_path / name
    text = text.replace(old, new)
    if name.endswith("frame.jsonl"):
        text = re.sub(r'("context.span_id": "g".*?), "context.span_id": "\w+"', r"\1", text)
    path.write_text(text)
    records, outcome = imported(path)
    assert [call.tool for call in calls_of(records)] == ["search", "lookup"]
    assert outcome.skipped == 1
