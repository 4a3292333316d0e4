"""A receiver of OTLP that does as it is told: real servers, by HTTP and by gRPC, on this machine."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import socket
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from google.protobuf.json_format import MessageToJson, ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tooltrace.core import zstd

REQUESTS: dict[str, Any] = {
    "traces": ExportTraceServiceRequest,
    "logs": ExportLogsServiceRequest,
    "metrics": ExportMetricsServiceRequest,
}
ANSWERS: dict[str, Any] = {
    "traces": ExportTraceServiceResponse,
    "logs": ExportLogsServiceResponse,
    "metrics": ExportMetricsServiceResponse,
}


@dataclass
class Answer:
    """Response to a request. ``status``: an HTTP status, or the name of a gRPC code."""

    status: int | str = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    trailing: tuple[tuple[str, bytes], ...] = ()
    hold: threading.Event | None = None
    """It comes when this is set."""
    taken: bool = False
    """Whether the records are stored although the response is not a success."""


@dataclass
class Request:
    signal: str
    message: Any
    headers: dict[str, str]
    size: int


def spans_in(message: Any) -> list[Any]:
    return [span for group in message.resource_spans for scope in group.scope_spans for span in scope.spans]


def logs_in(message: Any) -> list[Any]:
    return [log for group in message.resource_logs for scope in group.scope_logs for log in scope.log_records]


def points_in(message: Any) -> list[Any]:
    return [
        point
        for group in message.resource_metrics
        for scope in group.scope_metrics
        for metric in scope.metrics
        for point in metric.histogram.data_points
    ]


class ReceivedRequests:
    """Acknowledged records, and every request."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.script: deque[Answer] = deque()
        """Answers to the next requests; after them 200."""
        self.rule: Callable[[str, Any], Answer | None] = lambda _signal, _message: None
        """Asked where the script is empty."""
        self.requests: list[Request] = []
        self.spans: Counter[str] = Counter()
        self.logs: list[Any] = []
        self.counted = 0
        self.points: list[Any] = []

    def take(self, signal: str, data: bytes, headers: dict[str, str]) -> Answer:
        message = REQUESTS[signal].FromString(data)
        with self.changed:
            self.requests.append(Request(signal, message, headers, len(data)))
            answer = self.script.popleft() if self.script else self.rule(signal, message) or Answer()
            self.changed.notify_all()
        if answer.hold is not None:
            answer.hold.wait()
        with self.changed:
            if answer.taken or answer.status in (200, "OK"):
                self._keep(signal, message)
            self.changed.notify_all()
        return answer

    def _keep(self, signal: str, message: Any) -> None:
        if signal == "traces":
            self.spans.update(span.span_id.hex() for span in spans_in(message))
        elif signal == "logs":
            self.logs += logs_in(message)
        else:
            self.points += points_in(message)
            self.counted += sum(point.count for point in points_in(message))

    def wait_until(self, condition: Callable[[], Any]) -> None:
        """Until ``condition``, which is asked after each request."""
        with self.changed:
            self.changed.wait_for(condition)

    @property
    def signals(self) -> list[str]:
        return [request.signal for request in self.requests]


def from_json(signal: str, data: bytes) -> bytes:
    """The request as protobuf; ids in JSON are hex."""

    def with_bytes(value: Any) -> Any:
        if isinstance(value, list):
            return [with_bytes(item) for item in value]
        if not isinstance(value, dict):
            return value
        ids = {
            key: base64.b64encode(bytes.fromhex(value[key])).decode()
            for key in value
            if key.endswith(("traceId", "panId"))
        }
        return {key: with_bytes(item) for key, item in value.items()} | ids

    message: bytes = ParseDict(with_bytes(json.loads(data)), REQUESTS[signal]()).SerializeToString()
    return message


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of an error in the handler; a sender that was killed is none."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class HttpReceiver(ReceivedRequests):
    """On a port of its own, which it keeps when it is stopped and started again."""

    def __init__(self) -> None:
        super().__init__()
        self._server: ThreadingHTTPServer | None = None
        self._connections: set[socket.socket] = set()
        self._port = 0
        self.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        kept = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                kept._connections.add(self.connection)

            def finish(self) -> None:
                kept._connections.discard(self.connection)
                super().finish()

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"]))
                if kept._server is not server:
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                if headers.get("content-encoding") == "gzip":
                    data = gzip.decompress(data)
                elif headers.get("content-encoding") == "zstd":
                    data = zstd.codec().decompress(data)
                signal = self.path.rpartition("/")[2]
                media_type = headers["content-type"]
                if media_type == "application/json":
                    data = from_json(signal, data)
                answer = kept.take(signal, data, {**headers, ":path": self.path})
                try:
                    self.send_response(int(answer.status))
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    body = answer.body
                    if media_type == "application/json" and answer.status == 200:
                        body = MessageToJson(ANSWERS[signal].FromString(body)).encode()
                    self.send_header("content-type", media_type)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

        server = _Server(("127.0.0.1", self._port), Handler)
        self._port = server.server_port
        self._server = server
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            for connection in list(self._connections):  # as when it is killed
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class GrpcReceiver(ReceivedRequests):
    """As ``HttpReceiver``."""

    def __init__(self) -> None:
        super().__init__()
        self._port = 0
        self._server: Any = None
        self.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        options = (("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", 64 << 20))
        self._server = grpc.server(ThreadPoolExecutor(4), options=options)
        self._server.add_generic_rpc_handlers((_Handler(self),))
        self._port = self._server.add_insecure_port(f"127.0.0.1:{self._port}")
        self._server.start()

    def stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.stop(0).wait()


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, kept: ReceivedRequests) -> None:
        self._kept = kept

    def service(self, details: Any) -> Any:
        signal = {"TraceService": "traces", "LogsService": "logs", "MetricsService": "metrics"}[
            details.method.split("/")[1].rpartition(".")[2]
        ]
        headers = {pair.key: pair.value for pair in details.invocation_metadata}

        def export(data: bytes, context: Any) -> bytes:
            answer = self._kept.take(signal, data, headers)
            if answer.status not in (200, "OK"):
                context.set_trailing_metadata(answer.trailing)
                context.abort(grpc.StatusCode[str(answer.status)], answer.body.decode())
            return answer.body

        return grpc.unary_unary_rpc_method_handler(export)
