"""A secret in any text field of any record reaches neither the journal, nor a receiver, nor a span or a log line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tooltrace as tt
from tests.delivery.shared import otlp
from tests.exporters.otlp.receiver import HttpReceiver
from tooltrace.analysis import saved_queries
from tooltrace.core.fields import fields_of
from tooltrace.core.record_redaction import OWN_TEXTS
from tooltrace.core.records import (
    RECORD_TYPES,
    Begun,
    Correction,
    Gate,
    Json,
    Loss,
    Message,
    Outcome,
    SavedQuery,
    Span,
    ToolCall,
)
from tooltrace.delivery.batch import DeadLetterWriter, RefusedRecords
from tooltrace.errors import BadParameter
from tooltrace.ingest.reredact import reredact
from tooltrace.integrations.reviews import PendingReview, record_answer, record_question
from tooltrace.recording import config
from tooltrace.recording.settings import Settings
from tooltrace.store.duckdb_store import DuckDBStore
from tooltrace.store.journal.delivery_cursors import DestinationFiles

AT = datetime(2026, 1, 1, tzinfo=UTC)
FORMS: dict[str, tuple[Callable[[int], str], tt.Redaction]] = {
    "a token of a vendor": (lambda number: f"ghp_{number:03}abcdefghijKLMNOPQRSTuvwxyz0123456", tt.Redaction()),
    "a form of the application": (lambda number: f"XQ{number:03}ZY", tt.Redaction(patterns=[r"XQ\d{3}ZY"])),
}


class Planted:
    """Different secrets, one for each field."""

    def __init__(self, form: Callable[[int], str]) -> None:
        self.form = form
        self.fields: dict[str, str] = {}

    def __call__(self, record: type[Any], field: str) -> str:
        return self.fields.setdefault(f"{record.__name__}.{field}", self.form(len(self.fields)))

    def leaks(self, where: str) -> list[str]:
        return [name for name, secret in self.fields.items() if secret in where]


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    made = HttpReceiver()
    yield made
    made.stop()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", RECORD_TYPES)
def test_a_record_that_comes_in_has_no_secret_in_any_field(kind: type[Any], form: str) -> None:
    plant, redaction = Planted(FORMS[form][0]), FORMS[form][1]
    other: dict[Any, Any] = {int: 1, float: 0.5, bool: True, datetime: AT}
    values = {
        field.name: Json(f'{{"a":["{plant(kind, field.name)}"]}}') if field.type is Json
        else plant(kind, field.name) if field.is_text
        else other[field.type]
        for field in fields_of(kind)
    }  # fmt: skip
    safe = reredact(kind(**values), Settings(store=None, redaction=redaction))
    assert plant.leaks(repr(safe)) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_record_of_this_process_has_no_secret_in_any_field(
    store: Any, form: str, receiver: HttpReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    plant, redaction = Planted(FORMS[form][0]), FORMS[form][1]
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    tt.configure(
        store=store, redact=redaction, tracer_provider=provider, export=otlp(receiver.endpoint), begun_after=0,
        service=plant(ToolCall, "service"), release=plant(ToolCall, "release"), environment=plant(ToolCall, "environment"),
    )  # fmt: skip
    calls(plant)
    judgements(plant)
    tt.flush(None)
    deliveries(plant, store)
    queries(plant, store)
    texts = {f"{kind.__name__}.{name}" for kind, fields in OWN_TEXTS.items() for name in fields}
    of_begun = {f"Begun.{name}" for name in OWN_TEXTS[Begun] if f"ToolCall.{name}" in plant.fields}  # of the same call
    assert texts - plant.fields.keys() - of_begun == CANNOT, "each other field has a secret above"

    tt.shutdown(None)
    receiver.wait_until(lambda: receiver.logs and receiver.spans)
    on_disk = "".join(
        file.read_text(errors="replace") for file in store.parent.rglob("*") if file.suffix in (".jsonl", ".json")
    )
    assert plant.leaks(on_disk) == []
    assert plant.leaks("".join(str(request.message) for request in receiver.requests)) == []
    assert plant.leaks("".join(span.to_json() for span in spans.get_finished_spans())) == []
    assert plant.leaks(caplog.text) == []


def calls(plant: Planted) -> None:
    """Record calls with a secret in each field of ``ToolCall``."""

    def planted(*names: str) -> dict[str, Any]:
        return {name: plant(ToolCall, name) for name in names}

    response = tt.ToolResponse.error(
        plant(ToolCall, "code"), plant(ToolCall, "error_message"),
        data={"r": plant(ToolCall, "result")}, context={"c": plant(ToolCall, "context")}, stats={"s": plant(ToolCall, "stats")},
        signals={plant(ToolCall, "signals"): 0.5}, confidence=0.5, explanation=plant(ToolCall, "explanation"),
        sources=[{"label": plant(ToolCall, "sources")}], suggestion=plant(ToolCall, "suggestion"),
        user_message=plant(ToolCall, "user_message"), type=plant(ToolCall, "error_type"),
    )  # fmt: skip
    response = response.model_copy(
        update={
            "meta": tt.ResponseMeta(rule=plant(ToolCall, "rule"), flags=(plant(ToolCall, "flags"),)),
            "text": plant(ToolCall, "text"),
        }
    )
    options = {name: plant(ToolCall, f"tool_{name}") for name in ("version", "description")}

    @tt.trace_tool(name=plant(ToolCall, "tool"), tool_type=plant(ToolCall, "tool_type"), **options)
    def tool(argument: str) -> Any:
        return response

    with tt.context(**planted("call_id", "conversation_id", "agent", "model"), attributes=planted("attributes")):
        tool(plant(ToolCall, "arguments"))

    failing = type(plant(ToolCall, "error_type"), (Exception,), {})
    namespace: dict[str, Any] = {"failing": failing}
    code = f"def fail():\n raise failing({plant(ToolCall, 'error_message')!r})"
    exec(compile(code, plant(ToolCall, "traceback"), "exec"), namespace)
    with pytest.raises(failing):
        tt.trace_tool(name="failing")(namespace["fail"])()


def judgements(plant: Planted) -> None:
    """Record labels, corrections, gates and messages with a secret in each field."""

    def planted(kind: type[Any], *names: str) -> dict[str, Any]:
        return {name: plant(kind, name) for name in names}

    tt.label(correct=True, **planted(Outcome, "call_id", "span_id", "labeler", "reason"))
    tt.label(correct=True, **planted(Outcome, "conversation_id"))
    tt.correct(status="error", **planted(Correction, "call_id", "span_id", "code", "reason", "labeler"))
    recorder = config.get_recorder()
    review = PendingReview("1" * 16, plant(Gate, "call_id"), "confirmation", AT)
    record_question(recorder, review, None)
    record_answer(recorder, review, "approved", None, note=plant(Gate, "note"), changed={"a": plant(Gate, "changed")})
    recorder.record_model_message(plant(Message, "call_id"), plant(Message, "text"), style=plant(Message, "style"))

    registry = tt.ToolRegistry()
    registry.register(lambda amount: amount, name="pays", requires_confirmation=True)
    paused = registry.execute("pays", {"amount": 1}, call_id=plant(Gate, "call_id"))
    registry.resume(paused, approve=True, answered_by=plant(Gate, "answered_by"), note=plant(Gate, "note"))


def deliveries(plant: Planted, store: Any) -> None:
    """Let a destination refuse records, with an answer that has a secret of a known form: a deliverer has no other rules."""
    plant.form = FORMS["a token of a vendor"][0]
    letters = DeadLetterWriter(DestinationFiles.of(store, "other"))
    letters.add(RefusedRecords("traces", f"answered 400: {plant(Loss, 'detail')}", 1))
    letters.close()


def queries(plant: Planted, store: Any) -> None:
    """Save queries, on a page whose process has the built-in rules; one with a secret in its name or its SQL is refused."""
    backend = DuckDBStore(store)
    for name, sql in ((plant(SavedQuery, "name"), "SELECT 1"), ("one", f"SELECT '{plant(SavedQuery, 'sql')}'")):
        with pytest.raises(BadParameter):
            saved_queries.save_query(backend, name, sql)
    saved_queries.save_query(backend, "two", "SELECT 2", saved_by=plant(SavedQuery, "saved_by"))


CANNOT = {
    "ToolCall.next_action", "ToolCall.seen_text", "ToolCall.host", "Begun.host", "Correction.rule", "Loss.reason", "Loss.service", "Loss.host",
    *(f"Span.{name}" for name in OWN_TEXTS[Span]),
}  # fmt: skip
"""Names of a list, the machine's name, what the store joins, and spans of other libraries, which come in as above."""
