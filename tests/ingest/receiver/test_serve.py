"""``tooltrace serve --otlp`` as a process: what it says, how it ends, and what is there when it was killed."""

from __future__ import annotations

import re
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import pytest
from click.testing import CliRunner
from opentelemetry.util.re import parse_env_headers

from tests.ingest.receiver import wire
from tests.ingest.receiver.running import PROTOBUF, made, span
from tooltrace.cli import cli
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.read.reader import open_reader


@dataclass
class Serving:
    process: subprocess.Popen[str]
    url: str
    line: str

    def post(self, body: bytes) -> httpx.Response:
        return httpx.post(f"{self.url}/v1/traces", content=body, headers=PROTOBUF, timeout=None, trust_env=False)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send the signal ``number``, and return the exit code and what was said on standard error."""
        self.process.send_signal(number)
        _, err = self.process.communicate()
        return self.process.returncode, err


Serve = Callable[..., Serving]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serve]:
    """Start ``tooltrace serve --otlp`` on free ports."""
    started = []

    def serving(*options: str, before: Callable[[], None] | None = None) -> Serving:
        process = subprocess.Popen(
            [sys.executable, "-m", "tooltrace", "serve", "--otlp", "--port", "0", "--grpc-port", "0",
             "--store", str(tmp_path / "s.duckdb"), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before,
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+:\d+", line)
        assert found, process.communicate()
        return Serving(process, found[0], line)

    yield serving
    for process in started:
        process.kill()
        process.communicate()


def rows(store: Path) -> list[str]:
    with open_reader(StorePaths.of(store)) as db:
        return [row[0] for row in db.sql("SELECT call_id FROM tool_calls ORDER BY started_at").fetchall()]


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_prints_its_address_and_ends_cleanly(serving: Serve, tmp_path: Path, number: int) -> None:
    it = serving()
    assert it.process.stdout is not None
    first_line = it.process.stdout.readline()
    assert re.fullmatch(rf"OTLP/HTTP on {it.url}, OTLP/gRPC on 127\.0\.0\.1:\d+\n", first_line)
    assert it.post(wire.spans(span(1))).status_code == 200
    assert it.end(number) == (0, "")
    assert rows(tmp_path / "s.duckdb") == ["call_1"]


@pytest.mark.processes
def test_it_ends_while_clients_hang(serving: Serve) -> None:
    it = serving()
    where = ("127.0.0.1", int(it.url.rpartition(":")[2]))
    assert it.process.stdout is not None
    target = it.process.stdout.readline().split()[-1]
    forever = threading.Event()

    def never() -> Iterator[bytes]:
        forever.wait()
        yield b""

    with (
        socket.create_connection(where) as idle,
        socket.create_connection(where) as half,
        grpc.insecure_channel(target) as channel,
    ):
        half.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n")
        half.sendall(b"content-length: 100\r\n\r\nabc")
        hanging = channel.stream_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export").future(never())
        grpc.channel_ready_future(channel).result()
        assert it.post(b"").status_code == 200
        ended = it.end()  # and the three still hang
        assert half.recv(1000).startswith(b"HTTP/1.1 503 ")
        assert idle.recv(100) == b""
        forever.set()
        assert hanging.code() == grpc.StatusCode.UNAVAILABLE
    assert ended == (0, "")


@pytest.mark.processes
def test_a_request_that_is_not_http_is_refused(serving: Serve) -> None:
    it = serving()
    where = ("127.0.0.1", int(it.url.rpartition(":")[2]))
    for nonsense in (
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x00" * 100_000,
    ):
        with socket.create_connection(where) as stranger:
            with suppress(ConnectionError):  # it may be hung up on before all is sent
                stranger.sendall(nonsense)
                assert stranger.recv(100)[:10] == b"HTTP/1.1 4"
    assert it.post(wire.spans(span(1))).status_code == 200
    assert all(line.startswith("refused ") for line in it.end()[1].splitlines())


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_acknowledged_records_survive_a_shutdown_under_load(serving: Serve, tmp_path: Path, number: int) -> None:
    it = serving()
    acknowledged: list[int] = []
    enough = threading.Event()

    def send(client: int) -> None:
        for batch in range(10_000):
            first = client * 1_000_000 + batch * 10
            try:
                answer = it.post(wire.spans(*(span(first + place) for place in range(10))))
            except httpx.HTTPError:
                return
            if answer.status_code != 200:
                return
            acknowledged.extend(range(first, first + 10))
            if len(acknowledged) > 500:
                enough.set()

    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(send, client) for client in range(4)]
        assert enough.wait()
        it.process.send_signal(number)
        it.process.communicate()
        for client in clients:
            client.result()
    assert {f"call_{n}" for n in acknowledged} <= set(rows(tmp_path / "s.duckdb"))


@pytest.mark.processes
def test_a_full_disk_is_an_error_until_there_is_space(serving: Serve, tmp_path: Path) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))

    it = serving(before=small)
    assert it.post(wire.spans(span(1))).status_code == 200
    many = wire.spans(*map(span, range(2, 200)))
    answer = it.post(many)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    resource.prlimit(it.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert it.post(many).status_code == 200
    assert rows(tmp_path / "s.duckdb") == [made(n).call_id for n in range(1, 200)]
    assert "cannot be written" in it.end()[1]


@pytest.mark.processes
def test_exporters_can_send_the_required_header(serving: Serve) -> None:
    it = serving("--token", "open-sesame")
    _, err = it.end()
    header = re.search(r"OTEL_EXPORTER_OTLP_HEADERS='(.*)'", err)
    assert header is not None
    assert parse_env_headers(header[1]) == {"authorization": "Bearer open-sesame"}


def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = str(occupied.getsockname()[1])
        for option in ("--port", "--grpc-port"):
            both = {"--port": "0", "--grpc-port": "0"} | {option: port}
            flags = [word for pair in both.items() for word in pair]
            done = CliRunner().invoke(cli, ["serve", "--otlp", *flags, "--store", str(tmp_path / "x.duckdb")])
            assert done.exit_code == 1
            assert f"another {option}" in done.output
            assert len(done.output.splitlines()) == 1


def test_a_missing_extra_is_a_one_line_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    done = CliRunner().invoke(cli, ["serve", "--otlp", "--store", str(tmp_path / "x.duckdb")])
    assert (done.exit_code, done.output) == (
        1,
        "tooltrace: tooltrace serve needs starlette: pip install 'tooltrace-recorder[serve]'\n",
    )
    monkeypatch.delitem(sys.modules, "starlette")
    monkeypatch.setitem(sys.modules, "grpc", None)
    done = CliRunner().invoke(cli, ["serve", "--otlp", "--grpc-port", "0", "--store", str(tmp_path / "x.duckdb")])
    assert (done.exit_code, done.output) == (
        1,
        "tooltrace: tooltrace serve needs grpc: pip install 'tooltrace-recorder[grpc]'\n",
    )
