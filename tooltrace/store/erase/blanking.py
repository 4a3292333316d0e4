"""Blanking: the removal of single lines from a journal, even while its writer appends to it.

Each byte of the line becomes a newline. Offsets in the file stay valid, every reader skips empty lines, and the writer
only appends, so that neither a fold nor a delivery nor the writer notices.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tooltrace.core.records import Record
from tooltrace.store.journal.line_format import LineError, checksum_ok, decode, encode
from tooltrace.store.journal.line_scan import is_abandoned

_CHUNK: Final = 32 * 1024 * 1024


Change = Callable[[Record], Record | None]
"""A function that returns the record itself to keep its line, another record to replace it, or None to remove it."""


def change_lines(path: Path, change: Change, *, dry_run: bool = False) -> int:
    """Apply ``change`` to each line of the journal at ``path``; return the number of lines that change.

    A record that needs more bytes than its line has is removed. Damaged lines are overwritten, because their content
    is unknown; the caller has folded, and so has counted them. The change is on the disk when this returns. A line
    that its writer has not completed is left. After a kill, a partly overwritten line is a damaged line.
    Raises OSError; a file that does not exist has no lines.
    """
    try:
        fd = os.open(path, (os.O_RDONLY if dry_run else os.O_RDWR) | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    try:
        found = [
            (offset, length, new) for offset, length, line in _lines(fd) if (new := _changed(line, change)) is not None
        ]
        if found and not dry_run:
            for offset, length, new in found:
                # + 1: ``new`` ends with a newline, which ``length`` does not count
                _overwrite(fd, offset, new if len(new) <= length + 1 else b"", length)
            os.fsync(fd)
        return len(found)
    finally:
        os.close(fd)


def _changed(line: bytes, change: Change) -> bytes | None:
    """Return the new line, empty to remove it; None where it stays as it is."""
    if not checksum_ok(line):
        return b""
    try:
        record = decode(line)
    except LineError:  # a record of a newer version
        return None
    new = change(record)
    if new is record:
        return None
    return b"" if new is None else encode(new)


def _lines(fd: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the offset, the length and the content of each line that is not empty."""
    ended = is_abandoned(fd)
    offset = 0
    rest = b""
    while data := os.pread(fd, _CHUNK, offset + len(rest)):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if line:
                yield offset, len(line), line
            offset += len(line) + 1
    if rest and ended:
        yield offset, len(rest), rest


def _overwrite(fd: int, offset: int, new: bytes, length: int) -> None:
    data = new.rstrip(b"\n").ljust(length, b"\n")
    done = 0
    while done < length:
        done += os.pwrite(fd, data[done:], offset + done)
