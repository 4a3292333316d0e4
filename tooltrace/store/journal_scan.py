"""Reading journals: whole lines by kind, what is damaged, and how far it got. Loads no DuckDB."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tooltrace.core.records import Loss
from tooltrace.store.journal_format import START, checksum_ok, record_kind
from tooltrace.store.paths import StorePaths

CHUNK_BYTES: Final = 32 * 1024 * 1024
"""How much is taken into memory at once; far above the longest line."""


_CALL: Final = b'"kind":"call",'


@dataclass(slots=True)
class JournalBatch:
    """Some journals' new lines."""

    lines: dict[str, list[bytes]] = field(default_factory=dict)
    """Whole lines without newline, by kind."""
    losses: list[Loss] = field(default_factory=list)
    offsets: dict[str, int] = field(default_factory=dict)
    """Journal's name, and the byte that this batch reaches."""
    bytes: int = 0

    def lose(self, reason: str, name: str, offset: int, count: int = 1) -> None:
        """Count what could not be kept, with its place."""
        now = datetime.now(UTC)
        self.losses.append(Loss(reason=reason, count=count, at=now, detail=f"{name} at byte {offset}"))


def batches(paths: StorePaths, offsets: Mapping[str, int], *, limit: int = CHUNK_BYTES) -> Iterator[JournalBatch]:
    """All lines beyond ``offsets``, in batches of about ``limit`` bytes.

    A last line without newline is left alone while its writer lives, and lost when it is gone.
    """
    batch = JournalBatch()
    for name, size in paths.journals().items():
        if size <= offsets.get(name, 0):
            continue
        for start, data in _pieces(paths.journal / name, offsets.get(name, 0), limit):
            _take(batch, name, start, data)
            if batch.bytes >= limit:
                yield batch
                batch = JournalBatch()
    if batch.offsets:
        yield batch


def is_abandoned(fd: int) -> bool:
    """Whether the writer of the journal open as ``fd`` is gone. Until ``fd`` is closed nobody else can tell so."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held, or a file system without locks
        return False
    return True


def open_journal(path: Path) -> int | None:
    """A descriptor to read ``path``; None where it was removed or may not be read."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP):
            return None
        raise


def _pieces(path: Path, offset: int, limit: int) -> Iterator[tuple[int, bytes]]:
    """Start and bytes of pieces that end where a line does."""
    fd = open_journal(path)
    if fd is None:
        return
    try:
        abandoned = is_abandoned(fd)  # before the last bytes are read: nothing comes after them then
        while data := _read(fd, offset, limit):
            end = data.rfind(b"\n") + 1
            at_end = len(data) < limit
            if end == 0 or (at_end and abandoned):
                if at_end and not abandoned:
                    return
                end = len(data)  # a torn last line, or more than any line of ours
            yield offset, data[:end]
            offset += end
    finally:
        os.close(fd)


def _read(fd: int, offset: int, limit: int) -> bytes:
    parts = []
    while limit > 0 and (part := os.pread(fd, limit, offset)):
        parts.append(part)
        offset += len(part)
        limit -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _take(batch: JournalBatch, name: str, start: int, data: bytes) -> None:
    """Sort the lines of ``data``, which is at ``start`` of journal ``name``, into ``batch``."""
    batch.offsets[name] = start + len(data)
    batch.bytes += len(data)
    calls = batch.lines.setdefault("call", [])
    torn = False
    at = 0
    for line in data.split(b"\n"):
        if line[18:32] == _CALL and checksum_ok(line):  # nearly every line
            calls.append(line)
            torn = False
        elif checksum_ok(line):
            _keep(batch, batch.lines, name, start + at, line)
            torn = False
        elif line:
            torn = _lose(batch, name, start + at, line, torn=torn, last=at + len(line) == len(data))
        at += len(line) + 1


def _keep(batch: JournalBatch, lines: dict[str, list[bytes]], name: str, offset: int, line: bytes) -> None:
    kind = record_kind(line)
    if kind is None:
        batch.lose("unreadable_line", name, offset)
    else:
        lines.setdefault(kind, []).append(line)


def _lose(batch: JournalBatch, name: str, offset: int, line: bytes, *, torn: bool, last: bool) -> bool:
    """Count a damaged line, once where a false newline cut it in two; True where its other half may follow."""
    for found in _starts(line):  # a line of which only the newline was damaged swallows the next
        if checksum_ok(line[found:]):
            _keep(batch, batch.lines, name, offset + found, line[found:])
            line = line[: found - 1] if checksum_ok(line[: found - 1]) else line[:found]
            last = False
            break
    if checksum_ok(line):
        _keep(batch, batch.lines, name, offset, line)
        return False
    if not (torn and not line.startswith(START)):
        batch.lose("torn_line" if last else "damaged_line", name, offset)
    return not line.endswith(b"}")


def _starts(line: bytes) -> Iterator[int]:
    at = line.find(START, 1)
    while at > 0:
        yield at
        at = line.find(START, at + 1)
