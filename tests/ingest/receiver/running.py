"""A receiver that listens in a thread of the test's process, and what came to its store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from tooltrace.core.records import Record, ToolCall
from tooltrace.ingest.receiver.ingester import Receiver
from tooltrace.otel.span_codec import encode
from tooltrace.otel.span_data import SpanData
from tooltrace.redact.snapshot import Json
from tooltrace.server.asgi import serve
from tooltrace.server.site import Site
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import decode

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
START = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)


@dataclass(frozen=True)
class Ports:
    http: int
    grpc: int | None


@dataclass(frozen=True)
class Running:
    """A receiver that listens."""

    store: Path
    ports: Ports
    receiver: Receiver
    client: httpx.Client

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports.http}"

    @property
    def grpc(self) -> str:
        return f"127.0.0.1:{self.ports.grpc}"

    def post(self, path: str, body: bytes, **headers: str) -> httpx.Response:
        """Post protobuf; ``content_type="…"`` and the like set headers."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(f"{self.url}{path}", content=body, headers={**PROTOBUF, **given})

    def records(self) -> list[Record]:
        """Return the records in the journals."""
        files = sorted(StorePaths.of(self.store).journal.glob("*.jsonl"), key=lambda file: file.stat().st_mtime_ns)
        return [decode(line) for file in files for line in file.read_bytes().splitlines(keepends=True)]

    def calls(self) -> list[ToolCall]:
        return [record for record in self.records() if isinstance(record, ToolCall)]


Receiving = Callable[..., Running]


def start(receiver: Receiver, site: Site) -> tuple[Ports, Callable[[], None]]:
    found: list[Ports] = []
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    listening = threading.Event()

    def ready(http: int, grpc: int | None) -> None:
        found.append(Ports(http, grpc))
        listening.set()

    async def main() -> None:
        stop = asyncio.Event()
        loops.append((asyncio.get_running_loop(), stop))
        await serve(site, stop, ready, host="127.0.0.1", port=0, receiver=receiver, grpc_port=0)

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    assert listening.wait(), "the receiver did not start"

    def end() -> None:
        loop, stop = loops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        assert not thread.is_alive(), "the receiver did not end"

    return found[0], end


def made(number: int, **given: Any) -> ToolCall:
    """The ``number``-th call of another program's recorder."""
    known: dict[str, Any] = {
        "tool": "search", "tool_type": "function", "call_id": f"call_{number}", "trace_id": f"{number + 1:032x}",
        "span_id": f"{number + 1:016x}", "started_at": START + timedelta(milliseconds=number), "duration_ms": 12.5,
        "status": "success", "arguments": Json('{"query":"cats"}'), "result": Json('{"rows":[1,2]}'),
        "recorder_version": "0.1.0", "service": "agents", "host": "there", "pid": 41,
    }  # fmt: skip
    return ToolCall(**{**known, **given})


def span(number: int, **given: Any) -> SpanData:
    return encode(made(number, **given))
