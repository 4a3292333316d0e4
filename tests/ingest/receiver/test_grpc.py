"""OTLP over gRPC: the same services, the same limits, and answers that a client knows what to do with."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from tests.ingest.receiver import wire
from tests.ingest.receiver.running import Receiving, Running, made, span
from tests.waiting import until

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
UNLIMITED = [("grpc.max_send_message_length", -1)]


def call(running: Running, body: bytes, method: str = TRACES, **more: object) -> bytes:
    with grpc.insecure_channel(running.grpc, options=UNLIMITED) as channel:
        answer = channel.unary_unary(method)(body, **more)
        assert isinstance(answer, bytes)
        return answer


def refusal(running: Running, body: bytes, method: str = TRACES, **more: object) -> tuple[grpc.StatusCode, Status]:
    with pytest.raises(grpc.RpcError) as caught:
        call(running, body, method, **more)
    error = caught.value
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    return error.code(), Status.FromString(details)


def test_the_generated_client_is_understood(receiving: Receiving) -> None:
    running = receiving()
    with grpc.insecure_channel(running.grpc) as channel:
        answer = TraceServiceStub(channel).Export(ExportTraceServiceRequest.FromString(wire.spans(span(1))))
    assert answer == ExportTraceServiceResponse()
    assert running.calls() == [made(1)]


@pytest.mark.parametrize(
    "compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip, grpc.Compression.Deflate]
)
def test_records_are_stored_before_the_acknowledgement(receiving: Receiving, compression: grpc.Compression) -> None:
    running = receiving()
    assert call(running, wire.spans(*map(span, range(20))), compression=compression) == b""
    assert running.calls() == [made(number) for number in range(20)]


def test_partial_success(receiving: Receiving) -> None:
    running = receiving()
    answer = call(running, wire.spans(span(1)) + wire.nested(1, 2, 2, content=b""))
    partial = ExportTraceServiceResponse.FromString(answer).partial_success
    assert (partial.rejected_spans, partial.error_message) == (1, "1 × it has no time")
    metric = wire.nested(1, 2, 2, content=wire.nested(7, 1, content=b""))
    metrics = ExportMetricsServiceResponse.FromString(call(running, metric, METRICS)).partial_success
    assert metrics.rejected_data_points == 1


def test_bad_data_is_refused_for_good(receiving: Receiving) -> None:
    running = receiving()
    code, status = refusal(running, b"\x0a\x7f")
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert status.code == code.value[0]
    assert status.details[0].Unpack(found := BadRequest())
    assert found.field_violations[0].description == status.message
    assert running.records() == []


@pytest.mark.long
@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_message_that_is_too_large_is_refused(receiving: Receiving, compression: grpc.Compression) -> None:
    running = receiving(body_bytes=100_000)
    code, status = refusal(running, bytes(10_000_000), compression=compression)
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not status.details, "a client would send it again"
    until(lambda: running.receiver.admission.requests == 0)
    code, _ = refusal(receiving(items=2), wire.spans(*map(span, range(3))))
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize(
    "metadata", [[("x", "y" * 1_000_000)], [(f"x{number}", "y" * 1_000) for number in range(1_000)]]
)
def test_metadata_that_is_too_large_is_refused(receiving: Receiving, metadata: list[tuple[str, str]]) -> None:
    running = receiving()
    code, _ = refusal(running, wire.spans(span(1)), metadata=metadata)
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert call(running, wire.spans(span(2))) == b"", "other senders go on"
    assert running.calls() == [made(2)]


def test_requests_above_the_memory_limit_get_a_retry_delay(receiving: Receiving) -> None:
    running = receiving(requests=1)
    release = threading.Event()

    def slowly() -> Iterator[bytes]:
        yield wire.spans(span(1))
        release.wait()

    with grpc.insecure_channel(running.grpc) as channel:
        held = channel.stream_unary(TRACES).future(slowly())
        until(lambda: running.receiver.admission.requests == 1)
        code, status = refusal(running, wire.spans(span(2)))
        release.set()
        assert held.result() == b""
    assert code == grpc.StatusCode.UNAVAILABLE
    assert status.details[0].Unpack(info := RetryInfo())
    assert info.retry_delay.seconds == 1
    assert running.calls() == [made(1)]


def test_a_slow_client_is_refused_and_its_slot_released(receiving: Receiving) -> None:
    running = receiving(requests=1, body_seconds=0.2)
    forever = threading.Event()

    def never() -> Iterator[bytes]:
        forever.wait()
        yield b""

    with grpc.insecure_channel(running.grpc) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.stream_unary(TRACES)(never())
    forever.set()
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    until(lambda: running.receiver.admission.requests == 0)

    def taken() -> bool:
        try:
            return call(running, wire.spans(span(1))) == b""
        except grpc.RpcError as error:  # a busy machine makes this one dawdle too
            assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
            return False

    until(taken)


@pytest.mark.parametrize("messages", [0, 2])
def test_a_call_has_one_message(receiving: Receiving, messages: int) -> None:
    running = receiving()
    with grpc.insecure_channel(running.grpc) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.stream_unary(TRACES)(iter([wire.spans(span(1))] * messages))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert running.records() == []


def test_other_services_are_not_there(receiving: Receiving) -> None:
    code, _ = refusal(receiving(), b"", "/opentelemetry.proto.collector.profiles.v1.ProfilesService/Export")
    assert code == grpc.StatusCode.UNIMPLEMENTED


def test_a_receiver_with_a_token_requires_it(receiving: Receiving) -> None:
    running = receiving(token="open-sesame")
    for metadata in ((), (("authorization", "Bearer open"),)):
        code, _ = refusal(running, wire.spans(span(1)), metadata=metadata)
        assert code == grpc.StatusCode.UNAUTHENTICATED
    assert running.records() == []
    assert call(running, wire.spans(span(1)), metadata=(("authorization", "Bearer open-sesame"),)) == b""
    assert running.calls() == [made(1)]
