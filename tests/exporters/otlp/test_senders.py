"""Requests of the senders, and their reaction to responses."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from google.rpc.status_pb2 import Status

from tests.delivery.shared import ids, made, otlp
from tests.exporters.otlp.receiver import ANSWERS, Answer, GrpcReceiver, HttpReceiver, spans_in
from tooltrace.exporters.otlp_http import seconds_of
from tooltrace.exporters.protocol import PartlyRefused, Refused, Target, Unavailable, UnknownExporter
from tooltrace.exporters.registry import available, create


@pytest.fixture(params=["http/protobuf", "http/json", "grpc"])
def both(request: pytest.FixtureRequest) -> Iterator[tuple[HttpReceiver | GrpcReceiver, str]]:
    made = GrpcReceiver() if request.param == "grpc" else HttpReceiver()
    yield made, request.param
    made.stop()


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    made = HttpReceiver()
    yield made
    made.stop()


def test_the_variables_are_enough(both: tuple[HttpReceiver, str], monkeypatch: pytest.MonkeyPatch) -> None:
    receiver, protocol = both
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    destination = create("otlp")
    destination.send([made(1), made(2)])
    assert receiver.spans == dict.fromkeys(ids(1, 2), 1)
    assert receiver.signals == ["traces", "metrics"]
    headers = receiver.requests[0].headers
    assert headers["x-key"] == "a b"
    assert headers["user-agent"].startswith("tooltrace/")
    if protocol != "grpc":
        assert (headers[":path"], headers["content-encoding"]) == ("/v1/traces", "gzip")
        assert headers["content-type"] == ("application/json" if "json" in protocol else "application/x-protobuf")
    destination.close()


def test_json_has_the_same_content_as_protobuf(receiver: HttpReceiver) -> None:
    for protocol in ("http/protobuf", "http/json"):
        otlp(receiver.endpoint, protocol).send(
            [made(1), made(2, status="error", ending="raised", error_type="ValueError")]
        )
    half = len(receiver.requests) // 2
    assert receiver.signals[:half] == receiver.signals[half:] == ["traces", "logs", "metrics"]
    for request, other in zip(receiver.requests[:half], receiver.requests[half:], strict=True):
        assert request.message == other.message


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
def test_zstd_compresses_requests(protocol: str, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd")
    otlp(receiver.endpoint, protocol).send([made(1)])
    assert receiver.spans == dict.fromkeys(ids(1), 1)
    assert receiver.requests[0].headers["content-encoding"] == "zstd"


@pytest.mark.parametrize(
    ("sampler", "argument", "share"),
    [
        ("always_on", "", 1.0),
        ("parentbased_always_on", "", 1.0),
        ("always_off", "", 0.0),
        ("parentbased_always_off", "", 0.0),
        ("traceidratio", "0.25", 0.25),
        ("parentbased_traceidratio", "0.25", 0.25),
        ("traceidratio", "", 1.0),
        ("traceidratio", "many", 1.0),
        ("unheard_of", "", 1.0),
    ],
)
def test_the_sampler_of_the_environment_decides_on_spans_alone(
    receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch, sampler: str, argument: str, share: float
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", argument)
    calls = [made(number, trace_id=f"{2**100 | (number % 128) << 57:032x}") for number in range(1, 129)]
    otlp(receiver.endpoint).send(calls)
    assert sum(receiver.spans.values()) == round(128 * share)
    assert receiver.counted == 128, "metrics count every call"
    chosen = set(receiver.spans)
    otlp(receiver.endpoint).send(calls)
    assert set(receiver.spans) == chosen, "the decision depends on the trace alone"


def test_only_the_variable_removes_content(receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "NO_CONTENT")
    otlp(receiver.endpoint).send([made(1)])
    monkeypatch.delenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
    otlp(receiver.endpoint).send([made(1)])
    without, full = [
        {pair.key for pair in spans_in(request.message)[0].attributes}
        for request in receiver.requests
        if request.signal == "traces"
    ]
    assert full - without == {"gen_ai.tool.call.arguments"}


def test_one_connection_is_reused(receiver: HttpReceiver) -> None:
    destination = otlp(receiver.endpoint)
    for number in range(5):
        destination.send([made(number)])
    assert len(receiver._connections) == 2  # one for each signal that had something to say
    destination.close()


@pytest.mark.parametrize(
    ("status", "error", "doubtful"),
    [
        (400, Refused, False), (413, Refused, False), (422, Refused, False), (500, Unavailable, True),
        (429, Unavailable, False), (502, Unavailable, False), (503, Unavailable, False), (504, Unavailable, False),
        (401, Unavailable, False), (308, Unavailable, False), (404, Unavailable, False),
    ],
)  # fmt: skip
def test_http_statuses_have_the_documented_meaning(
    receiver: HttpReceiver, status: int, error: type[Exception], doubtful: bool
) -> None:
    receiver.script.append(Answer(status, body=Status(message="because").SerializeToString()))
    with pytest.raises(error, match=f"answered {status}: because") as caught:
        otlp(receiver.endpoint).send([made(1)])
    assert getattr(caught.value, "doubtful", False) is doubtful


@pytest.mark.parametrize(
    ("code", "error", "doubtful"),
    [
        ("INVALID_ARGUMENT", Refused, False), ("FAILED_PRECONDITION", Refused, False), ("INTERNAL", Unavailable, True),
        ("RESOURCE_EXHAUSTED", Unavailable, True), ("UNAVAILABLE", Unavailable, False),
        ("PERMISSION_DENIED", Unavailable, False), ("UNIMPLEMENTED", Unavailable, False),
    ],
)  # fmt: skip
def test_grpc_codes_have_the_documented_meaning(code: str, error: type[Exception], doubtful: bool) -> None:
    receiver = GrpcReceiver()
    receiver.script.append(Answer(code, body=b"because"))
    with pytest.raises(error, match=f"answered {code}: because") as caught:
        otlp(receiver.endpoint, "grpc").send([made(1)])
    assert getattr(caught.value, "doubtful", False) is doubtful
    receiver.stop()


def test_a_timeout_is_doubtful(both: tuple[HttpReceiver, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that cannot take so much in the time it has would else be sent the same for ever."""
    receiver, protocol = both
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
    hold = threading.Event()
    receiver.script.append(Answer("OK" if protocol == "grpc" else 200, hold=hold))
    with pytest.raises(Unavailable) as caught:
        otlp(receiver.endpoint, protocol).send([made(1)])
    hold.set()
    assert caught.value.doubtful


def test_a_grpc_message_that_is_too_large_is_refused_at_once() -> None:
    receiver = GrpcReceiver()
    receiver.script.append(Answer("RESOURCE_EXHAUSTED", body=b"Received message larger than max (5 vs. 4)"))
    with pytest.raises(Refused):
        otlp(receiver.endpoint, "grpc").send([made(1)])
    receiver.stop()


def test_a_partial_success_has_the_number_of_refused_records(receiver: HttpReceiver) -> None:
    answer = ANSWERS["traces"]()
    answer.partial_success.rejected_spans = 2
    receiver.script.append(Answer(body=answer.SerializeToString()))
    with pytest.raises(PartlyRefused) as caught:
        otlp(receiver.endpoint).send([made(1), made(2), made(3)])
    assert caught.value.count == 2
    assert receiver.counted == 3  # the other signals went all the same


@pytest.mark.parametrize("body", [b"\xff\xff\xff", b"<html>", b"x" * 200_000])
def test_an_answer_that_makes_no_sense_is_an_acknowledgement_all_the_same(receiver: HttpReceiver, body: bytes) -> None:
    receiver.rule = lambda _signal, _message: Answer(body=body)
    otlp(receiver.endpoint).send([made(1)])
    assert receiver.spans == dict.fromkeys(ids(1), 1)


def test_retry_after_is_seconds_or_a_date() -> None:
    assert seconds_of("3") == 3.0
    assert seconds_of(" 0.5 ") == 0.5
    then = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)
    found = seconds_of(format_datetime(then, usegmt=True))
    assert found is not None
    assert (then - datetime.now(UTC)).total_seconds() <= found <= 3600
    assert seconds_of("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    for nonsense in (None, "", "soon", "-1", "inf", "nan", "1e999"):
        assert seconds_of(nonsense) is None


@pytest.mark.processes
def test_a_package_can_add_a_destination(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(
        "class Theirs:\n"
        "    def __init__(self, target): self.target = target\n"
        "    def send(self, records): print(len(records), self.target.endpoint)\n"
        "    def close(self): pass\n"
    )
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tooltrace.exporters]\ntheirs = theirs:Theirs\n")
    code = (
        "from tooltrace.exporters.registry import create, available as names\n"
        "from tooltrace.exporters.protocol import Target\n"
        "print(names()[-1]); create('theirs', Target(endpoint='there')).send([1, 2])"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert (done.stdout, done.stderr) == ("theirs\n2 there\n", "")


def test_names_are_known() -> None:
    assert available()[:5] == ("otlp", "otlp-json", "parquet", "jsonl", "csv")
    with pytest.raises(UnknownExporter, match="the destinations are otlp"):
        create("nothing", Target())
