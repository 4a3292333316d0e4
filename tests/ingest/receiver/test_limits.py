"""No request fills the memory, and none keeps others out for long."""

from __future__ import annotations

import gzip
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.ingest.receiver import wire
from tests.ingest.receiver.running import PROTOBUF, Receiving, made, span
from tests.waiting import until
from tooltrace.core import zstd
from tooltrace.ingest.receiver.ingester import LARGE_AT_ONCE
from tooltrace.ingest.receiver.limits import ReceiverLimits
from tooltrace.otel.otlp.from_proto import ITEM_BYTES, MAX_PARTS

MIB = 1024 * 1024
BODY = ReceiverLimits().body_bytes


def zeros(size: int, window: int = 31) -> bytes:
    """``size`` zero bytes, compressed."""
    packer = zlib.compressobj(1, wbits=window)
    return b"".join([packer.compress(bytes(MIB)) for _ in range(size // MIB)]) + packer.flush()


def bomb_of_spans() -> bytes:
    return wire.nested(1, 2, content=b"\x12\x00" * (BODY // 2 - 20))


PACKED = {"content_encoding": "gzip"}
BOMBS: dict[str, tuple[Callable[[], bytes], dict[str, str], int]] = {
    "gzip": (lambda: zeros(512 * MIB), PACKED, 413),
    "zstd": (lambda: zstd.codec().compress(bytes(512 * MIB)), {"content_encoding": "zstd"}, 413),
    "deflate": (lambda: zeros(512 * MIB, 15), {"content_encoding": "deflate"}, 413),
    "empty spans": (lambda: gzip.compress(bomb_of_spans()), PACKED, 413),
    "empty metrics": (lambda: gzip.compress(bomb_of_spans()), PACKED, 413),
    "empty resources": (lambda: gzip.compress(b"\x0a\x00" * (BODY // 2)), PACKED, 400),
    "empty scopes": (lambda: gzip.compress(wire.nested(1, content=b"\x12\x00" * (BODY // 2 - 20))), PACKED, 400),
    "empty attributes": (lambda: gzip.compress(wire.nested(1, 2, 2, content=b"\x4a\x00" * (BODY // 2 - 20))), PACKED, 200),
    "a resource of nothing": (
        lambda: gzip.compress(wire.field(1, wire.nested(1, content=b"\x0a\x00" * (BODY // 2 - 20)) + b"\x12\x00")),
        PACKED, 400,
    ),
    "empty objects": (
        lambda: gzip.compress(b'{"resourceSpans":[' + b"{}," * (BODY // 3 - 20) + b"{}]}"),
        {**PACKED, "content_type": "application/json"}, 413,
    ),
}  # fmt: skip


@contextmanager
def grown() -> Iterator[Callable[[], float]]:
    """How many MiB more than at the start of the block the process held at once."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _peak()
    yield lambda: _peak() - before


def _peak() -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory can be asked for on Linux")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[]
            if name in {"gzip", "empty spans", "empty resources", "empty objects"}
            else pytest.mark.simulations,
        )
        for name in BOMBS
    ],
)
def test_a_bomb_is_refused_in_bounded_memory(receiving: Receiving, name: str) -> None:
    running = receiving()
    make_body, headers, status = BOMBS[name]
    body = make_body()
    path = "/v1/metrics" if "metrics" in name else "/v1/traces"
    assert running.post(path, b"").status_code == 200
    with grown() as more:
        assert running.post(path, body, **headers).status_code == status
        assert more() < 700  # of which the sender holds some too
    assert running.calls() == []


@pytest.mark.parametrize("announced", [True, False])
def test_a_too_large_body_is_refused_before_it_is_read_completely(receiving: Receiving, announced: bool) -> None:
    running = receiving(body_bytes=1000)
    body = wire.spans(*map(span, range(10)))
    sent = body if announced else (body[at : at + 100] for at in range(0, len(body), 100))
    answer = running.client.post(f"{running.url}/v1/traces", content=sent, headers=PROTOBUF)
    assert answer.status_code == 413
    assert "larger than 1,000 bytes" in Status.FromString(answer.content).message
    assert running.post("/v1/traces", wire.spans(span(1))).status_code == 200
    assert running.calls() == [made(1)]


@pytest.mark.long
def test_what_all_spans_share_is_bounded_before_each_is_searched_for_secrets(receiving: Receiving) -> None:
    running = receiving()
    name = "x" * (3 * MIB)
    forms = [replace(span(n), resource={"service.name": name}, scope=name) for n in range(50)]
    assert running.post("/v1/traces", wire.spans(*forms)).status_code == 200
    assert {found.service for found in running.records()} == {"(a text of 3,145,728 characters)"}


def test_a_request_that_takes_too_long_is_refused_as_a_whole(receiving: Receiving) -> None:
    running = receiving(cpu_seconds=0)
    answer = running.post("/v1/traces", wire.spans(*map(span, range(10))))
    assert answer.status_code == 413
    assert "CPU time" in Status.FromString(answer.content).message
    assert running.records() == []


def test_a_request_with_too_many_spans_is_refused(receiving: Receiving) -> None:
    running = receiving(items=10)
    for body in (wire.spans(*map(span, range(11))), wire.nested(1, 2, content=b"\x12\x00" * 11)):
        assert running.post("/v1/traces", body).status_code == 413
    assert running.records() == []
    assert running.post("/v1/traces", wire.spans(*map(span, range(10)))).content == b""
    assert len(running.calls()) == 10


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (wire.field(5, b"x" * ITEM_BYTES), "larger than 4 MiB"),
        (b"\x4a\x00" * (MAX_PARTS + 1), f"{MAX_PARTS + 1:,} attributes"),
        (b"\x5a\x00" * (MAX_PARTS + 1), f"{MAX_PARTS + 1:,} events"),
        (b"\x6a\x00" * (MAX_PARTS + 1), f"{MAX_PARTS + 1:,} links"),
        (wire.nested(9, 2, *[5, 1] * 60, content=b"\x08\x01"), "not valid protobuf"),
        (wire.nested(9, 2, *[6, 1, 2] * 28, content=b"\x08\x01"), None),
        (wire.nested(9, 2, *[6, 1, 2] * 2000, content=b"\x08\x01"), "not valid protobuf"),
    ],
)
def test_an_oversized_span_is_dropped_and_its_neighbours_are_stored(
    receiving: Receiving, content: bytes, reason: str | None
) -> None:
    running = receiving()
    required = wire.field(1, b"\x01" * 16) + wire.field(2, b"\x01" * 8) + b"\x39" + b"\x01" * 8
    monster = wire.nested(1, 2, 2, content=required + content)
    answer = running.post("/v1/traces", monster + wire.spans(span(1)))
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert answer.status_code == 200
    assert partial.rejected_spans == (reason is not None)
    assert (reason or "") in partial.error_message
    assert made(1) in running.calls()


def test_a_slow_client_is_refused_and_its_slot_released(receiving: Receiving) -> None:
    running = receiving(body_seconds=0.2, requests=1)
    with socket.create_connection(("127.0.0.1", running.ports.http)) as slow:
        slow.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n")
        slow.sendall(b"content-length: 100\r\n\r\nabc")
        assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")
    until(lambda: running.receiver.admission.requests == 0)
    until(lambda: running.post("/v1/traces", b"").status_code == 200)  # 408 too, where a busy machine makes it dawdle


def test_a_disconnected_client_occupies_no_slot(receiving: Receiving) -> None:
    running = receiving(requests=1)
    with socket.create_connection(("127.0.0.1", running.ports.http)) as left:
        left.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n")
        left.sendall(b"content-length: 100\r\n\r\nabc")
        until(lambda: running.receiver.admission.requests == 1)
    until(lambda: running.receiver.admission.requests == 0)
    assert running.receiver.admission.bytes == 0
    assert running.post("/v1/traces", b"").status_code == 200


@pytest.mark.parametrize("limit", [{"requests": 1}, {"waiting_bytes": 3000}])
def test_requests_above_the_memory_limit_must_retry(receiving: Receiving, limit: dict[str, int]) -> None:
    running = receiving(**limit)
    body = wire.spans(*map(span, range(4)))
    assert 1500 < len(body) < 3000
    with socket.create_connection(("127.0.0.1", running.ports.http)) as slow:
        slow.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n")
        slow.sendall(b"content-length: %d\r\n\r\n" % len(body) + body[:-1])
        until(lambda: running.receiver.admission.bytes == len(body) - 1)
        busy = running.post("/v1/traces", body)
        assert busy.status_code == 429
        assert busy.headers["retry-after"] == "1"
        info = RetryInfo()
        assert Status.FromString(busy.content).details[0].Unpack(info)
        assert info.retry_delay.seconds == 1
        slow.sendall(body[-1:])
        assert slow.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert running.post("/v1/traces", body).status_code == 200
    assert len(running.calls()) == 4  # the second was the same again
    assert running.receiver.admission.bytes == 0


@pytest.mark.long
def test_a_large_request_does_not_delay_a_small_one(receiving: Receiving) -> None:
    running = receiving()
    large = wire.spans(*map(span, range(20_000)))
    release = threading.Event()
    for _ in range(LARGE_AT_ONCE):  # other large requests that take their time
        running.receiver.ingester._large.submit(release.wait)
    with ThreadPoolExecutor(1) as other:
        sent = other.submit(running.post, "/v1/traces", large)
        until(lambda: running.receiver.admission.bytes == len(large))
        answers = [running.post("/v1/traces", wire.spans(span(50_000 + n))).status_code for n in range(5)]
        assert (answers, sent.done()) == ([200] * 5, False)
        release.set()
        assert sent.result().status_code == 200
    assert len(running.calls()) == 20_005
