"""A log event that went over the wire, as the SDK sends it or as the collector writes it, is the record again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from hypothesis import given
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs

import tooltrace as tt
from tests.conftest import records
from tests.otel.conftest import Logs, exporting
from tests.otel.test_log_codec import records as any_record
from tooltrace.core.records import Outcome
from tooltrace.otel.log_codec import from_log, to_log
from tooltrace.otel.otlp.from_proto import logs_from_proto
from tooltrace.otel.otlp.json import logs_from_json, logs_to_json


def test_a_label_sent_by_the_application_equals_the_stored_label(store: Path, logs: Logs) -> None:
    log = tt.TraceLogger()
    log.record("t", 1, call_id="c")
    log.record("t", 2, call_id="d")
    tt.label(call_id="c", correct=False, labeler="ann", reason="stale")
    tt.label(call_id="c", score=0.25, labeler="judge")
    tt.label(call_id="d", correct=True, score=0.5)
    tt.label(span_id="ab" * 8, correct=True)
    sent = encode_logs(logs()).SerializeToString()
    kept = [record for record in records(store) if isinstance(record, Outcome)]
    assert [from_log(form) for form in logs_from_proto(sent)] == kept
    assert len(kept) == 4


def test_an_exception_sent_by_the_application_is_not_a_second_record(store: Path, logs: Logs) -> None:
    @tt.trace_tool
    def broken() -> None:
        raise OSError("full")

    try:
        broken()
    except OSError:
        pass
    (form,) = logs_from_proto(encode_logs(logs()).SerializeToString())
    assert (form.event_name, from_log(form)) == ("gen_ai.execute_tool.exception", None)


def test_a_label_of_an_unknown_call_belongs_to_no_span_that_happens_to_be_current(store: Path, logs: Logs) -> None:
    tt.shutdown()  # from here on the caller's own thread sends
    with exporting()[0].get_tracer("judge").start_as_current_span("evaluate"):
        tt.label(call_id="unknown", correct=True)
    (event,) = logs()
    assert (event.log_record.trace_id, event.log_record.span_id) == (0, 0)


@given(any_record)
def test_every_event_is_read_back_from_the_collectors_json(record: Any) -> None:
    written = orjson.loads(orjson.dumps(logs_to_json([to_log(record)])))
    assert [from_log(form) for form in logs_from_json(written)] == [record]
