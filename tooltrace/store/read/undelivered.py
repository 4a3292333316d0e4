"""Undelivered journal records in small batches. Does not load DuckDB.

Unlike a fold, the reader returns few records at a time, from one journal after the other, so that a busy journal does
not delay the others. Damaged lines are skipped: the fold counts them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tooltrace.core.records import Begun, Record
from tooltrace.store.erase import tombstones
from tooltrace.store.erase.tombstones import Tombstones
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import LineError, decode
from tooltrace.store.journal.line_scan import CHUNK_BYTES, is_abandoned, open_journal

RECORDS: Final = 512
"""Maximum records in a batch."""
BYTES: Final = 2 * 1024 * 1024
"""Approximate journal bytes in a batch; a longer line is a batch of its own."""


@dataclass(slots=True)
class JournalChunk:
    """Some consecutive records of one journal or several."""

    records: list[Record] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    """Byte offset that this chunk reaches in each journal, by its name."""
    bytes: int = 0


class JournalReader:
    """A reader of the journals of one store, for one destination."""

    def __init__(self, paths: StorePaths, *, records: int = RECORDS, size: int = BYTES) -> None:
        self._paths = paths
        self._records = records
        self._bytes = size
        self._last = ""
        self._tombstones = Tombstones()
        self._is_forgotten = self._tombstones.matcher()
        self._version: tuple[int, int] | None = None

    def next(self, offsets: Mapping[str, int]) -> JournalChunk:
        """Return the next chunk beyond ``offsets``; its ``ends`` are empty where there is nothing to read."""
        self._load_tombstones()
        chunk = JournalChunk()
        for name, size in self._cyclic_journals():
            if size > offsets.get(name, 0):
                self._read_journal(chunk, name, offsets.get(name, 0), None)
                self._last = name
                if self._is_full(chunk):
                    break
        return chunk

    def repeat(self, offsets: Mapping[str, int], ends: Mapping[str, int]) -> JournalChunk:
        """Return exactly the chunk between ``offsets`` and ``ends``, to repeat a batch."""
        self._load_tombstones()
        chunk = JournalChunk()
        for name, end in ends.items():
            self._read_journal(chunk, name, offsets.get(name, 0), end)
            chunk.ends[name] = end
        return chunk

    def _load_tombstones(self) -> None:
        """Load the tombstones anew where their file has changed."""
        try:
            found = tombstones.file_of(self._paths).stat()
        except OSError:
            return
        # the file is only appended to, so its size tells whether it has changed
        if self._version != (found.st_ino, found.st_size):
            self._version = (found.st_ino, found.st_size)
            self._tombstones = tombstones.load(self._paths)
            self._is_forgotten = self._tombstones.matcher()

    def _cyclic_journals(self) -> list[tuple[str, int]]:
        """Return the journals in cyclic order of their names, beginning after the one that was read last."""
        journals = list(self._paths.journals().items())
        after = [journal for journal in journals if journal[0] > self._last]
        return after + [journal for journal in journals if journal[0] <= self._last]

    def _read_journal(self, chunk: JournalChunk, name: str, offset: int, end: int | None) -> None:
        """Add the records of journal ``name`` from ``offset`` to ``end`` to ``chunk``.

        With ``end`` None, adds as many as the limits of the chunk allow.
        """
        fd = open_journal(self._paths.journal / name)
        if fd is None:
            return
        try:
            while end is None or offset < end:
                data = self._read_lines(fd, offset, chunk) if end is None else os.pread(fd, end - offset, offset)
                if not data:
                    return
                records = _records(data)
                if self._tombstones:
                    records = [record for record in records if not self._is_forgotten(record)]
                chunk.records += records
                offset += len(data)
                chunk.bytes += len(data)
                chunk.ends[name] = offset
                if end is None and self._is_full(chunk):
                    return
        finally:
            os.close(fd)

    def _is_full(self, chunk: JournalChunk) -> bool:
        return len(chunk.records) >= self._records or chunk.bytes >= self._bytes

    def _read_lines(self, fd: int, offset: int, chunk: JournalChunk) -> bytes:
        """Return whole lines from ``offset`` on, as many as the limits of the chunk allow.

        A torn last line is returned too where it cannot become complete, so that the reader moves past it.
        """
        size, lines = self._bytes, self._records - len(chunk.records)
        data = os.pread(fd, size, offset)
        # a long line: it becomes a batch of its own
        while len(data) == size < CHUNK_BYTES and b"\n" not in data:
            if chunk.records:
                return b""
            size, lines = size * 4, 1
            data = os.pread(fd, size, offset)
        complete = _end_of_lines(data, lines)
        if data and complete == 0 and (len(data) == size or _is_torn(fd, offset, data)):
            return data
        return data[:complete]


def _is_torn(fd: int, offset: int, data: bytes) -> bool:
    """Whether ``data``, the end of a journal, is a line whose writer has ended without finishing it.

    The journal is read again after the check, because the writer may have finished the line just before it ended.
    """
    return is_abandoned(fd) and os.pread(fd, len(data) + 1, offset) == data


def _end_of_lines(data: bytes, lines: int) -> int:
    """Return the offset in ``data`` at which its first ``lines`` complete lines end."""
    at = 0
    for _ in range(lines):
        found = data.find(b"\n", at)
        if found < 0:
            break
        at = found + 1
    return at


def _records(data: bytes) -> list[Record]:
    records: list[Record] = []
    for line in data.split(b"\n"):
        if line:
            try:
                record = decode(line)
            except LineError:
                continue
            if not isinstance(record, Begun):
                records.append(record)
    return records
