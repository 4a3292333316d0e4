"""Transport of one OTLP signal by http/protobuf or http/json."""

from __future__ import annotations

import gzip
import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakSet

import urllib3
import urllib3.connection
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

from tooltrace.core import zstd
from tooltrace.exporters.otlp_config import ANSWER_BYTES, JSON, Compression, SignalSettings
from tooltrace.exporters.protocol import Refused, Unavailable
from tooltrace.otel.otlp.proto_json import merge_json
from tooltrace.version import __version__

_COMPRESS: Final[dict[Compression | None, Callable[[bytes], bytes]]] = {
    None: lambda request: request,
    "gzip": lambda request: gzip.compress(request, 6),
    "zstd": lambda request: zstd.codec().compress(request),
}
_BUSY: Final = (429, 502, 503, 504)
_RETRYABLE_CLIENT_ERRORS: Final = (401, 403, 407, 408, 421)
"""Status codes unrelated to the data: credentials that may be renewed, a proxy, a request that arrived too slowly."""
_UNKNOWN: Final = (404, 405, 501)
"""Status codes of a server that does not accept this signal."""


class HttpSender:
    """A sender that posts requests to one URL, over one persistent connection."""

    def __init__(self, settings: SignalSettings) -> None:
        self._settings = settings
        self._connections = _Connections()
        self._pool = _pool(settings, self._connections)
        self.encodes_json = settings.protocol == JSON
        self._format = "json" if self.encodes_json else "protobuf"
        media_type = "application/json" if self.encodes_json else "application/x-protobuf"
        self._headers = {"content-type": media_type, "user-agent": f"tooltrace/{__version__}"}
        if settings.compression is not None:
            self._headers["content-encoding"] = settings.compression
        self._headers |= settings.headers

    def send(self, request: bytes) -> bytes:
        """Send ``request`` and return the response, in the same encoding. Raises Unavailable or Refused."""
        body, place = _COMPRESS[self._settings.compression](request), self._settings.place
        try:
            with self._connections.limited_to(self._settings.seconds):
                answer = self._pool.request(
                    "POST", self._settings.url, body=body, headers=self._headers,
                    retries=False, redirect=False, preload_content=False,
                )  # fmt: skip
                try:
                    content = answer.read(ANSWER_BYTES, decode_content=True)
                finally:
                    # the response is longer: the connection cannot be used again
                    if not answer.closed:
                        answer.close()
                    answer.release_conn()
        except (urllib3.exceptions.ReadTimeoutError, TimeoutError) as error:  # perhaps because of the request's size
            raise Unavailable(f"{place} did not answer in time: {_short(error)}", doubtful=True) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise Unavailable(f"{place} could not be reached: {_short(error)}") from error
        if 200 <= answer.status < 300:
            return content if self._format in answer.headers.get("content-type", self._format) else b""
        if answer.status < 200:  # the response itself may still follow
            self._pool.clear()
        raise self._error(answer.status, answer.headers.get("retry-after"), content)

    def close(self) -> None:
        """Close the connection; a running request fails."""
        self._connections.shut_down()
        self._pool.clear()

    def _error(self, status: int, retry_after: str | None, body: bytes) -> Unavailable | Refused:
        message = f"{self._settings.place} answered {status}{_message_of(body)}"
        if status in _BUSY:
            return Unavailable(message, seconds_of(retry_after))
        if status in _UNKNOWN:
            return Refused(message, whole=True)
        if status in _RETRYABLE_CLIENT_ERRORS or status < 400:
            return Unavailable(message, seconds_of(retry_after))
        if status >= 500:
            return Unavailable(message, seconds_of(retry_after), doubtful=True)
        return Refused(message)


class _Connections:
    """The open connections of a sender, which another thread can shut down.

    The timeouts of urllib3 limit each wait for bytes. A receiver that sends single bytes, or a response without an end,
    is limited only from outside.
    """

    def __init__(self) -> None:
        self._open: WeakSet[socket.socket] = WeakSet()
        """The sockets, because a connection forgets its socket while a response without a length is read."""
        self._lock = threading.Lock()
        self._expired = False

    @contextmanager
    def limited_to(self, seconds: float) -> Iterator[None]:
        """Shut the connections down unless the block ends within ``seconds``. Raises TimeoutError in that case."""
        with self._lock:
            self._expired = False
        timer = threading.Timer(seconds, self.shut_down)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (urllib3.exceptions.HTTPError, OSError) as error:
            if self._expired:
                raise TimeoutError(f"the request took longer than {seconds:g} s") from error
            raise
        finally:
            timer.cancel()
        # a connection that was shut down may look like the end of a response
        if self._expired:
            raise TimeoutError(f"the request took longer than {seconds:g} s")

    def add(self, sock: socket.socket | None) -> None:
        """Add the socket of a connection that was just opened."""
        with self._lock:
            if sock is not None:
                self._open.add(sock)
                # the time ended while the connection was being opened
                if self._expired:
                    _shut_down(sock)

    def shut_down(self) -> None:
        """End all reads and writes of the connections."""
        with self._lock:
            self._expired = True
            for sock in list(self._open):
                _shut_down(sock)


def _shut_down(sock: socket.socket) -> None:
    with suppress(OSError):  # the method of ``socket``: that of a TLS socket changes it under a reading thread
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def seconds_of(retry_after: str | None) -> float | None:
    """Return the seconds of a ``Retry-After`` header, which has seconds or a date; None if unreadable."""
    text = (retry_after or "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        seconds = float(text)
        return seconds if math.isfinite(seconds) else None
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _pool(settings: SignalSettings, connections: _Connections) -> urllib3.PoolManager:
    class Connection(urllib3.connection.HTTPConnection):
        def _new_conn(self) -> socket.socket:  # before a proxy is asked for a tunnel, which it may answer slowly
            sock = super()._new_conn()
            connections.add(sock)
            return sock

    class TlsConnection(Connection, urllib3.connection.HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            connections.add(self.sock)

    class Pool(urllib3.HTTPConnectionPool):
        ConnectionCls = Connection

    class TlsPool(urllib3.HTTPSConnectionPool):
        ConnectionCls = TlsConnection

    parts = urlsplit(settings.url)
    proxy = None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)
    options = {
        "timeout": urllib3.Timeout(total=settings.seconds),
        "maxsize": 1,
        "ca_certs": settings.certificate,
        "cert_file": settings.client_certificate,
        "key_file": settings.client_key,
    }
    known = {name: value for name, value in options.items() if value is not None}
    manager = urllib3.ProxyManager(proxy, **known) if proxy else urllib3.PoolManager(**known)  # type: ignore[arg-type]
    manager.pool_classes_by_scheme = {"http": Pool, "https": TlsPool}
    return manager


def _message_of(body: bytes) -> str:
    """Return the message of a ``google.rpc.Status``, else the text of the response."""
    try:
        text = merge_json(body, Status()).message if body.startswith(b"{") else Status.FromString(body).message
    except (DecodeError, ValueError):
        text = body.decode("utf-8", "replace")
    text = " ".join(text.split())[:300]
    return f": {text}" if text else ""


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
