"""What a destination will not take: counted as a loss, said once, and set aside where it is one record's fault."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Final

from tooltrace.core.records import Loss, Record
from tooltrace.delivery.batch import RejectedRecords
from tooltrace.faults import faults
from tooltrace.store.delivery_cursors import DestinationFiles
from tooltrace.store.journal import Journal
from tooltrace.store.journal_format import encode

ASIDE_BYTES: Final = 64 * 1024 * 1024
"""How much is set aside; what comes after is only counted."""
REASON: Final = "export_refused"
"""Of the losses; they are the one thing that no destination is sent, or a refusal could cause the next."""


class DeadLetterWriter:
    """Of one destination."""

    def __init__(self, files: DestinationFiles) -> None:
        self._files = files
        self._journal = Journal(files.paths.journal)
        self.count = 0

    def add(self, refusal: RejectedRecords) -> None:
        """Write it down. Raises OSError."""
        name = f"{self._files.name} {refusal.part}".strip()
        if refusal.record is not None:
            self._set_aside(refusal.record)
        self.count += refusal.count
        now, detail = datetime.now(UTC), f"{name}: {refusal.reason}"[:500]
        self._journal.write(encode(Loss(reason=REASON, count=refusal.count, at=now, detail=detail, pid=os.getpid())))
        message = f"tooltrace: {name} refused {refusal.count} records for good: {refusal.reason}"
        faults.warn_once(f"{REASON}_{name}", message)

    def close(self) -> None:
        """Nothing more comes."""
        self._journal.close()

    def _set_aside(self, record: Record) -> None:
        self._files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self._files.refused, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "ab") as file:
            if file.tell() < ASIDE_BYTES:
                file.write(encode(record))
