"""Records survive protobuf, and the bytes equal those of the SDK."""

from __future__ import annotations

import tracemalloc
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from tests.delivery.shared import made
from tooltrace.core.records import Gate, Loss, Message, Outcome, Span, ToolCall
from tooltrace.exporters import otlp_records
from tooltrace.exporters.otlp_metrics import histograms
from tooltrace.exporters.otlp_records import RecordEncoder
from tooltrace.otel import attributes as names
from tooltrace.otel.log_codec import from_log
from tooltrace.otel.otlp.from_proto import logs_from_proto, spans_from_proto
from tooltrace.otel.otlp.to_proto import any_value, histograms_to_proto, logs_to_proto, spans_to_proto
from tooltrace.otel.span_codec import decode, encode, encode_span
from tooltrace.otel.span_data import EventData, LinkData, LogData, SpanData
from tooltrace.redact.snapshot import Json

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.none() | text | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.binary()
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3))
attributes = st.dictionaries(text.filter(bool), values, max_size=2)
trace_ids = st.integers(1, 2**128 - 1).map(lambda number: f"{number:032x}")
span_ids = st.integers(1, 2**64 - 1).map(lambda number: f"{number:016x}")
times = st.integers(1, 2**62)
spans = st.builds(
    SpanData,
    name=text.filter(bool),
    trace_id=trace_ids,
    span_id=span_ids,
    parent_span_id=st.none() | span_ids,
    kind=st.sampled_from(["internal", "server", "client", "producer", "consumer"]),
    start_ns=times,
    end_ns=st.integers(2**62, 2**63 - 1),
    status=st.sampled_from(["unset", "ok", "error"]),
    description=st.none() | text.filter(bool),
    attributes=attributes,
    events=st.lists(st.builds(EventData, name=text, time_ns=times, attributes=attributes), max_size=2).map(tuple),
    links=st.lists(st.builds(LinkData, trace_id=trace_ids, span_id=span_ids, attributes=attributes), max_size=2).map(
        tuple
    ),
    resource=attributes,
    scope=st.none() | text.filter(bool),
    scope_version=st.none() | text.filter(bool),
)
logs = st.builds(
    LogData,
    event_name=st.none() | text.filter(bool),
    time_ns=st.integers(1, 2**63 - 1),
    severity=st.none() | st.integers(1, 24),
    body=values.filter(lambda value: value is not None),
    attributes=attributes,
    trace_id=st.none() | trace_ids,
    span_id=st.none() | span_ids,
    resource=attributes,
    scope=st.none() | text.filter(bool),
    scope_version=st.none() | text.filter(bool),
)


@given(st.lists(spans, max_size=2))
def test_spans_come_back_as_they_were(forms: list[SpanData]) -> None:
    back = list(spans_from_proto(spans_to_proto(forms).SerializeToString()))
    assert sorted(back, key=repr) == sorted(forms, key=repr)


@given(st.lists(logs, max_size=2))
def test_log_events_come_back_as_they_were(forms: list[LogData]) -> None:
    back = list(logs_from_proto(logs_to_proto(forms).SerializeToString()))
    assert sorted(back, key=repr) == sorted(forms, key=repr)


def test_a_call_is_the_same_after_the_wire() -> None:
    call = made(1, attributes=Json('{"a":{"b":[1,null,"x"]}}'), status="error", error_message="no", confidence=0.25)
    (back,) = spans_from_proto(spans_to_proto([encode(call)]).SerializeToString())
    assert decode(back) == call


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**63, AnyValue(string_value=str(2**63))),
        ("\ud800x", AnyValue(string_value="?x")),
        (datetime(2026, 1, 1, tzinfo=UTC), AnyValue(string_value="2026-01-01 00:00:00+00:00")),
    ],
)
def test_values_that_otlp_lacks_become_text(value: Any, expected: AnyValue) -> None:
    got = any_value(value)
    assert got.WhichOneof("value") == "string_value"
    assert got.string_value.replace("\ufffd", "?") == expected.string_value


def test_deeply_nested_values_stay_readable() -> None:
    value: Any = "end"
    for _ in range(500):
        value = {"a": [value]}
    data = any_value(value).SerializeToString()
    AnyValue.FromString(data)  # protobuf refuses a hundred levels


def test_messages_name_their_semantic_conventions() -> None:
    ours, theirs = encode(made(1)), replace(encode(made(2)), scope="other")
    request = spans_to_proto([ours, theirs])
    schemas = {scope.scope.name: scope.schema_url for group in request.resource_spans for scope in group.scope_spans}
    assert schemas == {"tooltrace": names.SCHEMA_URL, "other": ""}


def test_spans_of_one_process_share_their_resource_and_scope() -> None:
    request = spans_to_proto([encode(made(1)), encode(made(2)), encode(made(3, pid=8))])
    assert [len(group.scope_spans[0].spans) for group in request.resource_spans] == [2, 1]


# durations


def test_the_points_are_those_of_the_sdks_histogram() -> None:
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader], shutdown_on_exit=False).get_meter("t")
    histogram = meter.create_histogram("h", explicit_bucket_boundaries_advisory=list(names.DURATION_BUCKETS))
    durations = [0.0, 10.0, 10.0001, 640.0, 81920.0, 100000.0]
    for duration in durations:
        histogram.record(duration / 1e3)
    (expected,) = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics[0].data.data_points
    (form,) = histograms(made(number, duration_ms=duration) for number, duration in enumerate(durations))
    assert form.buckets == tuple(expected.bucket_counts)
    assert form.bounds == tuple(expected.explicit_bounds)
    assert (form.count, form.min, form.max) == (expected.count, expected.min, expected.max)
    assert form.sum == pytest.approx(expected.sum)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.sampled_from("ab"), st.booleans()), max_size=30), st.integers(0, 20))
def test_each_call_is_counted_once_however_it_is_cut_into_batches(calls: list[Any], cut: int) -> None:
    records = [
        made(number, duration_ms=duration, tool=tool, status="error" if failed else "success", error_type="E")
        for number, (duration, tool, failed) in enumerate(calls)
    ]
    first = histograms(records[:cut])
    end = first[0].end_ns if first else 0
    second = histograms(records[cut:], after_ns=end)
    assert sum(form.count for form in (*first, *second)) == len(records)
    for form in (*first, *second):
        assert form.start_ns < form.end_ns
        assert sum(form.buckets) == form.count
    assert all(form.start_ns >= end for form in second)
    counted = {(f.attributes[names.TOOL_NAME], names.ERROR_TYPE in f.attributes) for f in (*first, *second)}
    assert counted == {(tool, failed) for _, tool, failed in calls}


def test_a_call_without_a_duration_is_not_counted() -> None:
    assert histograms([made(1, duration_ms=None)]) == []
    assert bisect_left(names.DURATION_BUCKETS, 0.01) == 0


def test_metrics_have_delta_temporality_and_one_series_per_service() -> None:
    request = histograms_to_proto(histograms([made(1, pid=1), made(2, pid=2)]))
    (group,) = request.resource_metrics
    (metric,) = group.scope_metrics[0].metrics
    assert (metric.name, metric.unit, metric.histogram.aggregation_temporality) == (names.DURATION_METRIC, "s", 1)
    assert [point.count for point in metric.histogram.data_points] == [2]
    assert {pair.key for pair in group.resource.attributes} == {"service.name", "host.name"}


# resources, and what is said of calls

AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_labels_and_gates_are_events_of_their_span() -> None:
    forms = RecordEncoder("labeler", "h2")
    forms.log(made(1))
    outcome = Outcome(call_id="c1", correct=True, labeled_at=AT)
    form = forms.log(outcome)
    assert form is not None
    assert (form.trace_id, form.span_id) == ("a" * 32, f"{2:016x}")
    assert (form.resource["service.name"], form.resource["host.name"]) == ("shop", "h1")
    assert from_log(form) == outcome
    unknown = forms.log(Outcome(call_id="c9", correct=True, labeled_at=AT))
    assert unknown is not None
    assert unknown.trace_id is None
    assert unknown.resource["service.name"] == "labeler"


@pytest.mark.parametrize(
    "record",
    [
        Outcome(span_id=f"{2:016x}", score=0.5, labeled_at=AT),
        Gate(call_id="c1", span_id=f"{2:016x}", kind="input", asked_at=AT, changed=Json('{"a":1}')),
        Message(call_id="c1", span_id=f"{2:016x}", sha256="0" * 64, length=3, error=False, at=AT),
        Message(call_id="c1", sha256="0" * 64, length=3, error=False, at=AT),
        Loss(reason="queue_full", count=3, at=AT, service="s", host="h", pid=4),
    ],
)
def test_every_record_but_spans_round_trips_through_otlp(record: Any) -> None:
    forms = RecordEncoder("x", "y")
    forms.log(made(1))
    form = forms.log(record)
    assert form is not None
    (back,) = logs_from_proto(logs_to_proto([form]).SerializeToString())
    assert from_log(back) == record


def test_the_resource_of_the_environment_applies_to_this_service_and_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=core,deployment.environment.name=prod,service.name=other")
    forms = RecordEncoder("shop", "h1")
    mine, other = forms.span(made(1)), forms.span(made(2, service="else"))
    assert mine is not None
    assert other is not None
    assert mine.resource["team"] == "core"
    assert "deployment.environment.name" not in mine.resource, "the environment of the exporter is not that of the call"
    assert mine.resource["service.name"] == "shop"
    assert mine.resource["process.pid"] == 7
    assert "team" not in other.resource
    assert decode(mine) == made(1)


def test_the_resource_has_the_calls_own_release_and_environment_and_the_configured_attributes() -> None:
    forms = RecordEncoder("shop", "h1", {"region": "eu"})
    call = made(1, release="1.2", environment="staging", model="m")
    span, _ = forms.span(call), forms.log(call)
    label = forms.log(Outcome(call_id=call.call_id, correct=True, labeled_at=AT))
    assert span is not None
    assert label is not None
    known = {"service.version": "1.2", "deployment.environment.name": "staging", "region": "eu"}
    assert span.resource.items() >= known.items()
    assert label.resource.items() >= known.items()
    assert span.attributes["tooltrace.model"] == "m"
    assert decode(span) == call


def test_an_outcome_refers_to_the_span_of_a_call_without_an_id_of_its_own() -> None:
    forms = RecordEncoder("shop", "h1")
    forms.log(made(1, call_id=f"{2:016x}"))
    form = forms.log(Outcome(call_id=f"{2:016x}", correct=True, labeled_at=AT))
    assert form is not None
    assert (form.trace_id, form.span_id) == ("a" * 32, f"{2:016x}")


def test_the_memory_of_an_encoder_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_records, "REMEMBERED_IDS", 1_000)
    forms = RecordEncoder("shop", "h1")
    encoded = 0

    def growth(calls: int, encode: Callable[[ToolCall], object]) -> float:
        nonlocal encoded
        before, _ = tracemalloc.get_traced_memory()
        for number in range(encoded, encoded + calls):
            encode(made(number))
        encoded += calls
        return (tracemalloc.get_traced_memory()[0] - before) / calls

    tracemalloc.start()
    try:
        growth(100, forms.span)  # what the first calls load
        assert growth(1_000, forms.span) < 100, "bytes of each call: spans refer to no other call"
        growth(1_100, forms.log)
        assert growth(1_000, forms.log) < 100
    finally:
        tracemalloc.stop()


def test_an_external_span_is_sent_unchanged() -> None:
    record = Span(
        trace_id="a" * 32, span_id="b" * 16, parent_span_id="c" * 16, name="chat", span_kind="client", started_at=AT,
        duration_ms=2.5, status="error", status_message="no", attributes=Json('{"gen_ai.request.model":"m"}'),
        events=Json('[{"name":"e","at":"2026-01-01T00:00:00.000001Z","attributes":{"x":1}}]'),
        links=Json('[{"trace_id":"%s","span_id":"%s","attributes":{}}]' % ("d" * 32, "e" * 16)),
        scope="lib", scope_version="2", service="s", host="h", pid=3,
    )  # fmt: skip
    form = encode_span(record)
    start = int(AT.timestamp()) * 10**9
    assert (form.start_ns, form.end_ns, form.kind, form.status) == (start, start + 2_500_000, "client", "error")
    assert form.events == (EventData(name="e", time_ns=start + 1000, attributes={"x": 1}),)
    assert form.links == (LinkData(trace_id="d" * 32, span_id="e" * 16),)
    assert form.resource == {"service.name": "s", "host.name": "h", "process.pid": 3}
    assert timedelta(milliseconds=record.duration_ms or 0) == timedelta(microseconds=2500)
