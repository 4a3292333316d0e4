"""Records sent by the SDK's own exporters arrive once, equal to those of the sender."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest
from msgspec.structs import replace
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

import tooltrace as tt
from tests.ingest.receiver.running import Receiving, Running
from tooltrace.core.records import Outcome, Span, ToolCall
from tooltrace.otel.log_codec import to_log
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import decode
from tooltrace.store.read.reader import open_reader

ORIGIN = {"service.name": "agents", "host.name": "there", "process.pid": 41}

SPANS: dict[str, Callable[[Running], SpanExporter]] = {
    "http": lambda it: HttpSpans(f"{it.url}/v1/traces"),
    "http gzip": lambda it: HttpSpans(f"{it.url}/v1/traces", compression=Compression.Gzip),
    "http deflate": lambda it: HttpSpans(f"{it.url}/v1/traces", compression=Compression.Deflate),
    "grpc": lambda it: GrpcSpans(it.grpc, insecure=True),
    "grpc gzip": lambda it: GrpcSpans(it.grpc, insecure=True, compression=grpc.Compression.Gzip),
}
LOGS: dict[str, Callable[[Running], LogRecordExporter]] = {
    "http": lambda it: HttpLogs(f"{it.url}/v1/logs"),
    "grpc": lambda it: GrpcLogs(it.grpc, insecure=True),
}
METRICS: dict[str, Callable[[Running], MetricExporter]] = {
    "http": lambda it: HttpMetrics(f"{it.url}/v1/metrics"),
    "grpc": lambda it: GrpcMetrics(it.grpc, insecure=True),
}

Record = Callable[[SpanExporter], TracerProvider]


@tt.trace_tool(name="search", version="2.1")
def search(query: str, limit: int = 3) -> tt.ToolResponse:
    if query == "raise":
        raise TimeoutError("no answer from the index")
    if query == "fail":
        return tt.ToolResponse.error(tt.ToolErrorCode.TIMEOUT, "too slow", retryable=True, suggestion="wait")
    if query == "part":
        return tt.ToolResponse.partial("three of many", {"rows": [1, 2, 3]}, reason="truncated")
    return tt.ToolResponse.success(f"Ergebnis für {query} ✓", {"rows": [limit]}, confidence=0.75, stats={"ms": 1.5})


@pytest.fixture
def record(store: Path) -> Iterator[Record]:
    """Record into ``store`` and export besides, until the provider is shut down."""
    providers = []

    def record(exporter: SpanExporter) -> TracerProvider:
        provider = TracerProvider(resource=Resource(ORIGIN))
        provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=20_000))
        providers.append(provider)
        tt.configure(store=store, tracer_provider=provider)
        return provider

    yield record
    for provider in providers:
        provider.shutdown()


def calls_of(store: Path) -> list[ToolCall]:
    """Return the records in the journals of ``store``; attributes of a span have no order."""
    lines = [
        line for file in StorePaths.of(store).journal.glob("*.jsonl") for line in file.read_bytes().splitlines(True)
    ]
    calls = [found for line in lines if isinstance(found := decode(line), ToolCall)]
    ordered = [replace(call, attributes=_sorted(call.attributes)) for call in calls]
    return sorted(ordered, key=lambda call: call.span_id)


def _sorted(text: str | None) -> Json | None:
    return None if text is None else Json(json.dumps(json.loads(text), sort_keys=True))


def as_the_resource_says(calls: list[ToolCall]) -> list[ToolCall]:
    """A span tells of its maker what the provider's resource does."""
    return [replace(call, service="agents", host="there", pid=41) for call in calls]


@pytest.mark.parametrize("way", SPANS)
def test_each_kind_of_call_arrives_as_it_was_recorded(
    receiving: Receiving, record: Record, store: Path, way: str
) -> None:
    running = receiving()
    provider = record(SPANS[way](running))
    with tt.context(conversation_id="talk", agent="planner"):
        for number, query in enumerate(("cats", "fail", "part", "raise", "token=abcdefgh12345678", "x" * 200_000)):
            with tt.TraceLogger().call("given", {"q": query}, call_id=f"call_{number}") as call:
                call.finish({"ok": True})
            with suppress(TimeoutError):
                search(query)
    assert tt.flush()
    provider.shutdown()
    received = calls_of(running.store)
    assert len(received) == 12
    assert received == as_the_resource_says(calls_of(store))


@pytest.mark.processes
@pytest.mark.parametrize("way", [pytest.param("http gzip", marks=pytest.mark.simulations), "grpc"])
@pytest.mark.long
def test_thousands_of_spans_arrive_once_each(receiving: Receiving, record: Record, store: Path, way: str) -> None:
    running = receiving()
    provider = record(SPANS[way](running))
    for number in range(3_000):
        search(f"query {number}", limit=number)
    assert tt.flush(None)
    provider.shutdown()
    columns = "tool, call_id, span_id, trace_id, started_at, duration_ms, status, confidence, text, arguments, result"
    found = {}
    for where in (store, running.store):
        with open_reader(StorePaths.of(where)) as db:
            found[where] = db.sql(f"SELECT {columns} FROM tool_calls ORDER BY span_id").fetchall()
    assert len(found[store]) == 3_000
    assert found[running.store] == found[store]


@pytest.mark.long
@pytest.mark.parametrize("way", ["http", "grpc"])
def test_spans_that_are_not_tool_calls_are_stored_as_spans(receiving: Receiving, way: str) -> None:
    running = receiving()
    provider = TracerProvider(resource=Resource(ORIGIN))
    provider.add_span_processor(BatchSpanProcessor(SPANS[way](running)))
    tracer = provider.get_tracer("agents", "1.2")
    with tracer.start_as_current_span("plan", attributes={"step": 3}) as plan:
        tracer.start_span("execute_tool look", attributes={
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_9",
            "gen_ai.tool.call.arguments": '{"at":"sea"}', "gen_ai.tool.call.result": '{"error":"no such place"}',
        }).end()  # fmt: skip
    provider.shutdown()
    (span,) = (record for record in running.records() if isinstance(record, Span))
    (call,) = running.calls()
    assert (span.name, span.service, span.scope, span.attributes) == ("plan", "agents", "agents", '{"step":3}')
    assert span.span_id == f"{plan.get_span_context().span_id:016x}" == call.parent_span_id
    assert (call.tool, call.call_id, call.status, call.error_message) == ("look", "call_9", "error", "no such place")
    assert call.arguments == '{"at":"sea"}'


@pytest.mark.parametrize("way", LOGS)
def test_a_label_arrives_unchanged(receiving: Receiving, way: str) -> None:
    running = receiving()
    provider = LoggerProvider(resource=Resource(ORIGIN))
    provider.add_log_record_processor(BatchLogRecordProcessor(LOGS[way](running)))
    moment = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
    outcomes = [
        Outcome(call_id="call_1", correct=True, labeler="human", labeled_at=moment),
        Outcome(span_id="00000000000000ab", score=0.25, labeler="check", reason="stale", labeled_at=moment),
    ]
    for form in map(to_log, outcomes):
        logger = provider.get_logger("tooltrace")
        logger.emit(timestamp=form.time_ns, attributes=form.attributes, event_name=form.event_name)
    provider.shutdown()
    assert running.records() == outcomes


@pytest.mark.parametrize("way", METRICS)
def test_metrics_are_accepted_and_not_stored(receiving: Receiving, way: str) -> None:
    running = receiving()
    reader = PeriodicExportingMetricReader(METRICS[way](running), export_interval_millis=60_000)
    provider = MeterProvider([reader], Resource(ORIGIN))
    provider.get_meter("m").create_counter("n").add(1)
    assert provider.force_flush()
    provider.shutdown()
    assert running.records() == []
