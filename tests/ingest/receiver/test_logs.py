"""Log events: evaluations and our own become records, redacted; what else comes is not kept, and said."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

from tests.ingest.receiver import wire
from tests.ingest.receiver.running import Receiving, made
from tests.strategies import VALUE
from tooltrace.core.records import Gate, Loss, Message, Outcome
from tooltrace.otel.log_codec import exception_log, to_log
from tooltrace.otel.otlp.json import logs_to_json
from tooltrace.otel.span_data import LogData
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.read.reader import open_reader

MOMENT = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
SPAN = "00000000000000ab"
RECORDS = [
    Outcome(call_id="call_1", correct=True, labeler="human", reason="read it", labeled_at=MOMENT),
    Outcome(span_id=SPAN, score=0.25, labeler="check", labeled_at=MOMENT),
    Gate(call_id="call_1", span_id=SPAN, kind="confirmation", asked_at=MOMENT),
    Gate(
        call_id="call_1", span_id=SPAN, kind="input", decision="approved", asked_at=MOMENT, answered_at=MOMENT,
        answered_by="ann", note="but less", changed=Json('{"limit":3}'), resumed_span_id="00000000000000ac",
    ),
    Message(call_id="call_1", span_id=SPAN, style="openai", text="seen", sha256="a" * 64, length=4, error=False, at=MOMENT),
    Loss(reason="queue_full", count=3, at=MOMENT, detail="x", service="agents", host="there", pid=41),
]  # fmt: skip


@pytest.mark.parametrize("json", [False, True])
def test_native_events_arrive_unchanged(receiving: Receiving, json: bool) -> None:
    running = receiving()
    forms = [to_log(record, trace_id="1" * 32) for record in RECORDS]
    body = orjson.dumps(logs_to_json(forms)) if json else wire.logs(*forms)
    answer = running.post("/v1/logs", body, content_type="application/json" if json else "application/x-protobuf")
    assert answer.content == (b"{}" if json else b"")
    assert running.records() == RECORDS


def test_events_that_are_sent_twice_are_one_row(receiving: Receiving) -> None:
    running = receiving()
    body = wire.logs(*map(to_log, RECORDS))
    running.post("/v1/logs", body)
    fold(running.store)
    running.post("/v1/logs", body)
    with open_reader(StorePaths.of(running.store)) as db:
        counts = db.sql(
            "SELECT (SELECT count(*) FROM outcomes), (SELECT count(*) FROM gates), (SELECT count(*) FROM losses)"
        )
        assert counts.fetchall() == [(2, 2, 1)]


def test_an_evaluation_of_another_program_becomes_an_outcome(receiving: Receiving) -> None:
    running = receiving()
    form = LogData(
        event_name="gen_ai.evaluation.result",
        time_ns=1_800_000_000_000_000_000,
        attributes={"gen_ai.evaluation.name": "Relevance", "gen_ai.evaluation.score.label": "pass",
                    "gen_ai.evaluation.score.value": 0.75, "gen_ai.evaluation.explanation": "token=abcdefgh12345678"},
        trace_id="1" * 32,
        span_id=SPAN,
    )  # fmt: skip
    assert running.post("/v1/logs", wire.logs(form)).content == b""
    (outcome,) = running.records()
    assert isinstance(outcome, Outcome)
    assert (outcome.span_id, outcome.correct, outcome.score, outcome.labeler) == (SPAN, True, 0.75, "Relevance")
    assert outcome.reason == "token=[redacted]"


def test_other_log_records_are_rejected_and_counted(receiving: Receiving) -> None:
    """The event of an exception is: its span says the same. A damaged event of ours is a loss, and counted as one."""
    running = receiving()
    line = LogData(time_ns=1, body="GET / 200", attributes={"code": 200})
    exception = exception_log(made(1, status="error", ending="raised", error_type="E", error_message="m"))
    assert exception is not None
    nobody = LogData(event_name="gen_ai.evaluation.result", time_ns=1, attributes={"gen_ai.evaluation.name": "x"})
    answer = running.post("/v1/logs", wire.logs(line, exception, line, nobody, to_log(RECORDS[0])))
    partial = ExportLogsServiceResponse.FromString(answer.content).partial_success
    assert partial.rejected_log_records == 3
    assert "2 × a log record that is neither an evaluation" in partial.error_message
    assert "the judged call is unknown" in partial.error_message
    outcome, loss = running.records()
    assert outcome == RECORDS[0]
    assert isinstance(loss, Loss)
    assert (loss.reason, loss.count) == ("otlp_rejected", 1)


def test_secrets_in_events_are_redacted(receiving: Receiving) -> None:
    running = receiving()
    secret = "sk-" + "a1B2" * 8
    records = [
        Outcome(call_id="c", correct=False, labeler="human", reason=f"used {secret}", labeled_at=MOMENT),
        Gate(call_id="c", span_id=SPAN, kind="input", asked_at=MOMENT, note=f"key {secret}", changed=Json(f'{{"api_key":"{secret}"}}')),
        Message(call_id="c", text=f"said {secret}", sha256="b" * 64, length=9, error=False, at=MOMENT),
        Loss(reason="x", count=1, at=MOMENT, detail=secret),
    ]  # fmt: skip
    running.post("/v1/logs", wire.logs(*map(to_log, records)))
    assert len(running.records()) == 4
    written = b"".join(file.read_bytes() for file in StorePaths.of(running.store).journal.iterdir())
    assert secret.encode() not in written
    assert written.count(b"[redacted]") == 5


NAMES = st.sampled_from(["gen_ai.evaluation.result", "tooltrace.gate", "tooltrace.message", "tooltrace.loss", "x", ""])
KEYS = st.sampled_from(sorted({key for record in RECORDS for key in to_log(record).attributes})) | st.text()


EVENTS = st.lists(
    st.tuples(NAMES, st.dictionaries(KEYS, VALUE, max_size=8), st.integers(0, 2**64 - 1), VALUE), max_size=4
)


def test_any_log_record_is_stored_or_counted(receiving: Receiving) -> None:
    running = receiving()
    kept = 0

    @given(EVENTS)
    def check(events: list[Any]) -> None:
        nonlocal kept
        forms = [
            LogData(event_name=name, attributes=found, time_ns=time, body=body) for name, found, time, body in events
        ]
        answer = running.post("/v1/logs", wire.logs(*forms))
        assert answer.status_code == 200
        kept += len(forms) - ExportLogsServiceResponse.FromString(answer.content).partial_success.rejected_log_records

    check()
    records = [record for record in running.records() if getattr(record, "reason", None) != "otlp_rejected"]
    assert len(records) == kept
    assert fold(running.store).losses == 0


def test_content_stays_out_where_it_is_not_to_be_recorded(receiving: Receiving) -> None:
    running = receiving(capture="metadata")
    assert running.post("/v1/logs", wire.logs(*map(to_log, RECORDS))).content == b""
    _, _, _, gate, message, _ = running.records()
    assert gate == replace(RECORDS[3], changed=Json('{"limit":null}'))
    assert message == replace(RECORDS[4], text=None)
