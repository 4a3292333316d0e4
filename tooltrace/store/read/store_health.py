"""The health of a store: what its journals hold, what is not folded, what was lost, and what waits for a destination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from tooltrace.store.database.connection import opened
from tooltrace.store.database.first_use import check_database
from tooltrace.store.database.migrations import checked_schema
from tooltrace.store.database.schema import STORE
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.fold_marker import folded_offsets
from tooltrace.store.journal.pending_lines import DeliveryLag, delivery_lags, pending_lines

WAIT_SECONDS: Final = 1.0
"""Maximum seconds for which ``recorded_losses`` waits for a fold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreHealth:
    """The figures of a store that its files show, without its database."""

    database_bytes: int
    journal_bytes: int
    """Size of the journals of all processes, folded or not."""
    unfolded_records: int
    """Records that are in journals and not in the database; estimated above 4 MiB."""
    unfolded_bytes: int
    unfolded_seconds: float
    """Seconds since the oldest of these records ended."""
    unfolded_losses: Mapping[str, int] = field(default_factory=dict)
    """Lost records by reason that are counted in journals and not in the database."""
    deliveries: tuple[DeliveryLag, ...] = ()
    """State of each destination."""


def store_health(paths: StorePaths) -> StoreHealth:
    """Return the figures of the files of a store. Takes no lock, and reads at most 4 MiB for each destination."""
    unfolded = pending_lines(paths, folded_offsets(paths))
    oldest = unfolded.oldest_at
    return StoreHealth(
        database_bytes=paths.database.stat().st_size if paths.database.exists() else 0,
        journal_bytes=sum(paths.journals().values()),
        unfolded_records=unfolded.records,
        unfolded_bytes=unfolded.bytes,
        unfolded_seconds=0.0 if oldest is None else max(0.0, (datetime.now(UTC) - oldest).total_seconds()),
        unfolded_losses=unfolded.losses,
        deliveries=delivery_lags(paths),
    )


def recorded_losses(paths: StorePaths, wait: float = WAIT_SECONDS) -> Counter[str]:
    """Return the lost records by reason that the database has.

    Raises StoreBusy where ``wait`` seconds did not suffice for the lock, and StoreError where the database cannot be
    read.
    """
    check_database(paths)
    lock = Lock(paths)
    try:
        lock.shared(wait)
        if not paths.database.exists():
            return Counter()
        with opened(paths, read_only=True) as con:
            if checked_schema(con, paths.database) is None:
                return Counter()
            rows = con.execute(f'SELECT reason, sum("count")::BIGINT FROM {STORE}.losses GROUP BY reason').fetchall()
            return Counter(dict(rows))
    finally:
        lock.release()
