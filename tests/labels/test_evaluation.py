"""A label goes out as the event ``gen_ai.evaluation.result``, beside the span that it judges."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import opentelemetry._logs._internal as logs_api
import pytest
from click.testing import CliRunner
from opentelemetry._logs import NoOpLoggerProvider
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

import tooltrace as tt
from tooltrace.cli import cli
from tooltrace.core.records import ToolCall
from tooltrace.recording.sinks import evaluation
from tooltrace.redact.redaction import MASK

Events = Callable[[], list[ReadableLogRecord]]


@pytest.fixture(autouse=True)
def forgotten() -> None:
    evaluation._recent._items.clear()


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Events:
    """Log records of the application's LoggerProvider. The provider can be set once per process, so it is patched in."""
    exporter, provider = InMemoryLogRecordExporter(), LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    monkeypatch.setattr(logs_api, "_LOGGER_PROVIDER", provider)

    def read() -> list[ReadableLogRecord]:
        assert tt.flush(None)
        return list(exporter.get_finished_logs())

    return read


def ids(event: ReadableLogRecord) -> tuple[str, str]:
    record = event.log_record
    return f"{record.trace_id or 0:032x}", f"{record.span_id or 0:016x}"


def attributes(event: ReadableLogRecord) -> dict[str, Any]:
    return {key.removeprefix("gen_ai."): value for key, value in (event.log_record.attributes or {}).items()}


def test_a_label_is_an_event_parented_to_the_judged_span(store: Path, calls: Any, events: Events) -> None:
    tt.TraceLogger().record("t", 1, call_id="c")
    tt.label(call_id="c", correct=False, labeler="ann", reason="stale; password=hunter22222")
    (event,) = events()
    (call,) = calls()
    assert ids(event) == (call.trace_id, call.span_id)
    assert event.log_record.event_name == "gen_ai.evaluation.result"
    assert event.instrumentation_scope.name == "tooltrace"
    assert attributes(event) == {
        "evaluation.name": "correctness",
        "evaluation.score.value": 0.0,
        "evaluation.score.label": "incorrect",
        "evaluation.explanation": f"stale; password={MASK}",
        "tool.call.id": "c",
        "tooltrace.labeler": "ann",
        "tooltrace.judged.kind": "call",
        "tooltrace.said": ("correct",),
    }
    with tt.connect() as db:
        at = db.execute("SELECT epoch_us(labeled_at) FROM outcomes").fetchone()
    assert at == (event.log_record.timestamp // 1000,)


@pytest.mark.parametrize(
    ("given", "value", "label"),
    [
        ({"correct": True}, 1.0, "correct"),
        ({"score": 0.5}, 0.5, "correct"),
        ({"score": 0.49}, 0.49, "incorrect"),
        ({"score": 0.0}, 0.0, "incorrect"),
        ({"score": 0.2, "correct": True}, 0.2, "correct"),
    ],
)
def test_score_and_label_are_as_the_view_has_them(
    store: Path, events: Events, given: Any, value: float, label: str
) -> None:
    tt.TraceLogger().record("t", 1, call_id="c")
    tt.label(call_id="c", **given)
    (event,) = events()
    assert (attributes(event)["evaluation.score.value"], attributes(event)["evaluation.score.label"]) == (value, label)
    with tt.connect() as db:
        assert db.execute("SELECT score, correct FROM judged").fetchall() == [(value, label == "correct")]


def test_the_last_reported_attempt_of_a_call_is_judged(store: Path, calls: Any, events: Events) -> None:
    for response in (tt.ToolResponse.error("TIMEOUT", "late"), tt.ToolResponse.success("x")):
        tt.TraceLogger().record("t", response, call_id="c")
    first, second = calls()
    tt.label(call_id="c", correct=True)
    tt.label(span_id=first.span_id, correct=False)
    assert [ids(event)[1] for event in events()] == [second.span_id, first.span_id]
    assert attributes(events()[1])["tooltrace.judged.span_id"] == first.span_id


def test_an_event_without_a_span_has_no_parent(store: Path, events: Events) -> None:
    @tt.trace_tool
    def judge() -> None:
        tt.label(call_id="unknown", correct=True)
        tt.label(span_id="ab" * 8, correct=True)
        tt.label(span_id="no hex at all", correct=True)

    judge()
    assert [ids(event) for event in events()] == [("0" * 32, "0" * 16)] * 3


def test_labels_for_spans_of_other_processes_are_exported(store: Path, calls: Any, events: Events) -> None:
    for number in range(3):
        tt.TraceLogger().record("t", number, call_id=f"c{number}")
    before = {call.call_id: (call.trace_id, call.span_id) for call in calls()}
    evaluation._recent._items.clear()
    assert tt.outcome_from("SELECT 'c1' AS call_id, true AS correct", labeler="sql") == 1
    assert tt.outcome_from("SELECT span_id, true AS correct FROM tool_calls WHERE call_id = 'c2'", labeler="sql") == 1
    assert tt.outcome_from(lambda row: row["call_id"] == "c0" or None, labeler="function") == 1
    assert [ids(event) for event in events()] == [before["c1"], before["c2"], before["c0"]]


def test_synchronous_writes_are_remembered_too(store: Path, calls: Any, events: Events) -> None:
    tt.configure(store=store, durability="call")
    tt.TraceLogger().record("t", 1, call_id="c")
    tt.label(call_id="c", correct=True)
    (event,) = events()
    assert ids(event) == (calls()[0].trace_id, calls()[0].span_id)


def test_labels_of_a_file_are_exported(store: Path, tmp_path: Path, events: Events) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("call_id,score\na,0.5\nb,2\nc,0.25\n")
    assert CliRunner().invoke(cli, ["label", "--file", str(path), "--store", str(store)]).exit_code == 0
    assert [attributes(event)["tool.call.id"] for event in events()] == ["a", "c"]


@pytest.mark.parametrize("provider", [None, NoOpLoggerProvider()])
def test_without_a_provider_nothing_is_made(store: Path, monkeypatch: pytest.MonkeyPatch, provider: Any) -> None:
    monkeypatch.setattr(logs_api, "_LOGGER_PROVIDER", provider)
    assert not evaluation.is_wanted()
    tt.TraceLogger().record("t", 1, call_id="c")
    tt.label(call_id="c", correct=True)
    assert tt.flush(None)
    assert not evaluation._recent._items


@pytest.mark.usefixtures("lenient")
def test_an_exporter_that_fails_costs_no_label(store: Path, events: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no network")

    monkeypatch.setattr("tooltrace.recording.sinks.otel_events.emit", broken)
    tt.TraceLogger().record("t", 1, call_id="c")
    tt.label(call_id="c", correct=True)
    assert tt.outcome_from("SELECT 'c' AS call_id, true AS correct", labeler="x") == 1
    with tt.connect() as db:
        assert db.execute("SELECT count(*) FROM outcomes").fetchone() == (2,)
        assert db.execute("SELECT count(*) FROM losses").fetchone() == (0,)


@pytest.mark.processes
def test_a_forked_child_can_remember(store: Path, events: Events) -> None:
    with evaluation._recent._lock:
        child = os.fork()
        if child == 0:
            done = 1
            try:
                evaluation.remember_call(_call())
                done = 0
            finally:
                os._exit(done)
    assert os.waitpid(child, 0)[1] == 0


def _call() -> ToolCall:
    from datetime import UTC, datetime

    return ToolCall(
        tool="t", call_id="c", trace_id="1" * 32, span_id="2" * 16, started_at=datetime.now(UTC), status="success"
    )
