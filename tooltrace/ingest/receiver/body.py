"""Reading of request bodies: decompressed piece by piece, and refused as soon as they are too large."""

from __future__ import annotations

import zlib
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

from tooltrace.core import zstd
from tooltrace.ingest.receiver.admission import RequestSlot
from tooltrace.ingest.receiver.limits import ReceiverLimits
from tooltrace.ingest.receiver.responses import OtlpError, malformed, too_large

MAX_GZIP_MEMBERS: Final = 1000
"""Maximum number of gzip members in one body; each costs more than its few bytes."""
KNOWN_CODINGS: Final = "gzip, deflate, identity" + (", zstd" if zstd.is_available() else "")
_WINDOW_LOG: Final = 23
"""Largest window of zstd: 8 MiB, as in RFC 9659. A larger one would only cost memory."""
_GZIP: Final = 16 + zlib.MAX_WBITS


async def read_body(request: Request, limits: ReceiverLimits, place: RequestSlot) -> bytes:
    """Return the decompressed body of ``request``. Raises OtlpError."""
    # Refuse early where the client announces the size; a chunked body is counted while it arrives.
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and len(announced) < 20 and int(announced) > limits.body_bytes:
        raise _too_long(limits)
    inflater = _inflater(request.headers.get("content-encoding", "identity"), limits)
    try:
        async with place.arriving():
            return await _read(request, inflater, limits, place)
    except ClientDisconnect:
        raise malformed("the client left before its body was here; nothing was stored") from None


async def _read(request: Request, inflater: Inflater | None, limits: ReceiverLimits, place: RequestSlot) -> bytes:
    body = bytearray()
    raw = 0
    async for chunk in request.stream():
        raw += len(chunk)
        piece = chunk if inflater is None else inflater.feed(chunk)
        if max(raw, len(body) + len(piece)) > limits.body_bytes:
            raise _too_long(limits)
        place.accept(len(piece))
        body += piece
    if inflater is not None:
        inflater.finish()
    return bytes(body)


def _inflater(encoding: str, limits: ReceiverLimits) -> Inflater | None:
    """Return the decompressor for ``encoding``; None for an uncompressed body. Raises OtlpError."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return None
    if name in ("gzip", "x-gzip"):
        return Inflater(_GZIP, limits)
    if name in ("deflate", "zlib"):  # HTTP's name and the collector's name for zlib
        return Inflater(zlib.MAX_WBITS, limits)
    if name == "zstd" and zstd.is_available():
        return ZstdInflater(limits)
    raise OtlpError(415, f"unsupported Content-Encoding {encoding[:100]!r}: use {KNOWN_CODINGS}")


class Inflater:
    """Incremental decompressor of a body that stops at the size limit."""

    def __init__(self, window: int, limits: ReceiverLimits) -> None:
        self._window = window
        self._limits = limits
        self._room = limits.body_bytes
        self._members = 1
        self._stream: Any = self._new_stream()

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        return (zlib.error,)

    def _new_stream(self) -> Any:
        return zlib.decompressobj(self._window)

    def feed(self, data: bytes) -> bytes:
        """Decompress the next piece of the body. Raises OtlpError."""
        out = []
        while data:
            if self._stream.eof:
                # Senders may concatenate several compressed members, which the format allows.
                self._next_member()
            try:
                # one byte above the limit is enough to detect excess, and bounds a decompression bomb
                out.append(self._stream.decompress(data, self._room + 1))
            except self._errors as error:
                raise malformed(f"the body cannot be decompressed: {error}; nothing was stored") from error
            self._room -= len(out[-1])
            if self._room < 0:
                raise _too_long(self._limits)
            data = self._stream.unused_data
        return b"".join(out)

    def finish(self) -> None:
        """Check that the compressed data ended with the body. Raises OtlpError."""
        if not self._stream.eof:
            raise malformed("the compressed body is cut off; nothing was stored")

    def _next_member(self) -> None:
        self._members += 1
        if self._members > MAX_GZIP_MEMBERS:
            raise malformed(f"the compressed body has more than {MAX_GZIP_MEMBERS} parts; nothing was stored")
        self._stream = self._new_stream()


class ZstdInflater(Inflater):
    """The same for zstd."""

    def __init__(self, limits: ReceiverLimits) -> None:
        self._codec = zstd.codec()
        super().__init__(0, limits)

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        return (self._codec.ZstdError,)

    def _new_stream(self) -> Any:
        return self._codec.ZstdDecompressor(options={self._codec.DecompressionParameter.window_log_max: _WINDOW_LOG})


def _too_long(limits: ReceiverLimits) -> OtlpError:
    return too_large(f"the body is larger than {limits.body_bytes:,} bytes after decompression; nothing was stored")
