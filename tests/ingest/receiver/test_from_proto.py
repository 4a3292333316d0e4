"""OTLP's protobuf form is read as it was written, and nonsense is refused, never more than that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.ingest.receiver import wire
from tests.strategies import LOG, SPAN
from tooltrace.otel.otlp import proto_layers
from tooltrace.otel.otlp.from_proto import logs_from_proto, spans_from_proto
from tooltrace.otel.otlp.json import MalformedOtlp, logs_from_json, logs_to_json, spans_from_json, spans_to_json
from tooltrace.otel.span_data import LogData, SpanData


def refused(reason: str) -> None:
    pytest.fail(f"refused: {reason}")


def unordered(forms: list[Any]) -> list[str]:
    """A request is grouped, so the order across groups is lost."""
    return sorted(map(repr, forms))


@given(st.lists(SPAN, max_size=4))
def test_spans_are_read_as_they_were_written(forms: list[SpanData]) -> None:
    found = list(spans_from_proto(wire.spans(*forms), refused=refused))
    assert unordered(found) == unordered(forms)
    assert unordered(found) == unordered(list(spans_from_json(spans_to_json(forms), refused=refused)))


@given(st.lists(LOG, max_size=4))
def test_logs_are_read_as_they_were_written(forms: list[LogData]) -> None:
    found = list(logs_from_proto(wire.logs(*forms), refused=refused))
    assert unordered(found) == unordered(forms)
    assert unordered(found) == unordered(list(logs_from_json(logs_to_json(forms), refused=refused)))


@given(st.data())
def test_damage_is_refused_and_no_more(data: st.DataObject) -> None:
    """A byte changed, cut or put in, anywhere."""
    body = bytearray(wire.spans(*data.draw(st.lists(SPAN, min_size=1, max_size=2))))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body)))
        body[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    for read in (spans_from_proto, logs_from_proto, proto_layers.points):
        try:
            list(read(bytes(body)))
        except MalformedOtlp as error:
            assert str(error)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_request_or_malformed(body: bytes) -> None:
    for prefix in (b"", b"\x0a", wire.nested(1, 2, 2, content=body)):
        try:
            list(spans_from_proto(prefix + body))
        except MalformedOtlp as error:
            assert str(error)


def one(span: Span) -> tuple[list[SpanData], list[str]]:
    reasons: list[str] = []
    body = wire.nested(1, 2, 2, content=span.SerializeToString())
    return list(spans_from_proto(body, refused=reasons.append)), reasons


GOOD = Span(trace_id=b"t" * 16, span_id=b"s" * 8, start_time_unix_nano=5)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"trace_id": b""}, "it has no trace id"),
        ({"trace_id": bytes(16)}, "it has no trace id"),
        ({"trace_id": b"t" * 17}, "its trace id is 17 bytes long, not 16"),
        ({"span_id": bytes(8)}, "it has no span id"),
        ({"parent_span_id": b"p" * 16}, "its parent span id is 16 bytes long, not 8"),
        ({"start_time_unix_nano": 0}, "it has no time"),
        ({"links": [Span.Link(trace_id=b"t" * 16)]}, "it has no span id of a link"),
    ],
)
def test_invalid_spans_are_refused(change: dict[str, Any], reason: str) -> None:
    span = Span()
    span.CopyFrom(GOOD)
    for name, value in change.items():
        span.ClearField(name)
        span.MergeFrom(Span(**{name: value}))
    assert one(span) == ([], [reason])


def test_missing_values_are_unknown() -> None:
    (form,), reasons = one(GOOD)
    bare = SpanData(name="", trace_id=b"t".hex() * 16, span_id=b"s".hex() * 8, start_ns=5, end_ns=0)
    assert (form, reasons) == (bare, [])
    later = Span(kind=77, status={"code": 9}, parent_span_id=bytes(8), end_time_unix_nano=7)  # type: ignore[arg-type]
    later.MergeFrom(GOOD)
    assert one(later) == ([replace(bare, end_ns=7)], [])


def test_a_log_without_a_time_has_its_observed_time() -> None:
    log = LogRecord(observed_time_unix_nano=9, severity_number=99)  # type: ignore[arg-type]
    (form,) = logs_from_proto(wire.nested(1, 2, 2, content=log.SerializeToString()))
    assert form == LogData(time_ns=9)


def test_an_attribute_of_a_later_version_is_unknown() -> None:
    later = wire.nested(9, content=wire.field(1, b"k") + wire.nested(2, 99, content=b"?"))
    body = wire.nested(1, 2, 2, content=GOOD.SerializeToString() + later)
    (form,) = spans_from_proto(body, refused=refused)
    assert form.attributes == {"k": None}
