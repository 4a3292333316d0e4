"""JSON Lines: one record a line, the line of the journal without its checksum.

``{"kind":"call","tool":"search",…}``: ``kind`` says which record it is, unknown fields are left out, times are UTC, and
what is JSON is there as JSON. A journal's checksum guards it against a killed writer; this file is whole or not there,
and may be edited. ``tooltrace import`` reads it back the same, as it reads a journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tooltrace.core.records import Record
from tooltrace.exporters.atomic_file import AtomicFile, require_path
from tooltrace.exporters.protocol import Target
from tooltrace.store.journal_format import PREFIX_BYTES, encode


class JsonLines:
    """The file at ``path``; ``-`` is standard output, and a name that ends in ``.gz`` is compressed."""

    def __init__(self, path: Path) -> None:
        self._file = AtomicFile(path)

    def send(self, records: Sequence[Record]) -> None:
        """Append ``records``. Raises Refused."""
        self._file.write(b"".join(b"{" + encode(record)[PREFIX_BYTES:] for record in records))

    def close(self) -> None:
        """Put the file under its name. Raises Refused."""
        self._file.publish()

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._file.discard()


def create(target: Target) -> JsonLines:
    """See :mod:`tooltrace.exporters.registry`."""
    return JsonLines(require_path(target.path, "jsonl"))
