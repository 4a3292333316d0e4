"""A file while it is read: its lines, and those that could not be."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import orjson

from tooltrace.core.records import Record
from tooltrace.ingest.files.compression import DAMAGE, HEAD_BYTES, UnreadableFile, decompressed
from tooltrace.recording.settings import Settings

LONGEST_LINE = 64 * 1024 * 1024
"""A longer line is skipped: it would have to be held in memory."""
LONGEST_DOCUMENT = 512 * 1024 * 1024
"""How large a file may be that is one JSON document over many lines."""
_BOM: Final = b"\xef\xbb\xbf"

__all__ = ["HEAD_BYTES", "LONGEST_LINE", "SkippedLine", "TraceFile", "UnreadableFile", "parsed"]


@dataclass(frozen=True, slots=True)
class Format:
    """How files of one kind are known and read."""

    name: str
    knows: Callable[[bytes], bool]
    """Whether the front of a file is of this format."""
    read: Callable[[TraceFile, Settings], Iterator[Record]]
    """The records of a file; what cannot be read of it is skipped, and said so to the source."""


class SkippedLine(NamedTuple):
    """A line that could not be read, and why."""

    line: int
    reason: str


class TraceFile:
    """The file at ``path``, open for reading; what is packed by gzip or zstd is unpacked. Raises UnreadableFile.

    ``skipped`` is told of each line that is left out; ``advance`` of the bytes read since the last time.
    """

    def __init__(
        self, path: Path, skipped: Callable[[SkippedLine], None], advance: Callable[[int], None] = lambda _: None
    ) -> None:
        self.path = path
        self._skipped = skipped
        self._advance = advance
        self._advanced = 0
        try:
            self._raw = path.open("rb", buffering=0)
            self._file: io.BufferedReader[Any] = io.BufferedReader(self._raw, HEAD_BYTES)
            self._stream = decompressed(self._file)
            self.head = self._stream.peek(HEAD_BYTES)[:HEAD_BYTES].removeprefix(_BOM)
            """The front of the file."""
        except UnreadableFile as error:
            raise UnreadableFile(f"{path}: {error}") from error
        except DAMAGE as error:
            raise UnreadableFile(f"{path}: {getattr(error, 'strerror', None) or error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self._file.close()

    def skip(self, line: int, reason: str) -> None:
        """The line is left out."""
        self._skipped(SkippedLine(line, reason))

    def bytes_read(self, share: float) -> None:
        """So much of the file is read, from 0 to 1, by whoever reads it past this object."""
        size = self.path.stat().st_size
        self._tell(round(size * share))

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The JSON objects of a JSON Lines file, with the numbers of their lines; what is none is skipped."""
        for number, line in self.lines():
            data = parsed(line)
            if isinstance(data, dict):
                yield number, data
            elif line.strip():
                self.skip(number, "not a JSON object")

    def documents(self) -> Iterator[tuple[int, Any]]:
        """The JSON values of a file that has one a line, or one over all its lines."""
        first = self.head.lstrip().partition(b"\n")[0]
        over_lines = b"\n" in self.head.strip() and parsed(first) is None
        if not over_lines:
            yield from self.objects() if first.startswith(b"{") else self._values()
            return
        text = self._whole()
        data = parsed(text)
        if data is None:
            raise UnreadableFile(f"{self.path}: neither JSON Lines nor one JSON document")
        yield 1, data

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines, with their numbers; one that is too long is skipped, and the damaged rest of a file."""
        number = 0
        while line := self._read(LONGEST_LINE + 1, number + 1):
            number += 1
            if len(line) <= LONGEST_LINE:
                yield number, line.removeprefix(_BOM) if number == 1 else line
                continue
            self.skip(number, f"longer than {LONGEST_LINE // 1024 // 1024} MiB")
            while line and not line.endswith(b"\n"):
                line = self._read(LONGEST_LINE + 1, number)

    def _values(self) -> Iterator[tuple[int, Any]]:
        for number, line in self.lines():
            data = parsed(line)
            if data is not None:
                yield number, data
            elif line.strip():
                self.skip(number, "not JSON")

    def _whole(self) -> bytes:
        parts, size = [], 0
        while part := self._read(LONGEST_LINE, 1):
            parts.append(part)
            size += len(part)
            if size > LONGEST_DOCUMENT:
                raise UnreadableFile(f"{self.path}: one JSON document of more than {LONGEST_DOCUMENT // 1024**2} MiB")
        return b"".join(parts).removeprefix(_BOM)

    def _read(self, most: int, number: int) -> bytes:
        try:
            line = self._stream.readline(most)
        except DAMAGE as error:
            self.skip(number, f"it cannot be read from here on: {getattr(error, 'strerror', None) or error}")
            return b""
        self._tell(self._raw.tell())
        return line

    def _tell(self, reached: int) -> None:
        if reached > self._advanced:
            self._advance(reached - self._advanced)
            self._advanced = reached


def parsed(text: bytes) -> Any:
    """What ``text`` says in JSON; None where it is none. Python's own ``NaN`` and ``Infinity`` are read."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(text.decode())
    except (ValueError, RecursionError):
        return None
