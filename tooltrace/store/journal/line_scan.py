"""Sequential reading of journals: whole lines by kind, damaged lines, and offsets. Does not load DuckDB."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from tooltrace.core.records import Loss
from tooltrace.store.files.flock import LOCK_EX, LOCK_NB, flock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import PREFIX_BYTES, START, checksum_ok, record_kind

CHUNK_BYTES: Final = 32 * 1024 * 1024
"""Bytes that are read into memory at once at most; far more than the longest line."""
PIECE_BYTES: Final = 4 * 1024 * 1024
"""Approximate bytes in a batch of lines; a longer line is a batch of its own."""
FINGERPRINT_BYTES: Final = 4096
"""Bytes before a folded offset whose checksum is stored with it: they contain at least the end of one line."""

_CALL_HEAD: Final = b'{"crc":"%08x","kind":"call",'
"""Format of the first bytes of a call's line; the argument is the checksum."""
_HEAD_BYTES: Final = 32


IMPORTED: Final = "import-"
"""Beginning of the names of journals of imported files: a line that a killed import cut is still in its file."""


class FoldedJournal(NamedTuple):
    """The part of a journal that is in the database."""

    offset: int
    fingerprint: int
    """Checksum of the bytes before ``offset``."""


@dataclass(slots=True)
class Lines:
    """Whole lines of one kind, in the order of their journal. Its length is their number."""

    parts: list[bytes] = field(default_factory=list)
    """The lines with their newlines; one part has one or many of them."""
    longest: int = 0
    """Bytes of the longest line."""
    _count: int = 0

    @classmethod
    def of(cls, lines: Iterable[bytes]) -> Lines:
        """Return ``lines``, which have no newlines."""
        found = cls()
        for line in lines:
            found.add(line)
        return found

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[bytes]:
        """Yield each line without its newline."""
        for part in self.parts:
            yield from part.split(b"\n")[:-1]

    def add(self, line: bytes) -> None:
        """Add one line without its newline."""
        self.add_part(line + b"\n", 1, len(line))

    def add_part(self, part: bytes, count: int, longest: int) -> None:
        """Add the ``count`` lines of ``part``, of which the longest has ``longest`` bytes."""
        if count:
            self.parts.append(part)
            self._count += count
            self.longest = max(self.longest, longest)


@dataclass(slots=True)
class JournalBatch:
    """New lines of one or several journals."""

    lines: dict[str, Lines] = field(default_factory=dict)
    """Whole lines by kind."""
    losses: list[Loss] = field(default_factory=list)
    offsets: dict[str, int] = field(default_factory=dict)
    """Byte offset that this batch reaches in each journal, by its name."""
    fingerprints: dict[str, int] = field(default_factory=dict)
    """Checksum of the bytes before that offset, by the journal's name."""
    bytes: int = 0

    def lose(self, reason: str, name: str, offset: int, count: int = 1) -> None:
        """Record ``count`` lines that could not be stored as a loss, with their journal and offset."""
        now = datetime.now(UTC)
        self.losses.append(Loss(reason=reason, count=count, at=now, detail=f"{name} at byte {offset}"))


def batches(
    paths: StorePaths,
    offsets: Mapping[str, int],
    until: Mapping[str, int] | None = None,
    *,
    limit: int = PIECE_BYTES,
) -> Generator[JournalBatch, None, None]:
    """Yield all lines beyond ``offsets``, in batches of about ``limit`` bytes.

    ``until``: sizes of the journals at an earlier time, where later lines of living writers are to be left out.
    A last line without newline is left for later while its writer lives; once the writer has ended, it is a loss.
    """
    batch = JournalBatch()
    for name, size in (paths.journals() if until is None else until).items():
        if size <= offsets.get(name, 0):
            continue
        end = None if until is None else size
        for start, data, fingerprint in _pieces(paths.journal / name, offsets.get(name, 0), limit, end):
            _sort_lines(batch, name, start, data)
            batch.fingerprints[name] = fingerprint
            if batch.bytes >= limit // 2:  # a piece ends at a line, so most are a little shorter than the limit
                yield batch
                batch = JournalBatch()
    if batch.offsets:
        yield batch


def unreadable_journals(paths: StorePaths) -> list[str]:
    """Return the paths of journals that this user may not read, or of the folder where it cannot be listed."""
    user = os.geteuid()
    if user == 0:
        return []
    try:
        with os.scandir(paths.journal) as entries:
            found = [entry.path for entry in entries if entry.name.endswith(".jsonl") and _is_unreadable(entry, user)]
    except PermissionError:
        return [str(paths.journal)]
    except OSError:
        return []
    return sorted(found)


def _is_unreadable(entry: os.DirEntry[str], user: int) -> bool:
    try:
        of_other = entry.stat(follow_symlinks=False).st_uid != user
    except OSError:
        return False
    return of_other and not os.access(entry.path, os.R_OK, effective_ids=os.access in os.supports_effective_ids)


def valid_offsets(paths: StorePaths, folded: Mapping[str, FoldedJournal]) -> dict[str, int]:
    """Return the offset up to which each journal is folded: 0 for a journal with other content than was folded.

    A journal that was truncated, or replaced by a file of the same name, is read from its beginning: records that the
    database already has are recognised.
    """
    sizes = paths.journals()
    return {name: journal.offset if _is_same(paths, name, sizes, journal) else 0 for name, journal in folded.items()}


def _is_same(paths: StorePaths, name: str, sizes: Mapping[str, int], folded: FoldedJournal) -> bool:
    # a journal that no longer exists: there is nothing to read, and ``drop_stale_offsets`` deletes its offset
    if name not in sizes:
        return True
    if sizes[name] < folded.offset:
        return False
    fd = open_journal(paths.journal / name)
    if fd is None:
        return True
    try:
        return fingerprint_of(fd, folded.offset) == folded.fingerprint
    finally:
        os.close(fd)


def fingerprint_of(fd: int, offset: int) -> int:
    """Return the checksum of the bytes before ``offset`` in the journal open as ``fd``."""
    length = min(offset, FINGERPRINT_BYTES)
    return crc32(os.pread(fd, length, offset - length))


def is_abandoned(fd: int) -> bool:
    """Whether the writer of the journal open as ``fd`` has ended.

    If so, this takes the exclusive lock: until ``fd`` is closed, the same check in another process returns False.
    """
    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except OSError:  # the writer holds the lock, or the file system has no locks
        return False
    return True


def open_journal(path: Path) -> int | None:
    """Return a descriptor to read ``path``; None where it was removed or may not be read."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP):
            return None
        raise


def _pieces(path: Path, offset: int, limit: int, until: int | None) -> Iterator[tuple[int, bytes, int]]:
    """Yield the start offset and the bytes of pieces that end at the end of a line, and the fingerprint at that end.

    ``until``: the offset at which they end where the writer lives.
    """
    fd = open_journal(path)
    if fd is None:
        return
    try:
        # tested before reading: once it is true, no bytes can be added
        abandoned = is_abandoned(fd)
        size = limit
        last = until if until is not None and not abandoned else None
        while data := _read(fd, offset, size if last is None else min(size, last - offset)):
            end = data.rfind(b"\n") + 1
            at_end = len(data) < size
            # a line longer than the limit: read more of it
            if end == 0 and not at_end and size < CHUNK_BYTES:
                size *= 4
                continue
            if end == 0 or (at_end and abandoned):
                # the writer may still complete the line
                if at_end and not abandoned:
                    return
                # a torn last line, or damage longer than any line
                end = len(data)
            yield offset, data[:end], fingerprint_of(fd, offset + end)
            offset += end
            size = limit
    finally:
        os.close(fd)


def _read(fd: int, offset: int, limit: int) -> bytes:
    parts = []
    while limit > 0 and (part := os.pread(fd, limit, offset)):
        parts.append(part)
        offset += len(part)
        limit -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _sort_lines(batch: JournalBatch, name: str, start: int, data: bytes) -> None:
    """Add the lines of ``data``, which begins at offset ``start`` of journal ``name``, to ``batch`` by kind."""
    batch.offsets[name] = start + len(data)
    batch.bytes += len(data)
    calls = batch.lines.setdefault("call", Lines())
    view = memoryview(data)
    # first, count, longest: of the calls since the last other line
    at = first = count = longest = 0
    torn = False
    while at < len(data):
        end = data.find(b"\n", at)
        # nearly every line is a call: calls in a row are one part, without an object for each line
        if data[at : at + _HEAD_BYTES] == _CALL_HEAD % crc32(view[at + PREFIX_BYTES : end]) and end > 0:
            count += 1
            longest = max(longest, end - at)
            torn = False
        else:
            calls.add_part(data[first:at], count, longest)
            end = len(data) if end < 0 else end
            line = data[at:end]
            if checksum_ok(line):
                _add_line(batch, name, start + at, line)
                torn = False
            elif line:
                torn = _add_damaged_line(batch, name, start + at, line, torn=torn, last=end == len(data))
            first, count, longest = end + 1, 0, 0
        at = end + 1
    calls.add_part(data[first:], count, longest)


def _add_line(batch: JournalBatch, name: str, offset: int, line: bytes) -> None:
    kind = record_kind(line)
    if kind is None:
        batch.lose("unreadable_line", name, offset)
    else:
        batch.lines.setdefault(kind, Lines()).add(line)


def _add_damaged_line(batch: JournalBatch, name: str, offset: int, line: bytes, *, torn: bool, last: bool) -> bool:
    """Record a damaged line as a loss; return whether the second half of this line may follow.

    A byte damaged into a newline splits a line in two: the two halves count as one loss. ``torn``: the line before
    was damaged and may be the first half. ``last``: the line is the end of the data, without a newline.
    """
    for found in _starts(line):  # damage to a newline alone joins two lines, each of which may be whole
        if checksum_ok(line[found:]):
            _add_line(batch, name, offset + found, line[found:])
            line = line[: found - 1] if checksum_ok(line[: found - 1]) else line[:found]
            last = False
            break
    if checksum_ok(line):
        _add_line(batch, name, offset, line)
        return False
    if last and name.startswith(IMPORTED):
        return False
    if not (torn and not line.startswith(START)):
        batch.lose("torn_line" if last else "damaged_line", name, offset)
    return not line.endswith(b"}")


def _starts(line: bytes) -> Iterator[int]:
    at = line.find(START, 1)
    while at > 0:
        yield at
        at = line.find(START, at + 1)
