"""A file while it is read: its lines, and those that could not be."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import orjson

from tooltrace.errors import TooltraceError

HEAD_BYTES = 1024 * 1024
"""How much of a file is looked at to tell its format."""
LONGEST_LINE = 64 * 1024 * 1024
"""A longer line is skipped: it would have to be held in memory."""
_BOM = b"\xef\xbb\xbf"


class UnreadableFile(TooltraceError):
    """A file that is not there, may not be read, or is of no known format."""


class Skipped(NamedTuple):
    """A line that could not be read, and why."""

    line: int
    reason: str


class Source:
    """The file at ``path``, open for reading. Raises UnreadableFile.

    ``skipped`` is told of each line that is left out; ``advance`` of the bytes read since the last time.
    """

    def __init__(
        self, path: Path, skipped: Callable[[Skipped], None], advance: Callable[[int], None] = lambda _: None
    ) -> None:
        self.path = path
        self._skipped = skipped
        self._advance = advance
        try:
            self._stream = io.BufferedReader(path.open("rb", buffering=0), HEAD_BYTES)
            self.head = self._stream.peek(HEAD_BYTES)[:HEAD_BYTES].removeprefix(_BOM)
            """The front of the file."""
        except OSError as error:
            raise UnreadableFile(f"{path}: {error.strerror or error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def skip(self, line: int, reason: str) -> None:
        """The line is left out."""
        self._skipped(Skipped(line, reason))

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The JSON objects of a JSON Lines file, with the numbers of their lines; what is none is skipped."""
        for number, line in self._lines():
            if len(line) > LONGEST_LINE:
                self.skip(number, f"longer than {LONGEST_LINE // 1024 // 1024} MiB")
                continue
            data = parsed(line)
            if isinstance(data, dict):
                yield number, data
            elif line.strip():
                self.skip(number, "not a JSON object")

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        while line := self._read(LONGEST_LINE + 1):
            number += 1
            yield number, line.removeprefix(_BOM) if number == 1 else line
            while len(line) > LONGEST_LINE and not line.endswith(b"\n"):  # the rest of a line that is too long
                line = self._read(LONGEST_LINE + 1)
                if not line:
                    return

    def _read(self, most: int) -> bytes:
        try:
            line = self._stream.readline(most)
        except OSError as error:
            raise UnreadableFile(f"{self.path}: {error.strerror or error}") from error
        self._advance(len(line))
        return line


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
