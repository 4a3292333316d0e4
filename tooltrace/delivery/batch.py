"""Delivery of one batch: the records still to be sent, and the refused ones."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NoReturn

from tooltrace.core.plural import format_count
from tooltrace.core.records import Loss, Record
from tooltrace.exporters.protocol import (
    Destination,
    ExportError,
    MultiPartDestination,
    PartlyRefused,
    Refused,
    Unavailable,
)
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


DOUBTS: Final = 8
"""Number of ambiguous failures (destination or data) after which a slice is sent in halves."""
DOUBTFUL_PIECES: Final = 16
"""After this many slices without success the destination, not the data, is at fault: defer all."""
ONLY_PART: Final = ""
"""Name of the only part of a destination without parts."""


@dataclass(frozen=True, slots=True)
class RefusedRecords:
    """Records that a destination refused."""

    part: str
    reason: str
    count: int
    record: Record | None = None
    """The record at fault, if known."""


@dataclass(slots=True)
class Slice:
    records: Sequence[Record]
    tries: int = 0


class DeliveryBatch:
    """A batch that is sent part by part.

    Acknowledged parts and slices are not sent again, however often ``send`` is called.

    A refused slice is halved until the record at fault is found. A failure that may be due to the destination or to the
    data (``doubtful``) is bisected too, but a record is only rejected if another slice of the batch was accepted.
    """

    def __init__(
        self,
        destination: Destination,
        records: Sequence[Record],
        *,
        acknowledged: Iterable[str] = (),
        on_acknowledged: Callable[[str], None] = lambda _part: None,
        on_refused: Callable[[RefusedRecords], None] = lambda _refusal: None,
    ) -> None:
        self._destination = destination
        self._records = records
        self._on_acknowledged = on_acknowledged
        self._on_refused = on_refused
        parts = destination.parts if isinstance(destination, MultiPartDestination) else (ONLY_PART,)
        self._parts = deque(part for part in parts if part not in set(acknowledged))
        self._fresh = len(self._parts) == len(parts)
        self.answered = 0
        """Number of requests that were accepted, or refused for good."""
        self._begin_part()

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was accepted yet, so that the records can be sent in another batch instead."""
        return self._fresh and not self._accepted

    def send(self) -> None:
        """Send the remaining records. Raises Unavailable if some must wait."""
        while self._parts:
            part = self._parts[0]
            while self._pieces or self._requeue_suspects():
                self._send(part, self._pieces[0])
            self._settle_suspects(part)
            self._parts.popleft()
            self._fresh = False
            self._begin_part()
            self._on_acknowledged(part)

    def _begin_part(self) -> None:
        self._pieces = deque([Slice(self._records)] if self._records else [])
        self._suspects: list[tuple[Record, Unavailable]] = []
        self._accepted = False
        self._tried_again = False

    def _send(self, part: str, piece: Slice) -> None:
        """Send ``piece``, the first slice, and remove it from the queue unless it has to wait."""
        try:
            if isinstance(self._destination, MultiPartDestination):
                self._destination.send_part(part, piece.records)
            else:
                self._destination.send(piece.records)
        # accepted: the destination has the others, and does not say which ones it refused
        except PartlyRefused as error:
            self._on_refused(RefusedRecords(part, str(error), error.count))
        except Refused as error:
            self.answered += 1
            self._pieces.popleft()
            self._refused(part, piece, error)
            return
        # any class: a destination may be the user's own, and must not end the delivery
        except Exception as error:
            unavailable = _as_unavailable(error)
            piece.tries += 1
            if not unavailable.doubtful or piece.tries < DOUBTS:
                raise unavailable from error
            self._pieces.popleft()
            self._suspect(piece, unavailable)
            return
        self.answered += 1
        self._accepted = True
        self._pieces.popleft()

    def _refused(self, part: str, piece: Slice, error: Refused) -> None:
        if error.whole:
            self._on_refused(RefusedRecords(part, str(error), error.count or len(piece.records)))
        elif len(piece.records) == 1:
            self._on_refused(RefusedRecords(part, str(error), 1, piece.records[0]))
        else:
            self._halve(piece, tries=0)

    def _suspect(self, piece: Slice, error: Unavailable) -> None:
        """Halve the slice and queue the halves last, so that larger slices are tried first.

        If any record is good, a large slice of good ones is soon accepted.
        """
        if len(piece.records) == 1:
            self._suspects.append((piece.records[0], error))
        else:
            # one more failure is enough for a half: the whole has used up the other tries
            self._halve(piece, tries=DOUBTS - 1)
            self._pieces.rotate(-2)
        if not self._accepted and len(self._pieces) + len(self._suspects) >= DOUBTFUL_PIECES:
            self._defer_all(error)

    def _halve(self, piece: Slice, tries: int) -> None:
        middle = len(piece.records) // 2
        # extendleft reverses: the first half is at the front afterwards
        self._pieces.extendleft((Slice(piece.records[middle:], tries), Slice(piece.records[:middle], tries)))

    def _defer_all(self, error: Unavailable) -> NoReturn:
        """Put all remaining records back into one slice, to wait."""
        left = [record for record, _ in self._suspects]
        left += [record for piece in self._pieces for record in piece.records]
        self._suspects, self._pieces = [], deque([Slice(left)])
        raise error

    def _requeue_suspects(self) -> bool:
        """Queue each suspect once more after something was accepted; return whether any was queued.

        The destination may have recovered in the meantime.
        """
        if not self._suspects or not self._accepted or self._tried_again:
            return False
        self._tried_again = True
        self._pieces.extend(Slice([record], DOUBTS - 1) for record, _ in self._suspects)
        self._suspects = []
        return True

    def _settle_suspects(self, part: str) -> None:
        """Give the suspects up as refused, or defer them if nothing else was accepted either."""
        if not self._suspects:
            return
        if not self._accepted:
            self._defer_all(self._suspects[-1][1])
        suspects, self._suspects = self._suspects, []
        for record, error in suspects:
            self._on_refused(RefusedRecords(part, str(error), 1, record))


def _as_unavailable(error: Exception) -> Unavailable:
    """Convert any exception into Unavailable: a user's own destination may raise any."""
    if isinstance(error, Unavailable):
        return error
    # an OSError is about the connection or the disk; any other exception may come from one record
    doubtful = not isinstance(error, OSError) or isinstance(error, ExportError)
    return Unavailable(f"{type(error).__name__}: {error}", doubtful=doubtful)
