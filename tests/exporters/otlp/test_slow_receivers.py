"""Receivers that send their response too slowly, without an end, or not at all."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.delivery.shared import made, otlp
from tests.exporters.otlp.receiver import Answer, GrpcReceiver
from tests.stores import write_records as write
from tooltrace.delivery.plan import specs_for
from tooltrace.exporters.protocol import Target, Unavailable
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.delivery_cursors import DestinationFiles

Respond = Callable[[socket.socket, threading.Event], None]
TIMEOUT = 0.5
"""Seconds; a response arrives in more parts than one within it."""


def drip(connection: socket.socket, stopped: threading.Event, start: bytes, part: bytes) -> None:
    """Send ``start``, then ``part`` again and again."""
    connection.sendall(start)
    while not stopped.wait(0.05):
        connection.sendall(part)


def drip_status(connection: socket.socket, stopped: threading.Event) -> None:
    drip(connection, stopped, b"HTTP/1.1 ", b"x")


def drip_headers(connection: socket.socket, stopped: threading.Event) -> None:
    drip(connection, stopped, b"HTTP/1.1 200 OK\r\nx-slow: ", b"x")


def drip_body(connection: socket.socket, stopped: threading.Event) -> None:
    drip(
        connection,
        stopped,
        b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 1000000\r\n\r\n",
        b"\0",
    )


def drip_body_of_unknown_length(connection: socket.socket, stopped: threading.Event) -> None:
    drip(connection, stopped, b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\n\r\n", b"\0")


def drip_grpc_pings(connection: socket.socket, stopped: threading.Event) -> None:
    """Keep an HTTP/2 connection alive without an answer."""
    drip(connection, stopped, _frame(4), _frame(6, payload=bytes(8)))


def drip_grpc_frame(connection: socket.socket, stopped: threading.Event) -> None:
    """Send a frame of 16 KiB byte by byte."""
    drip(connection, stopped, _frame(4) + (16_000).to_bytes(3, "big") + b"\xfa\0\0\0\0\0", b"\0")


def drip_tls_handshake(connection: socket.socket, stopped: threading.Event) -> None:
    drip(connection, stopped, b"\x16\x03\x03\x40\x00", b"\0")


def _frame(kind: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, 0]) + bytes(4) + payload


def send_nothing(_connection: socket.socket, stopped: threading.Event) -> None:
    stopped.wait()


class Receiver:
    """A server that reads a request and responds with ``respond`` until it is stopped."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._stopped = threading.Event()
        self.requested = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while not self._stopped.is_set():
            with suppress(OSError):
                connection, _ = self._server.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(1 << 20)
            self.requested.set()
            self._respond(connection, self._stopped)

    def stop(self) -> None:
        self._stopped.set()
        self._server.close()


@pytest.fixture
def receive() -> Iterator[Callable[[Respond], Receiver]]:
    receivers: list[Receiver] = []

    def start(respond: Respond) -> Receiver:
        receivers.append(Receiver(respond))
        return receivers[-1]

    yield start
    for receiver in receivers:
        receiver.stop()


@pytest.mark.parametrize("respond", [drip_headers, drip_body, drip_body_of_unknown_length, send_nothing])
def test_the_timeout_limits_the_whole_request(
    respond: Respond, receive: Callable[[Respond], Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", str(TIMEOUT))
    destination = otlp(receive(respond).endpoint, "http/protobuf", parts=("traces",))
    # the receiver itself never ends its response
    with pytest.raises(Unavailable, match="did not answer in time"):
        destination.send([made(1)])
    destination.close()


@pytest.mark.parametrize("respond", [drip_grpc_pings, drip_grpc_frame, send_nothing])
def test_the_timeout_limits_a_whole_call_by_grpc(
    respond: Respond, receive: Callable[[Respond], Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", str(TIMEOUT))
    destination = otlp(receive(respond).endpoint, "grpc", parts=("traces",))
    with pytest.raises(Unavailable, match="answered (DEADLINE_EXCEEDED|UNAVAILABLE)"):
        destination.send([made(1)])
    destination.close()


@pytest.mark.parametrize("way", ["a proxy's answer", "a TLS handshake"])
def test_the_timeout_limits_the_opening_of_a_connection(
    way: str, receive: Callable[[Respond], Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", str(TIMEOUT))
    if way == "a TLS handshake":
        endpoint = receive(drip_tls_handshake).endpoint.replace("http://", "https://")
    else:
        endpoint = "https://receiver.invalid:4318"
        monkeypatch.setenv("https_proxy", receive(drip_status).endpoint)
    destination = otlp(endpoint, "http/protobuf", parts=("traces",))
    with pytest.raises(Unavailable):
        destination.send([made(1)])
    destination.close()


def test_an_informational_answer_refuses_no_record(receive: Callable[[Respond], Receiver]) -> None:
    answers = [b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 500 Late\r\ncontent-length: 0\r\n\r\n"]

    def respond(connection: socket.socket, stopped: threading.Event) -> None:
        connection.sendall(answers.pop() if answers else b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        stopped.wait()

    destination = otlp(receive(respond).endpoint, "http/protobuf", parts=("traces",))
    with pytest.raises(Unavailable, match="answered 103"):
        destination.send([made(1)])
    destination.send([made(1)])
    destination.close()


def test_a_sender_is_usable_after_a_timeout(
    receive: Callable[[Respond], Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1.5")  # the second answer takes less, on a busy machine too
    requests: list[int] = []

    def slow_then_fast(connection: socket.socket, stopped: threading.Event) -> None:
        requests.append(1)
        if len(requests) == 1:
            drip_body(connection, stopped)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    destination = otlp(receive(slow_then_fast).endpoint, "http/protobuf", parts=("traces",))
    with pytest.raises(Unavailable):
        destination.send([made(1)])
    destination.send([made(1)])
    assert len(requests) == 2
    destination.close()


def test_a_response_beyond_the_limit_is_not_read(receive: Callable[[Respond], Receiver]) -> None:
    """The request succeeds although the response has no end, because its status and its first 64 KiB are enough."""

    def endless(connection: socket.socket, stopped: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        while not stopped.is_set():
            connection.sendall(b"x" * 65536)

    destination = otlp(receive(endless).endpoint, "http/protobuf", parts=("traces",))
    destination.send([made(1)])
    destination.close()


def test_a_response_beyond_the_limit_is_accepted_by_grpc() -> None:
    receiver = GrpcReceiver()
    receiver.rule = lambda _signal, _message: Answer("OK", body=b"\x0a" + b"x" * 200_000)
    destination = otlp(receiver.endpoint, "grpc", parts=("traces",))
    destination.send([made(1)])
    destination.close()
    receiver.stop()
    assert len(receiver.spans) == 1


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a process can handle")
@pytest.mark.parametrize(
    ("option", "protocol", "respond"),
    [
        pytest.param("--pending", "http/protobuf", drip_body, marks=pytest.mark.simulations),
        ("--again", "http/protobuf", drip_headers),
        ("--follow", "http/protobuf", send_nothing),
        ("--pending", "grpc", drip_grpc_pings),
        ("--again", "grpc", drip_grpc_frame),
        pytest.param("--follow", "grpc", send_nothing, marks=pytest.mark.simulations),
    ],
)
def test_sigterm_ends_an_export_whose_receiver_hangs(
    option: str, protocol: str, respond: Respond, receive: Callable[[Respond], Receiver], tmp_path: Path
) -> None:
    paths = StorePaths.of(tmp_path / "t.duckdb")
    receiver = receive(respond)
    for spec in specs_for("otlp", Target(endpoint=receiver.endpoint)):
        DestinationFiles.of(paths, spec.name).create()
    write(paths, made(1))
    export = subprocess.Popen(
        [sys.executable, "-m", "tooltrace", "export", "otlp", "--store", str(paths.database),
         "--endpoint", receiver.endpoint, "--protocol", protocol, option],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "OTEL_EXPORTER_OTLP_TIMEOUT": "5000"},
    )  # fmt: skip
    try:
        assert receiver.requested.wait()
        export.send_signal(signal.SIGTERM)
        output, _ = export.communicate()  # the request itself would take longer than a test may
    finally:
        export.kill()
    assert export.returncode == (0 if option == "--follow" else 1), output
    assert b"Traceback" not in output


STUCK = """
import sys, threading, time
from tooltrace.cli import export_delivery
from tooltrace.cli.export import _stop
class Stuck:
    def send(self, records): pass
    def close(self): threading.Event().wait()
def hang():
    print("hangs", flush=True)
    threading.Event().wait()
with _stop() as stop:
    try:
        export_delivery.run_until_stopped(stop, [hang], [Stuck()])
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.processes
def test_sigterm_ends_an_export_whose_destination_cannot_be_closed() -> None:
    """As where a name server does not answer."""
    export = subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True)
    try:
        assert export.stdout is not None
        assert export.stdout.readline() == "hangs\n"
        export.send_signal(signal.SIGTERM)
        output, _ = export.communicate()
    finally:
        export.kill()
    assert export.returncode == 1
    assert output.startswith("CommandError interrupted while a request does not end")


AGENT = """
import faulthandler, signal, sys, time
import tooltrace as tt
faulthandler.dump_traceback_later(800, exit=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
tool = tt.trace_tool(name="t")(lambda n: n)
tool(1)
print(tt.flush(600), flush=True)
while True:
    time.sleep(0.05)  # signal.pause() would miss a signal that arrives just before it
"""


@pytest.mark.processes
@pytest.mark.parametrize(("protocol", "respond"), [("http/protobuf", drip_body), ("grpc", drip_grpc_pings)])
def test_sigterm_ends_a_program_whose_receiver_hangs(
    protocol: str, respond: Respond, receive: Callable[[Respond], Receiver], tmp_path: Path
) -> None:
    receiver = receive(respond)
    environment = {
        "TOOLTRACE_STORE": str(tmp_path / "t.duckdb"), "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_TIMEOUT": "5000",
    }  # fmt: skip
    agent = subprocess.Popen(
        [sys.executable, "-c", AGENT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    try:
        assert receiver.requested.wait()
        agent.send_signal(signal.SIGTERM)
        output, errors = agent.communicate()  # the request itself would take longer than a test may
    finally:
        agent.kill()
    assert (agent.returncode, output) == (3, "True\n"), errors
    assert "Traceback" not in errors
