"""Format of tooltrace's own JSON Lines: the output of ``tooltrace export jsonl``, and journal files.

A line of a journal begins with a checksum, which must be correct. A line of an export has no checksum, because it may
have been edited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from zlib import crc32

from tooltrace.core.records import Begun, Record
from tooltrace.ingest.files.reader import Format, TraceFile
from tooltrace.ingest.reredact import MAX_FILE_FIELD_BYTES, reredact
from tooltrace.recording.settings import Settings
from tooltrace.store.journal.line_format import KINDS, START, LineError, decode

NAME: Final = "jsonl"
_LINE: Final = re.compile(
    rb'\s*\{\s*(?:"crc"\s*:\s*"[0-9a-f]{8}"\s*,\s*)?"kind"\s*:\s*"(?:%b)"' % "|".join(KINDS).encode()
)


def knows(head: bytes) -> bool:
    """Whether one of the first lines begins like a line of tooltrace."""
    return any(_LINE.match(line) for line in head.splitlines()[:100])


def read(source: TraceFile, settings: Settings) -> Iterator[Record]:
    """Yield every record of the file."""
    for number, line in source.lines():
        text = line.strip()
        if not text:
            continue
        try:
            record = decode(text if text.startswith(START) else _sealed(text))
            if not isinstance(record, Begun):  # only the store in which a call runs can tell when it is lost
                yield reredact(record, settings, MAX_FILE_FIELD_BYTES)
        except LineError as error:
            source.skip(number, str(error))
        except ValueError:
            source.skip(number, "a field that must hold JSON does not")


def _sealed(line: bytes) -> bytes:
    """Return ``line`` with the checksum that a journal line would have."""
    body = line[1:].lstrip()
    return b'%b%08x",%b' % (START, crc32(body), body)


FORMAT = Format(NAME, knows, read)
