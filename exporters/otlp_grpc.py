"""Transport of one OTLP signal by gRPC."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

from tooltrace.errors import ConfigError
from tooltrace.exporters.otlp_config import ANSWER_BYTES, Signal, SignalSettings
from tooltrace.exporters.protocol import Refused, Unavailable
from tooltrace.version import __version__

_METHODS: Final[dict[Signal, str]] = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}
_Code: Final = grpc.StatusCode
_BUSY: Final = (_Code.UNAVAILABLE, _Code.CANCELLED, _Code.ABORTED, _Code.OUT_OF_RANGE,
                _Code.DATA_LOSS, _Code.UNAUTHENTICATED, _Code.PERMISSION_DENIED)  # fmt: skip
_DOUBTFUL: Final = (_Code.INTERNAL, _Code.UNKNOWN, _Code.RESOURCE_EXHAUSTED, _Code.DEADLINE_EXCEEDED)


class GrpcSender:
    """A sender that calls one method over a persistent channel, which reconnects by itself."""

    encodes_json = False

    def __init__(self, settings: SignalSettings) -> None:
        self._settings = settings
        self._metadata = tuple(settings.headers.items())
        self._closed = False
        self._lock = threading.Lock()
        self._connect()

    def _connect(self) -> None:
        self._channel = _channel(self._settings)
        self._export: Any = self._channel.unary_unary(_METHODS[self._settings.signal])

    def send(self, request: bytes) -> bytes:
        """Send ``request`` and return the response, protobuf. Raises Unavailable or Refused."""
        try:
            answer: bytes = self._export(request, timeout=self._settings.seconds, metadata=self._metadata)
        except grpc.RpcError as error:
            # accepted, with a response too long to read; gRPC says so in the text of RESOURCE_EXHAUSTED only
            if f" vs. {ANSWER_BYTES})" in (error.details() or ""):
                return b""
            # a dead connection may go unnoticed: open a new one
            if error.code() is _Code.DEADLINE_EXCEEDED:
                self._reconnect()
            raise self._error(error) from error
        except ValueError as error:  # the channel was closed by another thread
            raise Unavailable(f"the connection to {self._settings.place} is closed: {error}") from error
        return answer

    def close(self) -> None:
        """Close the channel; a running call is cancelled."""
        with self._lock:
            self._closed = True
            self._channel.close()

    def _reconnect(self) -> None:
        with self._lock:
            if not self._closed:
                self._channel.close()
                self._connect()

    def _error(self, error: Any) -> Unavailable | Refused:
        code, details = error.code(), " ".join((error.details() or "").split())[:300]
        message = f"{self._settings.place} answered {code.name}: {details}"
        retry_after = _retry_after(error)
        if code in _BUSY or (code is _Code.RESOURCE_EXHAUSTED and retry_after is not None):
            return Unavailable(message, retry_after)
        if code is _Code.UNIMPLEMENTED:
            return Refused(message, whole=True)
        if code in _DOUBTFUL and "larger than" not in details:
            return Unavailable(message, retry_after, doubtful=True)
        return Refused(message)


def _retry_after(error: Any) -> float | None:
    """Return the seconds of the RetryInfo in ``error``: in its status, or alone, as some servers send it."""
    trailing = dict(error.trailing_metadata() or ())
    try:
        alone = trailing.get("google.rpc.retryinfo-bin")
        found = [RetryInfo.FromString(alone)] if alone else []
        for detail in Status.FromString(trailing.get("grpc-status-details-bin", b"")).details:
            info = RetryInfo()
            if detail.Unpack(info):
                found.append(info)
    except DecodeError:
        return None
    return max((max(0.0, info.retry_delay.ToTimedelta().total_seconds()) for info in found), default=None)


def _channel(settings: SignalSettings) -> grpc.Channel:
    target = urlsplit(settings.url).netloc if "://" in settings.url else settings.url
    compression = grpc.Compression.Gzip if settings.compression else grpc.Compression.NoCompression
    options = (
        ("grpc.primary_user_agent", f"tooltrace/{__version__}"),
        # channels of one process share connections otherwise: a new channel would get the dead one
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.max_reconnect_backoff_ms", 2000),
        ("grpc.max_receive_message_length", ANSWER_BYTES),
    )
    if settings.insecure:
        return grpc.insecure_channel(target, options=options, compression=compression)
    credentials = grpc.ssl_channel_credentials(
        _bytes(settings.certificate), _bytes(settings.client_key), _bytes(settings.client_certificate)
    )
    return grpc.secure_channel(target, credentials, options=options, compression=compression)


def _bytes(file: str | None) -> bytes | None:
    try:
        return None if file is None else Path(file).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"the OTLP certificate {file} cannot be read: {error.strerror}; nothing is exported"
        ) from error
