"""Spans, log events and the metric go out each by itself: with its own endpoint, switch, progress and failures."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.delivery.shared import python
from tests.delivery.test_processes import PROGRAM, run, spans_of
from tests.exporters.otlp.receiver import Answer, HttpReceiver
from tooltrace.cli import cli
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.delivery_cursors import DestinationFiles, destinations, pending_bytes

pytestmark = pytest.mark.processes

BASE = "OTEL_EXPORTER_OTLP_"
FAILING = """
@tt.trace_tool
def fails(number):
    raise KeyError(number)

def fail(count):
    for number in range(count):
        try:
            fails(number)
        except KeyError:
            pass
"""


@pytest.fixture
def other() -> Iterator[HttpReceiver]:
    made = HttpReceiver()
    yield made
    made.stop()


def endpoint(signal: str, receiver: HttpReceiver) -> dict[str, str]:
    return {f"{BASE}{signal.upper()}_ENDPOINT": f"{receiver.endpoint}/v1/{signal}"}


def names(paths: StorePaths) -> list[str]:
    return [files.name for files in destinations(paths)]


def left(paths: StorePaths, name: str) -> int:
    """Bytes that ``name`` was not given yet."""
    cursor = DestinationFiles.of(paths, name).load()
    assert cursor is not None
    return sum(pending_bytes(paths, cursor).values())


class Default(http.server.BaseHTTPRequestHandler):
    """No test selects localhost:4318."""

    asked: list[str] = []

    def do_POST(self) -> None:
        self.asked.append(self.path)
        self.send_error(503)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def default_port() -> Iterator[list[str]]:
    """Requests to localhost:4318; skips where another program listens there."""
    Default.asked = []
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 4318), Default)
    except OSError:
        pytest.skip("port 4318 is taken")
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield Default.asked
    server.shutdown()
    server.server_close()


def test_an_endpoint_for_traces_alone_gets_every_batch(
    paths: StorePaths, receiver: HttpReceiver, default_port: list[str]
) -> None:
    code = FAILING + "run(1500); fail(100); tt.flush(); delivered(1600)"
    run(code, paths.database, **endpoint("traces", receiver))
    assert receiver.spans == dict.fromkeys(spans_of(paths.database), 1)
    assert len(receiver.spans) == 1600
    assert set(receiver.signals) == {"traces"}
    assert names(paths) == ["otlp-traces"]
    assert left(paths, "otlp-traces") == 0
    assert default_port == []
    fold(paths)
    assert paths.journals() == {}


@pytest.mark.parametrize("alone", ["logs", "metrics"])
def test_an_endpoint_for_another_signal_alone(paths: StorePaths, receiver: HttpReceiver, alone: str) -> None:
    code = FAILING + "run(20); fail(10); tt.flush(); delivered(30)"
    run(code, paths.database, **endpoint(alone, receiver))
    assert set(receiver.signals) == {alone}
    assert (len(receiver.logs), receiver.counted) == ((10, 0) if alone == "logs" else (0, 30))
    assert names(paths) == [f"otlp-{alone}"]


@pytest.mark.parametrize(
    "fails", ["logs", *(pytest.param(signal, marks=pytest.mark.simulations) for signal in ("traces", "metrics"))]
)
def test_a_refused_signal_does_not_delay_the_others(
    paths: StorePaths, receiver: HttpReceiver, other: HttpReceiver, fails: str
) -> None:
    other.rule = lambda _signal, _message: Answer(503)
    code = FAILING + "run(1000); fail(200); tt.flush(); sys.stdin.read()"
    environment = {f"{BASE}ENDPOINT": receiver.endpoint, **endpoint(fails, other)}
    process = python(PROGRAM + code, TOOLTRACE_STORE=str(paths.database), **environment)
    arrived(receiver, but=fails, calls=1200, failures=200)
    other.wait_until(lambda: other.requests)
    process.communicate()
    assert left(paths, f"otlp-{fails}") > 0
    other.rule = lambda _signal, _message: None
    run("run(1); delivered(1201)", paths.database, **environment)
    arrived(other, only=fails, calls=1201, failures=200)
    assert set(other.spans.values()) <= {1}
    assert set(receiver.spans.values()) <= {1}


@pytest.mark.parametrize("hangs", ["traces", "logs"])
def test_nor_does_one_that_never_answers(paths: StorePaths, receiver: HttpReceiver, hangs: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environment = {
            f"{BASE}ENDPOINT": receiver.endpoint,
            f"{BASE}{hangs.upper()}_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}",
            f"{BASE}TIMEOUT": "600",
        }
        code = FAILING + "run(1000); fail(200); tt.flush(); sys.stdin.read()"
        process = python(PROGRAM + code, TOOLTRACE_STORE=str(paths.database), **environment)
        arrived(receiver, but=hangs, calls=1200, failures=200)
        assert left(paths, f"otlp-{hangs}") > 0
        process.communicate()
        assert process.returncode == 0


def arrived(receiver: HttpReceiver, *, calls: int, failures: int, but: str = "", only: str = "") -> None:
    """Wait until ``receiver`` has what it is to have of each signal."""
    expected = {"traces": calls, "logs": failures, "metrics": calls}
    found = {
        "traces": lambda: len(receiver.spans),
        "logs": lambda: len(receiver.logs),
        "metrics": lambda: receiver.counted,
    }
    for signal in expected:
        if signal != but and only in ("", signal):
            receiver.wait_until(lambda signal=signal: found[signal]() == expected[signal])  # type: ignore[misc]


@pytest.mark.parametrize("off", [("traces",), ("logs",), ("metrics",), ("traces", "metrics"), ("logs", "metrics")])
def test_each_signal_has_a_switch_of_its_own(paths: StorePaths, receiver: HttpReceiver, off: tuple[str, ...]) -> None:
    on = {"traces", "logs", "metrics"} - set(off)
    switches = {f"OTEL_{signal.upper()}_EXPORTER": "none" for signal in off}
    switches |= {f"OTEL_{signal.upper()}_EXPORTER": "otlp" for signal in sorted(on)[:1]}
    code = FAILING + "run(20); fail(10); tt.flush(); delivered(30)"
    run(code, paths.database, **{f"{BASE}ENDPOINT": receiver.endpoint}, **switches)
    assert set(receiver.signals) == on
    assert sorted(names(paths)) == sorted(f"otlp-{signal}" for signal in on)
    assert len(receiver.spans) == (30 if "traces" in on else 0)


def test_a_disabled_signal_retains_no_journal(paths: StorePaths, receiver: HttpReceiver) -> None:
    receiver.rule = lambda signal, _message: Answer(503) if signal == "logs" else None
    everything = {f"{BASE}ENDPOINT": receiver.endpoint}
    run(FAILING + "fail(10); tt.flush(); tried()", paths.database, **everything)
    assert left(paths, "otlp-logs") > 0
    run("run(1); tt.flush(); tt.shutdown()", paths.database,
        **everything, OTEL_LOGS_EXPORTER="none")  # fmt: skip
    assert names(paths) == ["otlp-metrics", "otlp-traces"]
    run("run(1); delivered(12)", paths.database, **everything, OTEL_LOGS_EXPORTER="none")
    fold(paths)
    assert paths.journals() == {}


def test_an_application_with_a_provider_for_spans_alone(paths: StorePaths, receiver: HttpReceiver) -> None:
    """Its spans are its own business; what it has no provider for is delivered."""
    code = (
        FAILING
        + """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
run(20); fail(10); tt.flush(); delivered(30)
"""
    )
    run(code, paths.database, **{f"{BASE}ENDPOINT": receiver.endpoint})
    assert set(receiver.signals) == {"logs", "metrics"}


def test_forgetting_otlp_forgets_each_of_its_signals(paths: StorePaths, receiver: HttpReceiver, tmp_path: Path) -> None:
    run("run(1); tt.flush(); delivered(1)", paths.database, **{f"{BASE}ENDPOINT": receiver.endpoint})
    runner = CliRunner()
    store = ["--store", str(paths.database)]
    status = runner.invoke(cli, ["export", "--status", *store], catch_exceptions=False).output
    assert [line.partition(" ")[0] for line in status.splitlines()] == ["otlp-logs", "otlp-metrics", "otlp-traces"]
    assert runner.invoke(cli, ["export", "otlp-logs", "--forget", *store]).exit_code == 0
    assert names(paths) == ["otlp-metrics", "otlp-traces"]
    assert runner.invoke(cli, ["export", "otlp", "--forget", *store]).exit_code == 0
    assert names(paths) == []
