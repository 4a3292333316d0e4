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

from tests.delivery.shared import made, otlp, write
from tooltrace.delivery.plan import specs_for
from tooltrace.exporters.protocol import Target, Unavailable
from tooltrace.store.delivery_cursors import DestinationFiles
from tooltrace.store.paths import StorePaths

Respond = Callable[[socket.socket, threading.Event], None]
TIMEOUT = 1.5


def drip_headers(connection: socket.socket, stopped: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nx-slow: ")
    while not stopped.wait(0.05):
        connection.sendall(b"x")


def drip_body(connection: socket.socket, stopped: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 1000000\r\n\r\n")
    while not stopped.wait(0.05):
        connection.sendall(b"\0")


def drip_body_of_unknown_length(connection: socket.socket, stopped: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\n\r\n")
    while not stopped.wait(0.05):
        connection.sendall(b"\0")


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


def test_a_sender_is_usable_after_a_timeout(
    receive: Callable[[Respond], Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", str(TIMEOUT))
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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a process can handle")
@pytest.mark.parametrize("option", ["--pending", "--again"])
def test_sigterm_ends_an_export_whose_receiver_hangs(
    option: str, receive: Callable[[Respond], Receiver], tmp_path: Path
) -> None:
    paths = StorePaths.of(tmp_path / "t.duckdb")
    receiver = receive(drip_body)
    for spec in specs_for("otlp", Target(endpoint=receiver.endpoint)):
        DestinationFiles.of(paths, spec.name).create()
    write(paths, made(1))
    export = subprocess.Popen(
        [sys.executable, "-m", "tooltrace.cli", "export", "otlp", "--store", str(paths.database),
         "--endpoint", receiver.endpoint, option],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "OTEL_EXPORTER_OTLP_TIMEOUT": "500"},
    )  # fmt: skip
    try:
        assert receiver.requested.wait(120)
        export.send_signal(signal.SIGTERM)
        output, _ = export.communicate(timeout=250)  # the request itself would take 500 s
    finally:
        export.kill()
    assert export.returncode == 1, output
    assert b"Traceback" not in output
