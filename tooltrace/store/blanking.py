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
from tooltrace.store.journal_format import LineError, checksum_ok, decode
from tooltrace.store.journal_scan import is_abandoned

_CHUNK: Final = 32 * 1024 * 1024


def blank_lines(path: Path, is_forgotten: Callable[[Record], bool]) -> int:
    """Overwrite the lines of the journal at ``path`` whose records are forgotten; return the number of these lines.

    Damaged lines are overwritten too, because their content is unknown; the caller has folded, and so has counted
    them. The change is on the disk when this returns. A line that its writer has not completed is left. After a kill,
    the rest of a partly overwritten line is a damaged line. Raises OSError; a file that does not exist has no lines.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    try:
        found = [(offset, length) for offset, length, line in _lines(fd) if _is_named(line, is_forgotten)]
        for offset, length in found:
            _overwrite(fd, offset, length)
        if found:
            os.fsync(fd)
        return len(found)
    finally:
        os.close(fd)


def count_lines(path: Path, is_forgotten: Callable[[Record], bool]) -> int:
    """Return the number of lines of the journal at ``path`` that ``blank_lines`` would overwrite. Raises OSError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    try:
        return sum(_is_named(line, is_forgotten) for _, _, line in _lines(fd))
    finally:
        os.close(fd)


def _is_named(line: bytes, is_forgotten: Callable[[Record], bool]) -> bool:
    if not checksum_ok(line):
        return True
    try:
        return is_forgotten(decode(line))
    except LineError:  # a record of a newer version
        return False


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


def _overwrite(fd: int, offset: int, length: int) -> None:
    done = 0
    while done < length:
        done += os.pwrite(fd, b"\n" * (length - done), offset + done)
