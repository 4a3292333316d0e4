"""Backfill of history to a destination: at the pace of the destination, and resumable.

Each record is sent once, however often the backfill is interrupted and started again.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Final

import orjson

from tooltrace.delivery.batch import DeadLetterWriter, DeliveryBatch
from tooltrace.delivery.retry import RetryLoop, RetryPolicy
from tooltrace.exporters.protocol import AtomicDestination, Destination, MultiPartDestination, Unavailable
from tooltrace.redact.plain_data import json_of
from tooltrace.store.files.syncing import replace_file
from tooltrace.store.journal.delivery_cursors import DestinationFiles
from tooltrace.store.read.history import History, HistoryBatch, RowPosition

GIVE_UP_SECONDS: Final = 300.0
"""Seconds without any acknowledgement after which a replay ends; it can be started again."""


@dataclass(slots=True, kw_only=True)
class Progress:
    """Progress of one history query at one destination."""

    places: dict[str, RowPosition] = field(default_factory=dict)
    """Position of the last record of each kind that was sent."""
    sent: int = 0
    kind: str | None = None
    under_way: int = 0
    """Number of records in the interrupted batch, whose kind is ``kind``; its parts in ``taken`` were acknowledged."""
    taken: list[str] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)
    since: str | None = None
    until: str | None = None
    """The original limits, with relative ones resolved: ``7d`` is a different time each day."""


@dataclass(frozen=True, slots=True)
class ProgressFile:
    """The file that stores the progress of one history query."""

    path: Path

    @classmethod
    def of(cls, files: DestinationFiles, *question: object) -> ProgressFile:
        """Return the file for ``question``.

        ``question``: all values that distinguish one query from another, such as endpoint and filters.
        """
        digest = hashlib.sha256(repr(question).encode()).hexdigest()[:16]
        return cls(files.folder / f"{files.name}.history-{digest}.json")

    def load(self) -> Progress:
        """Return the stored progress; a new one if the file is missing or unreadable."""
        try:
            values = orjson.loads(self.path.read_bytes())
            places = {kind: RowPosition(**place) for kind, place in values.pop("places").items()}
            return Progress(places=places, **values)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return Progress()

    def save(self, progress: Progress) -> None:
        """Replace the file atomically. Raises OSError."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self.path, json_of(progress))

    def forget(self) -> None:
        """Delete the file, so that the next replay starts from the beginning."""
        self.path.unlink(missing_ok=True)


class Replay:
    """The transfer of ``history`` to ``destination``, starting at ``progress``."""

    def __init__(
        self,
        files: DestinationFiles,
        history: History,
        destination: Destination,
        progress: Progress,
        save: Callable[[Progress], None] = lambda _progress: None,
        *,
        stop: Event | None = None,
        policy: RetryPolicy | None = None,
        on_wait: Callable[[Unavailable], None] = lambda _error: None,
    ) -> None:
        self._history = history
        self._destination = destination
        self._progress = progress
        self.earlier = progress.sent
        """Number of records that earlier replays sent."""
        self._save = save
        self._dead_letters = DeadLetterWriter(files)
        policy = policy or RetryPolicy(longest=20.0, give_up=GIVE_UP_SECONDS)
        self._stop = stop or Event()
        self._retry = RetryLoop(self._stop, policy, on_wait)
        if isinstance(destination, MultiPartDestination):
            destination.memory.update(progress.memory)

    @property
    def sent(self) -> int:
        """Number of records that this replay sent."""
        return self._progress.sent - self.earlier

    @property
    def refused(self) -> int:
        """Number of records that the destination refused."""
        return self._dead_letters.count

    def run(self, advance: Callable[[int], None] = lambda _count: None) -> None:
        """Send the remaining records; ``sent`` counts them. ``advance`` is called with the size of each batch.

        Raises Unavailable if the destination did not accept a batch for five minutes, or ``stop`` is set.
        """
        try:
            # the interrupted batch is formed again with the same records, so that its acknowledged parts are not repeated
            for part in self._history.batches(self._progress.places, first=self._progress.under_way):
                if self._stop.is_set():
                    raise Unavailable("the replay was stopped")
                self._send_part(part)
                advance(len(part.records))
        finally:
            self._dead_letters.close()

    def _send_part(self, part: HistoryBatch) -> None:
        progress = self._progress
        if part.kind != progress.kind or len(part.records) != progress.under_way:
            progress.taken = []  # the interrupted batch was a different one
        progress.kind, progress.under_way = part.kind, len(part.records)
        batch = DeliveryBatch(
            self._destination,
            part.records,
            acknowledged=progress.taken,
            on_acknowledged=self._acknowledged,
            on_refused=self._dead_letters.add,
        )
        self._retry.run(batch)
        progress.places, progress.under_way, progress.taken = part.places, 0, []
        progress.sent += len(part.records)
        self._save_progress()

    def _acknowledged(self, name: str) -> None:
        self._progress.taken.append(name)
        # after each part, so that a restart does not send it twice
        self._save_progress()

    def _save_progress(self) -> None:
        if isinstance(self._destination, MultiPartDestination):
            self._progress.memory = dict(self._destination.memory)
        self._save(self._progress)


def export_to_file(
    history: History, destination: AtomicDestination, advance: Callable[[int], None] = lambda _count: None
) -> int:
    """Send all of ``history`` to a destination that is written completely or not at all; return the number of records.

    The destination is closed on success and abandoned on an error.
    """
    total = 0
    try:
        for part in history.batches():
            destination.send(part.records)
            total += len(part.records)
            advance(len(part.records))
    except BaseException:
        with contextlib.suppress(OSError):
            destination.abandon()
        raise
    destination.close()
    return total
