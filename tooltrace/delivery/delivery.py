"""Reliable delivery: the journals are the queue, and a cursor beside the store marks the progress of a destination.

Each destination and store has one deliverer at a time, in any process: it holds the destination's lock, and delivers
the records of all processes. The cursor is saved after each acknowledgement; after a kill at any point, the next
deliverer sends at most one request again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event
from typing import Any, Final

from tooltrace.core.records import Record, Span, ToolCall
from tooltrace.delivery.batch import DeadLetterWriter, DeliveryBatch, RefusedRecords
from tooltrace.delivery.retry import RetryLoop, RetryPolicy
from tooltrace.errors import StoreError
from tooltrace.exporters.protocol import Destination, MultiPartDestination, Unavailable
from tooltrace.faults import faults
from tooltrace.store.journal.delivery_cursors import DeliveryCursor, DestinationFiles, pending_bytes
from tooltrace.store.read.undelivered import JournalChunk, JournalReader

MAX_EARLY_SPANS: Final = 1000
"""Maximum number of remembered spans that began before the cursor; an import of old spans may contain more."""

_log = logging.getLogger("tooltrace")


class Delivery:
    """Delivery of the journals of one store to one destination. The caller holds the destination's lock.

    A missing cursor is created at the end of the journals.
    """

    def __init__(
        self,
        files: DestinationFiles,
        destination: Destination,
        *,
        stop: Event | None = None,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._files = files
        self._destination = destination
        self._stop = stop or Event()
        self._retry = RetryLoop(self._stop, policy or RetryPolicy(), self._waits)
        self._dead_letters = DeadLetterWriter(files)
        self._reader = JournalReader(files.paths)
        self.cursor = _opened(files)
        if isinstance(destination, MultiPartDestination):
            destination.memory.update(self.cursor.memory)
        if self.cursor.target != describe(destination):
            self.cursor.target = describe(destination)
            self._save()

    @property
    def is_unavailable(self) -> bool:
        """Whether the last attempt to send failed."""
        return self._retry.is_unavailable

    @property
    def waiting_bytes(self) -> int:
        """Journal bytes that are not delivered yet."""
        return sum(pending_bytes(self._files.paths, self.cursor).values())

    def step(self) -> int | None:
        """Deliver the next batch with retries; return its number of records, or None if nothing waits.

        Raises Unavailable if the destination did not accept the batch and ``stop`` is set.
        """
        chunk = self._next()
        if not chunk.ends:
            return None
        batch = DeliveryBatch(
            self._destination,
            chunk.records,
            acknowledged=self.cursor.taken,
            on_acknowledged=lambda part: self._acknowledged(part, chunk),
            on_refused=self._refused,
        )
        if not self._retry.run(batch):
            return 0
        self._done(chunk)
        return len(chunk.records)

    def interrupt(self) -> None:
        """Abort a running request, from another thread, if the destination supports it."""
        self._destination.close()

    def close(self) -> None:
        """Close the destination and the file of refused records."""
        self._dead_letters.close()
        self._destination.close()

    @property
    def _offsets(self) -> dict[str, int]:
        return self.cursor.journals or {}

    def _next(self) -> JournalChunk:
        # a deliverer ended after some parts of exactly this batch were acknowledged: send the same batch again
        if self.cursor.sending:
            return self._reader.repeat(self._offsets, self.cursor.sending)
        return self._reader.next(self._offsets)

    def _acknowledged(self, part: str, chunk: JournalChunk) -> None:
        self.cursor.sending = chunk.ends
        self.cursor.taken.append(part)
        self._save()

    def _done(self, chunk: JournalChunk) -> None:
        cursor, present = self.cursor, self._files.paths.journals()
        reached = {**self._offsets, **chunk.ends}
        # without the journals that a fold has removed, so that the cursor does not grow
        cursor.journals = {name: end for name, end in reached.items() if name in present}
        cursor.sending, cursor.taken, cursor.error, cursor.error_at = {}, [], None, None
        cursor.early += _early(chunk.records, cursor)
        cursor.sent += len(chunk.records)
        cursor.sent_at = datetime.now(UTC)
        self._save()

    def _waits(self, error: Unavailable) -> None:
        name = self._files.name
        # once for each reason: a receiver that is away for days must not cause a write every minute
        if self.cursor.wait_because(str(error)):
            self._save()
        # the text of the cursor, because an answer may repeat a credential
        message = f"tooltrace cannot deliver to {name} now ({self.cursor.error}); the records wait on disk"
        faults.warn_once(f"export_{name}", message, counted=False)

    def _refused(self, refused: RefusedRecords) -> None:
        is_split = isinstance(self._destination, MultiPartDestination) and len(self._destination.parts) > 1
        self._dead_letters.add(refused if is_split else replace(refused, part=""))
        self.cursor.refused += refused.count

    def _save(self) -> None:
        if isinstance(self._destination, MultiPartDestination):
            self.cursor.memory = dict(self._destination.memory)
        self._files.save(self.cursor)


def _opened(files: DestinationFiles) -> DeliveryCursor:
    """Load the cursor, or create one. If the file is unreadable, create one at the beginning of all journals."""
    try:
        cursor = files.load()
    except StoreError as error:
        _log.warning("tooltrace: %s; delivering all existing journals, so some records may be sent twice", error)
        cursor = DeliveryCursor(begun_at=datetime.now(UTC), journals={})
        files.save(cursor)
    return cursor if cursor is not None and cursor.journals is not None else files.create()


def _early(records: Iterable[Record], cursor: DeliveryCursor) -> list[str]:
    """Return the spans of ``records`` that began before ``cursor`` did."""
    spans = (record for record in records if isinstance(record, ToolCall | Span))
    early = [span.span_id for span in spans if span.started_at < cursor.begun_at]
    return early[: max(0, MAX_EARLY_SPANS - len(cursor.early))]


def describe(destination: Any) -> str:
    """Describe the target of the destination in words."""
    return str(getattr(destination, "description", None) or type(destination).__name__)
