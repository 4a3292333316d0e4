"""Records that a destination refused: counted as a loss, warned about once, and set aside if one record is at fault."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Final

from tooltrace.core.plural import format_count
from tooltrace.core.records import Loss, Record
from tooltrace.delivery.batch import RefusedRecords
from tooltrace.faults import faults
from tooltrace.redact.redaction import Redaction
from tooltrace.store.journal.delivery_cursors import DestinationFiles
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""Maximum size of the file of refused records; further ones are only counted."""
REASON: Final = "export_refused"
"""Reason of the losses. Losses are never sent to a destination: a refusal could otherwise cause the next."""


class DeadLetterWriter:
    """Writer for the refused records of one destination."""

    def __init__(self, files: DestinationFiles) -> None:
        self._files = files
        self._journal = Journal(files.paths.journal)
        self.count = 0

    def add(self, refused: RefusedRecords) -> None:
        """Record the refusal as a loss in the journal. Raises OSError."""
        name = f"{self._files.name} {refused.part}".strip()
        # before it is counted: after a kill in between, the record is refused again, set aside again, and counted once
        if refused.record is not None:
            self._set_aside(refused.record)
        self.count += refused.count
        now, detail = datetime.now(UTC), Redaction().redact_text(f"{name}: {refused.reason}")[:500]
        self._journal.write(encode(Loss(reason=REASON, count=refused.count, at=now, detail=detail, pid=os.getpid())))
        message = f"tooltrace: {format_count(refused.count, 'record')} rejected permanently by {detail}"
        faults.warn_once(f"{REASON}_{name}", message)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _set_aside(self, record: Record) -> None:
        self._files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self._files.refused, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "ab") as file:
            if file.tell() < MAX_FILE_BYTES:
                file.write(encode(record))
