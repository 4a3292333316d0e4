"""JSON Lines: one record per line, the journal's line without its checksum.

``{"kind":"call","tool":"search",…}``: ``kind`` is the type of the record, unknown fields are omitted, times are UTC,
and JSON values are nested JSON. A journal's checksum protects against a killed writer; this file is either complete or
missing, and may be edited. ``tooltrace import`` reads it back unchanged, as it reads a journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tooltrace.core.records import Record
from tooltrace.exporters.atomic_file import AtomicFile, require_path
from tooltrace.exporters.protocol import Target
from tooltrace.store.journal.line_format import PREFIX_BYTES, encode


class JsonLines:
    """The file at ``path``; ``-`` is standard output, and a name that ends in ``.gz`` is compressed."""

    def __init__(self, path: Path) -> None:
        self._file = AtomicFile(path)

    def send(self, records: Sequence[Record]) -> None:
        """Append ``records``. Raises Refused."""
        self._file.write(b"".join(b"{" + encode(record)[PREFIX_BYTES:] for record in records))

    def close(self) -> None:
        """Move the file to its final name. Raises Refused."""
        self._file.publish()

    def abandon(self) -> None:
        """Discard the file."""
        self._file.discard()


def create(target: Target) -> JsonLines:
    """Create the destination; see :mod:`tooltrace.exporters.registry`."""
    return JsonLines(require_path(target.path, "jsonl"))
