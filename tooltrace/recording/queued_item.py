"""The items of a recorder's queue, and the journal lines that are made of them."""

from __future__ import annotations

from typing import Protocol

from tooltrace.core.records import Record
from tooltrace.recording.attempt import Attempt
from tooltrace.store.journal.line_format import encode


class DeferredRecord(Protocol):
    """An item whose record is made later, by the thread that writes it."""

    def record(self) -> Record:
        """Return the redacted record. May raise any exception; the worker then counts the record as lost."""


Item = Attempt | DeferredRecord | Record


def line_of(item: Item, *, has_journal: bool) -> bytes | None:
    """Return the journal line of ``item``; None without a journal. Raises what a redaction or a rule raises."""
    record = item if isinstance(item, Record) else item.record()
    return encode(record) if has_journal else None
