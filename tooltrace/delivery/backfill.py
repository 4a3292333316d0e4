"""History to a destination: at its pace, and each record once, however often it is begun and broken off."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Final

import orjson

from tooltrace.delivery.batch import DeliveryBatch
from tooltrace.delivery.dead_letter import DeadLetterWriter
from tooltrace.delivery.retry import RetryLoop, RetryPolicy
from tooltrace.exporters.protocol import AtomicDestination, Destination, MultiPartDestination, Unavailable
from tooltrace.store.delivery_cursors import DestinationFiles
from tooltrace.store.history import History, HistoryBatch, RowPosition

GIVE_UP_SECONDS: Final = 300.0
"""So long without anything being taken, and a replay ends; it can be begun again."""


@dataclass(slots=True, kw_only=True)
class Progress:
    """Of one question to the history, at one destination."""

    places: dict[str, RowPosition] = field(default_factory=dict)
    """The last record of each kind that was sent."""
    sent: int = 0
    kind: str | None = None
    under_way: int = 0
    """Kind and number of the records of the batch that was broken off, of which ``taken`` were acknowledged."""
    taken: list[str] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)
    since: str | None = None
    until: str | None = None
    """As they were first understood: ``7d`` means another time each day."""


@dataclass(frozen=True, slots=True)
class ProgressFile:
    """Where the progress of one question is kept."""

    path: Path

    @classmethod
    def of(cls, files: DestinationFiles, *question: object) -> ProgressFile:
        """``question``: all that makes it another one, such as the endpoint and the filters."""
        digest = hashlib.sha256(repr(question).encode()).hexdigest()[:16]
        return cls(files.folder / f"{files.name}.history-{digest}.json")

    def load(self) -> Progress:
        """None yet, where it cannot be read."""
        try:
            values = orjson.loads(self.path.read_bytes())
            places = {kind: RowPosition(**place) for kind, place in values.pop("places").items()}
            return Progress(places=places, **values)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return Progress()

    def save(self, progress: Progress) -> None:
        """Replace it. Raises OSError."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = self.path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_bytes(orjson.dumps(progress))
        temporary.chmod(0o600)
        temporary.replace(self.path)

    def forget(self) -> None:
        """Begin again the next time."""
        self.path.unlink(missing_ok=True)


class Replay:
    """Sends ``history`` to ``destination``, from where ``progress`` stands."""

    def __init__(
        self,
        files: DestinationFiles,
        history: History,
        destination: Destination,
        progress: Progress,
        save: Callable[[Progress], None] = lambda _progress: None,
        *,
        stop: Event | None = None,
        pace: RetryPolicy | None = None,
        on_wait: Callable[[Unavailable], None] = lambda _error: None,
    ) -> None:
        self._history = history
        self._destination = destination
        self._progress = progress
        self.earlier = progress.sent
        """Records that were sent before."""
        self._save = save
        self._refusals = DeadLetterWriter(files)
        pace = pace or RetryPolicy(longest=20.0, give_up=GIVE_UP_SECONDS)
        self._stop = stop or Event()
        self._patience = RetryLoop(self._stop, pace, on_wait)
        if isinstance(destination, MultiPartDestination):
            destination.memory.update(progress.memory)

    @property
    def sent(self) -> int:
        """Records that this replay sent."""
        return self._progress.sent - self.earlier

    @property
    def refused(self) -> int:
        """Records that the destination will not take."""
        return self._refusals.count

    def run(self, advance: Callable[[int], None] = lambda _count: None) -> None:
        """Send what is left; see ``sent``. ``advance`` is told of each batch.

        Raises Unavailable where the destination did not take a batch for five minutes, or ``stop`` is set.
        """
        try:
            for part in self._history.batches(self._progress.places, first=self._progress.under_way):
                if self._stop.is_set():
                    raise Unavailable("it was broken off")
                self._bring(part)
                advance(len(part.records))
        finally:
            self._refusals.close()

    def _bring(self, part: HistoryBatch) -> None:
        progress = self._progress
        if part.kind != progress.kind or len(part.records) != progress.under_way:
            progress.taken = []  # it was another batch that was broken off
        progress.kind, progress.under_way = part.kind, len(part.records)
        work = DeliveryBatch(
            self._destination,
            part.records,
            taken=progress.taken,
            on_taken=self._taken,
            on_refused=self._refusals.add,
        )
        self._patience.run(work)
        progress.places, progress.under_way, progress.taken = part.places, 0, []
        progress.sent += len(part.records)
        self._keep()

    def _taken(self, name: str) -> None:
        self._progress.taken.append(name)
        self._keep()

    def _keep(self) -> None:
        if isinstance(self._destination, MultiPartDestination):
            self._progress.memory = dict(self._destination.memory)
        self._save(self._progress)


def export_to_file(
    history: History, destination: AtomicDestination, advance: Callable[[int], None] = lambda _count: None
) -> int:
    """Send all of ``history`` to what is there whole or not at all; records. It is closed, or abandoned."""
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
