"""OTLP's JSON form: what is written is read back, and what others write is read as the specification asks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import LOG, SPAN
from tooltrace.otel.otlp.json import (
    MAX_DEPTH,
    MalformedOtlp,
    logs_from_json,
    logs_to_json,
    spans_from_json,
    spans_to_json,
)
from tooltrace.otel.span_data import LogData, SpanData

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["1", "a" * 32, "b" * 16]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["resourceSpans", "resourceLogs", "resource", "scopeSpans", "scopeLogs", "scope", "spans", "logRecords"]
                + [
                    "attributes",
                    "key",
                    "value",
                    "stringValue",
                    "intValue",
                    "arrayValue",
                    "kvlistValue",
                    "values",
                    "name",
                ]
                + ["traceId", "spanId", "startTimeUnixNano", "kind", "status", "events", "links", "bytesValue", "body"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)
MINIMAL: dict[str, Any] = {"traceId": "a" * 32, "spanId": "b" * 16, "startTimeUnixNano": "1", "endTimeUnixNano": "2"}


def request(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def by_group(forms: list[Any]) -> list[Any]:
    """In the order in which a request has them: the spans of one resource and scope lie together."""
    resources: list[Any] = []
    places: list[Any] = []
    for form in forms:
        resources += [form.resource] * (form.resource not in resources)
        place = (form.resource, form.scope, form.scope_version)
        places += [place] * (place not in places)
    key = [
        (resources.index(each.resource), places.index((each.resource, each.scope, each.scope_version)))
        for each in forms
    ]
    return [form for _, form in sorted(zip(key, forms, strict=True), key=lambda pair: pair[0])]


@given(st.lists(SPAN, max_size=5))
def test_spans_come_back_equal_by_way_of_text(forms: list[SpanData]) -> None:
    text = json.dumps(spans_to_json(forms))
    assert list(spans_from_json(json.loads(text))) == by_group(forms)


@given(st.lists(LOG, max_size=5))
def test_logs_come_back_equal_by_way_of_text(forms: list[LogData]) -> None:
    text = json.dumps(logs_to_json(forms))
    assert list(logs_from_json(json.loads(text))) == by_group(forms)


@given(SPAN)
def test_protobuf_parses_our_json(form: SpanData) -> None:
    """The ids aside, which OTLP writes as hex where protobuf's own JSON form has base64."""
    json_format = pytest.importorskip("google.protobuf.json_format")
    message = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
    written = json.loads(json.dumps(spans_to_json([form])))
    span = written["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    for holder in (span, *span.get("links", ())):
        for name in ("traceId", "spanId", "parentSpanId"):
            holder.pop(name, None)
    parsed = json_format.ParseDict(written, message.TracesData())
    assert parsed.resource_spans[0].scope_spans[0].spans[0].start_time_unix_nano == form.start_ns
    assert len(parsed.resource_spans[0].scope_spans[0].spans[0].attributes) == len(form.attributes)


@given(JSON)
def test_any_input_raises_only_malformed_otlp(data: Any) -> None:
    for read in (spans_from_json, logs_from_json):
        try:
            forms = list(read(data))
        except MalformedOtlp:
            continue
        assert all(isinstance(form, SpanData | LogData) for form in forms)


@given(st.dictionaries(st.sampled_from([*MINIMAL, "attributes", "kind", "status", "events", "links", "name"]), JSON))
def test_a_span_is_read_or_refused_once_with_a_reason(broken: dict[str, Any]) -> None:
    reasons: list[str] = []
    forms = list(spans_from_json(request(MINIMAL, {**MINIMAL, **broken}, MINIMAL), refused=reasons.append))
    assert len(forms) + len(reasons) == 3
    assert all(reasons)


def test_integers_as_numbers_enums_by_name_and_ids_in_capitals_are_read() -> None:
    loose = {
        "traceId": "A" * 32,
        "spanId": "B" * 16,
        "parentSpanId": "0" * 16,
        "kind": "SPAN_KIND_CLIENT",
        "startTimeUnixNano": 1795277290000000001,
        "endTimeUnixNano": "1795277290000000002",
        "status": {"code": "STATUS_CODE_ERROR"},
        "attributes": [{"key": "n", "value": {"intValue": 7}}, {"key": "d", "value": {"doubleValue": 1}}],
        "flags": 257,
        "unknown": {"later": True},
    }
    (form,) = spans_from_json(request(loose))
    assert (form.trace_id, form.span_id, form.parent_span_id) == ("a" * 32, "b" * 16, None)
    assert (form.kind, form.status, form.start_ns) == ("client", "error", 1795277290000000001)
    assert form.attributes == {"n": 7, "d": 1.0}
    assert isinstance(form.attributes["d"], float)


@pytest.mark.parametrize("number", [str(2**63), 2**70, str(-(2**63) - 1), "9" * 5000])
def test_an_integer_beyond_64_bits_is_read_as_text(number: str | int) -> None:
    (form,) = spans_from_json(request({**MINIMAL, "attributes": [{"key": "n", "value": {"intValue": number}}]}))
    assert form.attributes == {"n": str(number)}


def test_64_bit_integers_are_numbers_and_larger_ones_are_written_as_text() -> None:
    form = SpanData(name="x", **_ids(), start_ns=1, end_ns=2, attributes={"n": 2**62, "huge": 2**64, "t": (True,)})
    span = spans_to_json([form])["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert [pair["value"] for pair in span["attributes"]] == [
        {"intValue": str(2**62)},
        {"stringValue": str(2**64)},
        {"arrayValue": {"values": [{"boolValue": True}]}},
    ]


@pytest.mark.parametrize(("word", "value"), [("Infinity", float("inf")), ("-Infinity", float("-inf"))])
def test_numbers_that_json_has_not_are_words(word: str, value: float) -> None:
    form = SpanData(name="x", **_ids(), start_ns=1, end_ns=2, attributes={"d": value})
    span = spans_to_json([form])["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert span["attributes"][0]["value"] == {"doubleValue": word}


def test_a_lone_surrogate_is_replaced_both_ways() -> None:
    form = SpanData(name="a\ud800", **_ids(), start_ns=1, end_ns=2, attributes={"k\udc00": "\ud800"})
    assert json.dumps(spans_to_json([form]), ensure_ascii=False).encode()
    (read,) = spans_from_json(request({**MINIMAL, "name": "a\ud800"}))
    assert read.name == "a\ufffd"


def test_nesting_is_read_down_to_its_limit_and_refused_beyond() -> None:
    def nested(levels: int) -> dict[str, Any]:
        value: dict[str, Any] = {"intValue": "1"}
        for _ in range(levels):
            value = {"arrayValue": {"values": [value]}}
        return {**MINIMAL, "attributes": [{"key": "deep", "value": value}]}

    reasons: list[str] = []
    forms = list(spans_from_json(request(nested(MAX_DEPTH), nested(MAX_DEPTH + 1)), refused=reasons.append))
    assert len(forms) == 1
    assert reasons == [f"an attribute is nested deeper than {MAX_DEPTH} levels"]


@pytest.mark.parametrize(
    "broken",
    [
        {"traceId": "0" * 32},
        {"traceId": "a" * 31},
        {"traceId": "g" * 32},
        {"traceId": "+" + "1" * 31},
        {"traceId": "١" * 32},
        {"spanId": None},
        {"startTimeUnixNano": "-1", "endTimeUnixNano": 0},
        {"startTimeUnixNano": "0", "endTimeUnixNano": "0"},
        {"startTimeUnixNano": True},
        {"attributes": {"a": 1}},
        {"attributes": [{"value": {"intValue": 1}}]},
        {"attributes": [{"key": "n", "value": {"intValue": "1.5"}}]},
        {"attributes": [{"key": "b", "value": {"bytesValue": "ä"}}]},
        {"events": [1]},
        {"links": [{"traceId": "a" * 32}]},
    ],
)
def test_a_span_that_breaks_the_rules_is_refused_and_its_neighbours_are_read(broken: dict[str, Any]) -> None:
    reasons: list[str] = []
    forms = list(spans_from_json(request(MINIMAL, {**MINIMAL, **broken}, MINIMAL), refused=reasons.append))
    assert (len(forms), len(reasons)) == (2, 1)


@pytest.mark.parametrize(
    "data", [[], 1, {"resourceSpans": 1}, {"resourceSpans": [1]}, {"resourceSpans": [{"scopeSpans": {}}]}]
)
def test_a_value_that_is_not_a_request_is_malformed(data: Any) -> None:
    with pytest.raises(MalformedOtlp):
        list(spans_from_json(data))


def _ids() -> dict[str, Any]:
    return {"trace_id": "a" * 32, "span_id": "b" * 16}
