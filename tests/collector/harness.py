"""A collector to start, kill and start again, and what it wrote, read without tooltrace's help."""

from __future__ import annotations

import base64
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.waiting import until

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "docs" / "collector"
PAGE = ROOT / "docs" / "how-to" / "collector.md"
NOT_TAKEN = {"to-tooltrace.yaml": ("METRICS",), "to-phoenix.yaml": ("METRICS", "LOGS")}
"""The signals that a configuration has no pipeline for, and that an application is told not to send."""
READY = b"Everything is ready"
QUIET = "yaml:service::telemetry::metrics::level: none"
"""No port for the collector's own figures: two may run on one machine."""


def free_port() -> int:
    """One that nobody listens on, below those that the system gives away: it is to be free again after a kill."""
    while True:
        port = random.randint(20_000, 32_000)
        with socket.socket() as sock, suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port


@dataclass
class Collector:
    """One configuration of ``docs/collector``, on ports and in a folder of its own."""

    binary: Path
    config: str
    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    more: list[str] = field(default_factory=list)
    """Further configurations, on top of it."""
    grpc: int = field(default_factory=free_port)
    http: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it takes requests."""
        log = self.folder / "collector.log"
        before = log.stat().st_size if log.exists() else 0
        ports = {"OTLP_GRPC": f"127.0.0.1:{self.grpc}", "OTLP_HTTP": f"127.0.0.1:{self.http}"}
        env = {**os.environ, **ports, "FOLDER": str(self.folder), **self.env}
        configs = [str(CONFIGS / self.config), QUIET, *self.more]
        command = [str(self.binary), *(f"--config={config}" for config in configs)]
        with log.open("ab") as out:
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

        def is_ready() -> bool:
            text = log.read_bytes()[before:]
            assert self.process is not None
            assert self.process.poll() is None, text.decode()
            return READY in text

        until(is_ready)

    def kill(self) -> None:
        """As the kernel does it when memory is short."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As it is asked to end: it passes on what it holds."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait()

    def endpoint(self, protocol: str) -> str:
        """Where to send, as ``OTEL_EXPORTER_OTLP_ENDPOINT`` says it."""
        return f"http://127.0.0.1:{self.grpc if protocol == 'grpc' else self.http}"

    def environment(self, protocol: str) -> dict[str, str]:
        """The standard variables for sending here."""
        own = {"OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint(protocol), "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        none = {f"OTEL_{signal}_EXPORTER": "none" for signal in NOT_TAKEN.get(self.config, ())}
        return {**quiet(), **own, **none, "OTEL_SERVICE_NAME": "tooltrace-demo"}

    def spans(self, *, torn: bool = False) -> list[dict[str, Any]]:
        """Every span in its file: ``resource`` and ``attributes`` as plain values, the rest as it is written.
        ``torn``: a kill may have cut a line short, and the next then follows on the same."""
        return list(_items(self.folder / "traces.jsonl", "resourceSpans", "scopeSpans", "spans", torn=torn))

    def logs(self) -> list[dict[str, Any]]:
        """Every log record in its file."""
        return list(_items(self.folder / "logs.jsonl", "resourceLogs", "scopeLogs", "logRecords"))

    def metrics(self) -> list[dict[str, Any]]:
        """Every metric in its file."""
        return list(_items(self.folder / "metrics.jsonl", "resourceMetrics", "scopeMetrics", "metrics"))


def _items(file: Path, resources: str, scopes: str, items: str, *, torn: bool = False) -> Iterator[dict[str, Any]]:
    text = file.read_text() if file.exists() else ""
    for line in text[: text.rfind("\n") + 1].splitlines():  # the last may be half written
        for whole in _requests(line, resources) if torn else [json.loads(line)]:
            for resource in whole[resources]:
                about = plain(resource.get("resource", {}).get("attributes", []))
                for scope in resource[scopes]:
                    for item in scope[items]:
                        own = plain(item.get("attributes", []))
                        yield {**item, "attributes": own, "resource": about, "scope": scope.get("scope", {})}


def _requests(line: str, resources: str) -> Iterator[dict[str, Any]]:
    begin = f'{{"{resources}":'
    for part in line.split(begin)[1:]:
        with suppress(json.JSONDecodeError):
            yield json.loads(begin + part)


def plain(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    """OTLP's list of keys and values as a dict. A key that comes twice fails."""
    found = {pair["key"]: _value(pair.get("value", {})) for pair in pairs}
    assert len(found) == len(pairs), [pair["key"] for pair in pairs]
    return found


def _value(value: dict[str, Any]) -> Any:
    if not value:
        return None
    ((kind, content),) = value.items()
    match kind:
        case "intValue":
            return int(content)
        case "doubleValue":
            return float(content)
        case "bytesValue":
            return base64.b64decode(content)
        case "arrayValue":
            return [_value(item) for item in content.get("values", [])]
        case "kvlistValue":
            return plain(content.get("values", []))
        case _:
            return content


@dataclass
class Receiver:
    """``tooltrace serve --otlp`` in a process of its own."""

    store: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Returns when it takes requests."""
        serve = [sys.executable, "-m", "tooltrace", "serve", "--otlp", "--store", str(self.store)]
        command = [*serve, "--port", str(self.port), "--grpc-port", "0"]
        self.process = subprocess.Popen(command, env=quiet(), stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert f":{self.port}" in line, line

    def kill(self) -> None:
        """Without a chance to write down what it holds."""
        if self.process is not None and self.process.stdout is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()

    @property
    def endpoint(self) -> str:
        """Where to send by HTTP."""
        return f"http://127.0.0.1:{self.port}"


def quiet() -> dict[str, str]:
    """The environment without OpenTelemetry's variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}


@dataclass
class Application:
    """A process that records, and sends by the standard variables alone."""

    store: Path
    env: dict[str, str]
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, str(Path(__file__).with_name("recording.py")), str(self.store)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def make(self, calls: int, characters: int = 0) -> None:
        """Returns when they are made and written down."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{calls} {characters}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer == "made\n", self.errors

    def end(self) -> int:
        """Its exit code."""
        self.process.communicate()
        return self.process.returncode

    @property
    def errors(self) -> str:
        """Errors in its log so far."""
        return self._log.read_text()

    @property
    def _log(self) -> Path:
        return self.store.with_suffix(".log")
