"""The state of each destination: what it has received, what waits for it and for how long. Takes no lock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from tooltrace.core.plural import format_count
from tooltrace.errors import StoreError
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.delivery_cursors import DestinationFiles, destinations
from tooltrace.store.journal.pending_lines import pending_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLag:
    """The state of the delivery of one store to one destination, by whatever process."""

    destination: str
    """Name of the destination; each signal of OTLP has one, such as ``otlp-traces``."""
    target: str | None = None
    """Where it sends to, in words; None where it has not sent yet."""
    sent: int = 0
    """Records that it acknowledged, since the delivery began."""
    refused: int = 0
    """Records that it refused for good; ``losses`` counts them as ``export_refused``."""
    pending: int = 0
    """Records that wait for it; estimated above 4 MiB."""
    pending_bytes: int = 0
    """Journal bytes of these records."""
    lag_seconds: float = 0.0
    """Seconds for which the oldest of them waits."""
    sent_at: datetime | None = None
    """Time of its last acknowledgement, UTC."""
    error: str | None = None
    """Why the delivery waits, without secrets of a known form; None where it does not wait."""
    error_at: datetime | None = None
    """Time when it began to wait for this reason, UTC."""

    def __str__(self) -> str:
        text = f"{format_count(self.sent, 'record')} sent, {self.pending:,} pending ({self.pending_bytes / 1e6:,.1f} MB"
        text += f", the oldest for {self.lag_seconds:,.1f} s)" if self.pending else ")"
        text += f", {self.refused:,} refused" if self.refused else ""
        return text + (f"; since {self.error_at:%Y-%m-%d %H:%M:%S} UTC: {self.error}" if self.error_at else "")


def delivery_lags(paths: StorePaths) -> tuple[DeliveryLag, ...]:
    """Return the state of each destination of the store, sorted by name."""
    return tuple(lag for files in destinations(paths) if (lag := _lag(files)) is not None)


def _lag(files: DestinationFiles) -> DeliveryLag | None:
    try:
        cursor = files.load()
    except StoreError as error:
        return DeliveryLag(destination=files.name, error=str(error), error_at=datetime.now(UTC))
    if cursor is None:  # it was removed since the folder was read
        return None
    waiting = pending_lines(files.paths, cursor.journals or {})
    # a record that was imported is older than its wait, which began after the cursor did
    since = None if waiting.oldest_at is None else max(waiting.oldest_at, cursor.begun_at)
    return DeliveryLag(
        destination=files.name,
        target=cursor.target,
        sent=cursor.sent,
        refused=cursor.refused,
        pending=waiting.records,
        pending_bytes=waiting.bytes,
        lag_seconds=0.0 if since is None else max(0.0, (datetime.now(UTC) - since).total_seconds()),
        sent_at=cursor.sent_at,
        error=cursor.error,
        error_at=cursor.error_at,
    )
