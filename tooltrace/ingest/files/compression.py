"""Decompression of files: gzip, zstd, and the frames of the OpenTelemetry Collector's file exporter."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import IO, Any, Final, cast

from tooltrace.core import zstd
from tooltrace.errors import UnreadableFile

HEAD_BYTES: Final = 1024 * 1024
"""Bytes at the beginning of a file that are examined to detect its format."""
MAX_FRAME_BYTES: Final = 64 * 1024 * 1024
"""Maximum length of a frame in bytes, before and after decompression: a whole frame is held in memory."""
DAMAGE: Final = (OSError, EOFError, zlib.error)
"""Exceptions raised on reading a damaged file; zstd's own error is converted to OSError."""

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_SIZE: Final = 4


def decompressed(stream: io.BufferedReader[Any]) -> io.BufferedReader[Any]:
    """Return the decompressed ``stream``; ``stream`` itself if it is not compressed. Raises UnreadableFile."""
    # The content decides, not the name: files are often renamed.
    start = stream.peek(_SIZE + len(_ZSTD))
    if start.startswith(_GZIP):
        return _buffered(gzip.GzipFile(fileobj=stream))
    if start.startswith(_ZSTD):
        return _buffered(_Careful(_zstd().ZstdFile(stream)))
    if start[_SIZE:].startswith(_ZSTD):
        return _buffered(_Frames(stream))
    return stream


def _buffered(raw: Any) -> io.BufferedReader[Any]:
    return io.BufferedReader(raw, HEAD_BYTES)


def _zstd() -> Any:
    try:
        return zstd.codec()
    except ImportError as error:
        raise UnreadableFile(
            "zstd needs a package that is not installed: pip install 'tooltrace-recorder[zstd]'"
        ) from error


class _Careful(io.RawIOBase):
    """A zstd file that raises OSError when it is damaged."""

    def __init__(self, packed: Any) -> None:
        self._packed = packed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return cast("int", self._packed.readinto(buffer))
        except _zstd().ZstdError as error:
            raise OSError(f"damaged zstd: {error}") from error


class _Frames(io.RawIOBase):
    """The stream of the Collector's frames, each as a line.

    A frame is a size of four bytes, big-endian, followed by that number of bytes of zstd.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._zstd = _zstd()
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = memoryview(self._next())
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def _next(self) -> bytes:
        """Return the next frame as a line. Raises OSError for an impossible size.

        A damaged or incomplete frame becomes a line that reports this and is not JSON, so that the reader skips it.
        """
        size = self._stream.read(_SIZE)
        if not size:
            return b""
        length = int.from_bytes(size, "big")
        if length > MAX_FRAME_BYTES:
            raise OSError(f"a frame of {length:,} bytes, which is damage")
        packed = self._stream.read(length)
        try:
            unpacker = self._zstd.ZstdDecompressor()
            data: bytes = unpacker.decompress(packed, max_length=MAX_FRAME_BYTES)
        except self._zstd.ZstdError:
            return b"damaged frame\n"
        return (data if unpacker.eof else b"frame cut off") + b"\n"
