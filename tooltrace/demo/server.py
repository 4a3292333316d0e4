"""A local HTTP server that sometimes fails, always in the same way for the same path.

    /doc/NAME           200: the docstring of a module, as JSON
    /missing/NAME       404
    /garbled/NAME       200, and half of the JSON
    /limited/N/NAME     429 with Retry-After for the first N requests, then 200
    /down/N/NAME        503 for the first N requests, then 200
    /slow/NAME          200, too late for a client with a short timeout
    /hang/NAME          no response while the client waits
    /lines/N            N lines, streamed
    /cut/N              N lines, streamed, and the connection cut before the end

A NAME is the name of a module; a suffix after ``~`` is ignored, and gives each call a separate path.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TIMEOUT_HEADER = "X-Client-Timeout"
"""Header with the client's timeout in seconds."""
SLOW_SECONDS = 0.4
HANG_SECONDS = 30.0
RETRY_AFTER_SECONDS = 0.05
"""A fraction of a second, which the definition of Retry-After does not allow, keeps the demo short."""


class _PageServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, pages: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages = pages
        self._requests: Counter[str] = Counter()
        self._lock = threading.Lock()

    def requests(self, path: str) -> int:
        """Count a request of ``path``, and return the number of its requests so far."""
        with self._lock:
            self._requests[path] += 1
            return self._requests[path]

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error: clients that disconnect are part of the demo."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _site(self) -> _PageServer:
        assert isinstance(self.server, _PageServer)
        return self.server

    def do_GET(self) -> None:
        kind, *rest = self.path.strip("/").split("/")
        getattr(self, f"_{kind}", self._missing)(*rest)

    def _doc(self, name: str) -> None:
        self._respond(200, self._page(name))

    def _missing(self, *_: str) -> None:
        self._respond(404, b'{"error": "no such page"}')

    def _garbled(self, name: str) -> None:
        self._respond(200, self._page(name)[:-3])

    def _limited(self, times: str, name: str) -> None:
        if self._site.requests(self.path) > int(times):
            return self._doc(name)
        return self._respond(429, b'{"error": "too many requests"}', {"Retry-After": str(RETRY_AFTER_SECONDS)})

    def _down(self, times: str, name: str) -> None:
        if self._site.requests(self.path) > int(times):
            return self._doc(name)
        return self._respond(503, b'{"error": "down for maintenance"}')

    def _slow(self, name: str) -> None:
        if float(self.headers.get(TIMEOUT_HEADER, "inf")) < SLOW_SECONDS:
            return self._hang(name)
        time.sleep(SLOW_SECONDS)
        return self._doc(name)

    def _hang(self, _name: str) -> None:
        # Wait until the client hangs up: on a busy machine too, a short timeout must always expire.
        select.select([self.connection], [], [], HANG_SECONDS)
        self.close_connection = True

    def _lines(self, count: str, *, cut: bool = False) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(int(count)):
            line = f"{number + 1} of {count}\n".encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
        if cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _cut(self, count: str) -> None:
        self._lines(count, cut=True)

    def _page(self, name: str) -> bytes:
        module = name.partition("~")[0]
        return json.dumps({"module": module, "doc": self._site.pages.get(module)}).encode()

    def _respond(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Log nothing: the tools' calls are recorded."""


@contextmanager
def serving(pages: Mapping[str, str]) -> Iterator[str]:
    """Yield the address of a server of ``pages``, docstrings by module, on a free port."""
    with _PageServer(pages) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
