"""Records sent over HTTP are in the journal when they are acknowledged, and responses follow OTLP."""

from __future__ import annotations

import gzip
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import takewhile
from typing import Any

import httpx
import orjson
import pytest
from google.rpc.error_details_pb2 import BadRequest
from google.rpc.status_pb2 import Status
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.ingest.receiver import wire
from tests.ingest.receiver.running import JSON, Receiving, Running, made, span
from tests.strategies import SPAN, VALUE
from tooltrace.core import zstd
from tooltrace.core.records import Loss
from tooltrace.delivery.delivery import Delivery
from tooltrace.exporters.otlp import create
from tooltrace.exporters.protocol import Target
from tooltrace.otel import attributes as names
from tooltrace.otel.otlp.json import spans_to_json
from tooltrace.otel.span_data import SpanData
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.delivery_cursors import DestinationFiles
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader

WIDE = {zstd.codec().CompressionParameter.window_log: 25}
"""A window of 32 MiB, which is more than the receiver reserves."""
COMPRESSIONS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "identity": bytes,
    "zstd": zstd.codec().compress,
    "Zstd": lambda data: zstd.codec().compress(data[:10]) + zstd.codec().compress(data[10:]),  # two frames
    "GZip": lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:]),  # two members are one body
}


def status_of(answer: httpx.Response) -> Status:
    assert answer.headers["content-type"] == "application/x-protobuf"
    return Status.FromString(answer.content)


@pytest.mark.parametrize("coding", COMPRESSIONS)
def test_protobuf_is_stored_before_the_acknowledgement(receiving: Receiving, coding: str) -> None:
    running = receiving()
    body = COMPRESSIONS[coding](wire.spans(span(1), span(2)))
    answer = running.post("/v1/traces", body, content_encoding=coding)
    assert running.calls() == [made(1), made(2)]
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "application/x-protobuf"


@pytest.mark.parametrize("coding", COMPRESSIONS)
def test_json_is_stored_before_the_acknowledgement(receiving: Receiving, coding: str) -> None:
    running = receiving()
    body = COMPRESSIONS[coding](orjson.dumps(spans_to_json([span(1), span(2)])))
    answer = running.post("/v1/traces", body, content_type="application/json; charset=utf-8", content_encoding=coding)
    assert running.calls() == [made(1), made(2)]
    assert (answer.status_code, answer.json()) == (200, {})
    assert answer.headers["content-type"] == "application/json"


def test_nothing_is_a_request_too(receiving: Receiving) -> None:
    running = receiving()
    assert running.post("/v1/traces", b"").status_code == 200
    assert running.post("/v1/logs", b"{}", content_type="application/json").json() == {}
    assert running.records() == []


def test_a_span_sent_twice_is_one_row(receiving: Receiving) -> None:
    running = receiving()
    body = wire.spans(*map(span, range(50)))
    for _ in range(2):
        assert running.post("/v1/traces", body).content == b""
    fold(running.store)
    assert running.post("/v1/traces", body).content == b""
    with open_reader(StorePaths.of(running.store)) as db:
        assert db.sql("SELECT count(*), count(DISTINCT span_id) FROM tool_calls").fetchall() == [(50, 50)]


def test_a_span_sent_twice_is_written_once(receiving: Receiving) -> None:
    """Within a request, and in the next; but what could not be written is not known yet."""
    running = receiving()
    journal = StorePaths.of(running.store).journal
    journal.write_text("no folder")
    assert running.post("/v1/traces", wire.spans(span(1))).status_code == 503
    journal.unlink()
    for _ in range(2):
        assert running.post("/v1/traces", wire.spans(span(1), span(2), span(1))).content == b""
    assert running.records() == [made(1), made(2)]


def test_a_store_that_is_delivered_to_its_own_receiver_does_not_grow_without_end(receiving: Receiving) -> None:
    running = receiving()
    files = DestinationFiles.of(running.store, "otlp")
    files.create()
    paths = StorePaths.of(running.store)
    Journal(paths.journal).write(b"".join(encode(made(number)) for number in range(20)))
    destination = create(Target(endpoint=running.url, parts=("traces",)))
    delivery = Delivery(files, destination)
    batches = list(takewhile(lambda sent: sent is not None, (delivery.step() for _ in range(10))))
    delivery.close()
    assert batches == [20, 20]
    assert len(running.records()) == 40


def test_a_call_that_two_spans_show_is_one_row_however_often_they_are_sent(receiving: Receiving) -> None:
    """The journal cannot be written at first: what was read then must not count as known."""
    running = receiving()
    span_attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": "call_9",
    }
    times = {"trace_id": "1" * 32, "start_ns": 10**18, "end_ns": 10**18 + 10**6}
    outer = SpanData(name="outer", span_id="a" * 16, attributes=span_attributes, scope="agent", **times)
    inner = SpanData(
        name="inner", span_id="b" * 16, parent_span_id="a" * 16, attributes=span_attributes, scope="tool", **times
    )
    journal = StorePaths.of(running.store).journal
    journal.write_text("no folder")
    assert running.post("/v1/traces", wire.spans(inner, outer)).status_code == 503
    journal.unlink()
    for forms in ((inner, outer), (inner,), (inner, outer)):
        assert running.post("/v1/traces", wire.spans(*forms)).content == b""
    with open_reader(StorePaths.of(running.store)) as db:
        assert db.sql("SELECT span_id, call_id, attempt FROM tool_calls").fetchall() == [("a" * 16, "call_9", 1)]
        assert db.sql("SELECT span_id FROM spans").fetchall() == [("b" * 16,)]


@pytest.mark.long
def test_many_clients_at_once_lose_nothing(receiving: Receiving) -> None:
    running = receiving()

    def send(client: int) -> list[int]:
        bodies = [wire.spans(*(span(1000 * client + 10 * batch + n) for n in range(10))) for batch in range(20)]
        return [running.post("/v1/traces", body).status_code for body in bodies]

    with ThreadPoolExecutor(8) as pool:
        assert {code for codes in pool.map(send, range(8)) for code in codes} == {200}
    found = sorted(call.span_id for call in running.calls())
    assert found == sorted(span(1000 * client + n).span_id for client in range(8) for n in range(200))


def test_unreadable_spans_are_counted_and_the_rest_is_stored(receiving: Receiving) -> None:
    running = receiving()
    short = wire.nested(
        1, 2, 2, content=wire.field(1, b"\x01" * 15) + wire.field(2, b"\x01" * 8) + b"\x39" + b"\x01" * 8
    )
    torn = wire.nested(1, 2, 2, content=b"\x0a\x7f")
    answer = running.post("/v1/traces", wire.spans(span(1)) + short + torn + torn)
    assert answer.status_code == 200
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert partial.rejected_spans == 3
    assert "its trace id is 15 bytes long, not 16" in partial.error_message
    assert running.calls() == [made(1)]
    losses = [(loss.reason, loss.count) for loss in running.records() if isinstance(loss, Loss)]
    assert losses == [("otlp_rejected", 3)]


def test_partial_success_in_json(receiving: Receiving) -> None:
    running = receiving()
    data = spans_to_json([span(1), span(2)])
    data["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["spanId"] = "xyz"
    answer = running.post("/v1/traces", orjson.dumps(data), content_type="application/json")
    partial = answer.json()["partialSuccess"]
    assert partial["rejectedSpans"] == "1"
    assert "spanId" in partial["errorMessage"]
    assert running.calls() == [made(2)]


def test_metrics_are_not_stored_and_the_response_reports_it(receiving: Receiving) -> None:
    running = receiving()
    request = ExportMetricsServiceRequest()
    metrics = request.resource_metrics.add().scope_metrics.add().metrics
    metrics.add(name="a").sum.data_points.add(as_int=1)
    for _ in range(2):
        metrics.add(name="b").histogram.data_points.add(count=1)
    answer = running.post("/v1/metrics", request.SerializeToString())
    partial = ExportMetricsServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, partial.rejected_data_points) == (200, 3)
    assert "metrics are not stored" in partial.error_message
    empty = running.post("/v1/metrics", b"")
    assert (empty.status_code, empty.content) == (200, b"")
    assert running.records() == []


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"\x0a\x7f", {}, 400),
        (wire.spans(span(1))[:-3], {}, 400),
        (b"no gzip", {"content_encoding": "gzip"}, 400),
        (gzip.compress(wire.spans(span(1)))[:-5], {"content_encoding": "gzip"}, 400),
        (gzip.compress(b"") * 1001, {"content_encoding": "gzip"}, 400),
        (b"no zstd", {"content_encoding": "zstd"}, 400),
        (zstd.codec().compress(wire.spans(span(1)))[:-5], {"content_encoding": "zstd"}, 400),
        (zstd.codec().compress(b"") * 1001, {"content_encoding": "zstd"}, 400),
        (zstd.codec().compress(bytes(2**25), options=WIDE), {"content_encoding": "zstd"}, 400),
        (b"x", {"content_encoding": "br"}, 415),
        (b"x", {"content_encoding": "gzip, gzip"}, 415),
        (b"\xff" * 16, {}, 400),
    ],
)
def test_bad_requests_are_refused_for_good(
    receiving: Receiving, body: bytes, headers: dict[str, str], status: int
) -> None:
    running = receiving()
    answer = running.post("/v1/traces", body, **headers)
    assert answer.status_code == status
    refusal = status_of(answer)
    assert refusal.message
    assert "retry-after" not in answer.headers
    violation = BadRequest()
    assert refusal.details[0].Unpack(violation)
    assert violation.field_violations[0].description == refusal.message
    assert running.records() == []


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{", b"\xff", b'{"resourceSpans":1}', b'{"resourceSpans":[1]}', b"[" * 5000,
        b'{"resourceSpans":[{"resource":{"attributes":[{}]},"scopeSpans":[{"spans":[{}]}]}]}',
    ],
)  # fmt: skip
def test_bad_json_is_refused_for_good(receiving: Receiving, body: bytes) -> None:
    running = receiving()
    answer = running.post("/v1/traces", body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/json"
    refusal = answer.json()
    assert refusal["code"] == 3
    assert refusal["details"][0]["fieldViolations"][0]["description"] == refusal["message"]
    assert running.records() == []


@pytest.mark.long
def test_an_incomplete_request_stores_nothing(receiving: Receiving) -> None:
    """A good span before the damage is not half a success: the client may send it again, whole."""
    running = receiving()
    damaged = wire.spans(*map(span, range(5000))) + b"\x0a\x7f"
    assert running.post("/v1/traces", damaged).status_code == 400
    assert running.records() == []


def test_other_content_and_other_places(receiving: Receiving) -> None:
    running = receiving()
    strange = running.post("/v1/traces", b"{}", content_type="text/plain")
    assert (strange.status_code, strange.json()["code"]) == (415, 3)
    assert strange.headers["accept"] == "application/x-protobuf, application/json"
    got = running.client.get(f"{running.url}/v1/traces", headers=JSON)
    assert (got.status_code, got.headers["allow"]) == (405, "POST")
    for path in ("/v1/traces/", "/v1/profiles", "/v1/traces/x"):
        nowhere = running.post(path, b"")
        assert (nowhere.status_code, status_of(nowhere).code) == (404, 5)


def test_a_page_of_another_site_is_refused(receiving: Receiving) -> None:
    running = receiving()
    body = orjson.dumps(spans_to_json([span(1)]))
    foreign = [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ]
    for headers in foreign:
        answer = running.post("/v1/traces", body, content_type="application/json", **headers)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    preflight = running.client.options(f"{running.url}/v1/traces", headers={"origin": "http://evil.example"})
    assert preflight.status_code in (403, 405)
    assert "access-control-allow-origin" not in preflight.headers
    assert running.post("/v1/traces", body, content_type="application/json", host="evil.example").status_code == 421
    assert running.records() == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:4318", "[::1]:4318", "agents"])
def test_the_names_of_the_receiver(receiving: Receiving, host: str) -> None:
    running = receiving(names=("agents",))
    assert running.post("/v1/traces", b"", host=host).status_code == 200


def test_a_receiver_with_a_token_requires_it(receiving: Receiving) -> None:
    running = receiving(token="open-sesame")
    body = wire.spans(span(1))
    assert running.post("/v1/traces", body).status_code == 401
    assert running.post("/v1/traces", body, authorization="Bearer open").status_code == 401
    assert running.records() == []
    assert running.post("/v1/traces", body, authorization="Bearer open-sesame").status_code == 200
    assert running.calls() == [made(1)]


def test_secrets_are_out_before_the_first_byte_is_written(receiving: Receiving) -> None:
    running = receiving()
    secret = "sk-" + "a1B2" * 8
    for number, more in enumerate(({"error_message": f"bad key {secret}"}, {"arguments": f'{{"api_key":"{secret}"}}'})):
        assert running.post("/v1/traces", wire.spans(span(number, **more))).content == b""
    assert len(running.calls()) == 2
    written = b"".join(file.read_bytes() for file in StorePaths.of(running.store).journal.iterdir())
    assert secret.encode() not in written
    assert b"[redacted]" in written


def test_acknowledged_records_can_be_read_at_once(receiving: Receiving) -> None:
    running: Running = receiving()
    running.post("/v1/traces", wire.spans(*map(span, range(3))))
    with open_reader(StorePaths.of(running.store)) as db:
        rows = db.sql("SELECT call_id, service, host, pid, duration_ms FROM tool_calls ORDER BY call_id").fetchall()
    assert rows == [(f"call_{n}", "agents", "there", 41, 12.5) for n in range(3)]


def test_a_fault_of_the_receiver_is_counted_and_answered(
    receiving: Receiving, lenient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = receiving()

    def broken(forms: list[SpanData]) -> None:
        raise LookupError("a mistake of ours")

    with monkeypatch.context() as patch:
        patch.setattr(running.receiver.ingester._assembler, "convert", broken)
        answer = running.post("/v1/traces", wire.spans(span(1)))
    assert (answer.status_code, status_of(answer).code) == (500, 13)
    assert running.records() == []
    assert running.post("/v1/traces", wire.spans(span(2))).status_code == 200
    call, loss = running.records()
    assert (call, loss.reason, loss.count) == (made(2), "fault_receive", 1)


OWN = st.sampled_from(sorted(names.FIELDS.values()))
WILD = st.dictionaries(OWN | st.sampled_from(["gen_ai.operation.name", "tool.name", "openinference.span.kind"]), VALUE | st.sampled_from(["execute_tool", "TOOL"]))  # fmt: skip


@pytest.mark.long
def test_any_acknowledged_span_can_be_read_from_the_store(receiving: Receiving) -> None:
    """Acknowledged means readable as well: no line of the journal is lost in the fold."""
    running = receiving()
    sent: set[str] = set()

    @given(st.lists(st.tuples(SPAN, WILD), max_size=4, unique_by=lambda pair: pair[0].span_id))
    def check(spans: list[tuple[SpanData, dict[str, Any]]]) -> None:
        forms = [replace(form, attributes=form.attributes | wild) for form, wild in spans]
        answer = running.post("/v1/traces", wire.spans(*forms))
        assert (answer.status_code, answer.content) == (200, b"")
        sent.update(form.span_id for form in forms)

    check()
    assert fold(running.store).losses == 0
    with open_reader(StorePaths.of(running.store)) as db:
        rows = db.sql("SELECT span_id FROM tool_calls UNION ALL SELECT span_id FROM spans").fetchall()
    assert {row[0] for row in rows} == sent
    assert len(sent) > 5
