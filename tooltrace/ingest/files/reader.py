"""Reading of trace files line by line, with a report of skipped lines."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import orjson

from tooltrace.core.fields import FROM_TEXT, record_from
from tooltrace.core.records import Record
from tooltrace.errors import UnreadableFile
from tooltrace.ingest.files.compression import DAMAGE, HEAD_BYTES, decompressed
from tooltrace.recording.settings import Settings
from tooltrace.store.database.schema import RECORDS
from tooltrace.store.journal.line_format import KINDS

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Maximum length of a line in bytes; longer lines are skipped, because a whole line is held in memory."""
MAX_DOCUMENT_BYTES = 512 * 1024 * 1024
"""Maximum size in bytes of a file that is one JSON document over many lines."""
MALFORMED: Final = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
"""What reading raises for JSON with a member that is missing or has a value of another type."""
_BOM: Final = b"\xef\xbb\xbf"

__all__ = [
    "HEAD_BYTES",
    "MALFORMED",
    "MAX_LINE_BYTES",
    "SkippedLine",
    "TraceFile",
    "kind_of",
    "parsed",
    "record_of",
]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how its files are recognised and read."""

    name: str
    knows: Callable[[bytes], bool]
    """Whether the beginning of a file has this format."""
    read: Callable[[TraceFile, Settings], Iterator[Record]]
    """Function that yields the records of a file; it reports unreadable parts with :meth:`TraceFile.skip`."""


class SkippedLine(NamedTuple):
    """A line that could not be read, and why."""

    line: int
    reason: str


class TraceFile:
    """The file at ``path``, open for reading and decompressed from gzip or zstd. Raises UnreadableFile.

    ``skipped`` receives each skipped line; ``advance`` receives the number of bytes read since its last call. ``start``: bytes
    whose records were imported before, for formats that can leave them out.
    """

    def __init__(
        self,
        path: Path,
        skipped: Callable[[SkippedLine], None],
        advance: Callable[[int], None] = lambda _: None,
        start: int = 0,
    ) -> None:
        self.path = path
        self._skipped = skipped
        self._advance = advance
        self._advanced = 0
        self.start = start
        self.position = 0
        """Bytes of the decompressed file up to the end of the current line."""
        self.waiting = 0
        """Number of calls that have no result yet and may get one later."""
        try:
            self._raw = path.open("rb", buffering=0)
            self._file: io.BufferedReader[Any] = io.BufferedReader(self._raw, HEAD_BYTES)
            self._stream = decompressed(self._file)
            self.head = self._stream.peek(HEAD_BYTES)[:HEAD_BYTES].removeprefix(_BOM)
            """The beginning of the decompressed file, without a byte order mark."""
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

    @property
    def is_new(self) -> bool:
        """Whether the current line is beyond those that were imported before."""
        return self.position > self.start

    def skip(self, line: int, reason: str) -> None:
        """Report ``line`` as skipped."""
        self._skipped(SkippedLine(line, reason))

    def bytes_read(self, share: float) -> None:
        """Report that ``share`` of the file, from 0 to 1, is read.

        For formats that read the file themselves and not through this object.
        """
        size = self.path.stat().st_size
        self._report(round(size * share))

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the JSON objects of a JSON Lines file with their line numbers; other lines are skipped."""
        for number, line in self.lines():
            data = parsed(line)
            if isinstance(data, dict):
                yield number, data
            elif line.strip():
                self.skip(number, "not a JSON object")

    def documents(self) -> Iterator[tuple[int, Any]]:
        """Yield the JSON values of a file that has one per line, or one over all lines. Raises UnreadableFile."""
        first = self.head.lstrip().partition(b"\n")[0]
        # A first line that is not JSON by itself, with more lines after it, begins one document over many lines.
        over_lines = b"\n" in self.head.strip() and parsed(first) is None
        if not over_lines:
            yield from self.objects() if first.startswith(b"{") else self._values()
            return
        text = self._document()
        data = parsed(text)
        if data is None:
            raise UnreadableFile(f"{self.path}: neither JSON Lines nor one JSON document")
        yield 1, data

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines with their numbers; a line that is too long and the rest of a damaged file are skipped."""
        number = 0
        while line := self._read(MAX_LINE_BYTES + 1, number + 1):
            number += 1
            if len(line) <= MAX_LINE_BYTES:
                yield number, line.removeprefix(_BOM) if number == 1 else line
                continue
            self.skip(number, f"longer than {MAX_LINE_BYTES // 1024 // 1024} MiB")
            while line and not line.endswith(b"\n"):
                line = self._read(MAX_LINE_BYTES + 1, number)

    def _values(self) -> Iterator[tuple[int, Any]]:
        for number, line in self.lines():
            data = parsed(line)
            if data is not None:
                yield number, data
            elif line.strip():
                self.skip(number, "not JSON")

    def _document(self) -> bytes:
        parts, size = [], 0
        while part := self._read(MAX_LINE_BYTES, 1):
            parts.append(part)
            size += len(part)
            if size > MAX_DOCUMENT_BYTES:
                raise UnreadableFile(f"{self.path}: one JSON document of more than {MAX_DOCUMENT_BYTES // 1024**2} MiB")
        return b"".join(parts).removeprefix(_BOM)

    def _read(self, most: int, number: int) -> bytes:
        try:
            line = self._stream.readline(most)
        except DAMAGE as error:
            self.skip(number, f"the file cannot be read from this line on: {getattr(error, 'strerror', None) or error}")
            return b""
        self._report(self._raw.tell())
        self.position += len(line)
        return line

    def _report(self, reached: int) -> None:
        if reached > self._advanced:
            self._advance(reached - self._advanced)
            self._advanced = reached


def parsed(text: bytes) -> Any:
    """Parse JSON, including Python's ``NaN`` and ``Infinity``; return None if ``text`` is not JSON."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(text.decode())
    except (ValueError, RecursionError):
        return None


def parsed_text(text: str) -> Any:
    """Parse JSON that is a text of other JSON; return None if ``text`` is not JSON, as where it has half a surrogate pair."""
    return parsed(text.encode("utf-8", "surrogatepass"))


def kind_of(columns: Collection[str]) -> str | None:
    """Return the kind of record in a table with these ``columns``; None if it is not a table of tooltrace."""
    required = {kind: {column.name for column in table.columns if column.required} for kind, table in RECORDS.items()}
    return next((kind for kind, names in required.items() if names <= set(columns)), None)


def record_of(kind: str, row: Mapping[str, Any]) -> Record:
    """Return the record of a table's ``row``; None is unknown. Raises ValueError with the cause."""
    return record_from(KINDS[kind], row, FROM_TEXT, quote=True)
