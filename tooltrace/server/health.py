"""The health of the server and its store, which ``GET /healthz`` returns."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from anyio import to_thread

from tooltrace.errors import StoreError
from tooltrace.faults import LastError, faults
from tooltrace.redact.redaction import Redaction
from tooltrace.store.base import StoreBackend
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.read.store_health import StoreHealth, recorded_losses, store_health

FRESH_SECONDS: Final = 1.0
"""Seconds for which a report is returned again, so that frequent requests cost no more than one a second."""
LOSSES_SECONDS: Final = 10.0
"""Minimum seconds between two reads of a database that changes."""
CHECK_SECONDS: Final = 5.0
"""Seconds after which a check that has not ended counts as failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """The health of a server and its store."""

    ok: bool
    """Whether the store can be read now."""
    error: str | None = None
    """Why it cannot be read, without secrets of a known form."""
    last_error: str | None = None
    """The last error of these checks or of the receiver, since the server started."""
    last_error_at: datetime | None = None
    losses: Mapping[str, int] = field(default_factory=dict)
    """Lost records by reason. Those in the database are at most ten seconds old."""
    store: StoreHealth | None = None
    """Figures of the files of a local store; None for a remote store, and where the files cannot be read."""


class HealthCheck:
    """The check of one store. Requests at the same time share one check."""

    def __init__(self, store: StoreBackend) -> None:
        self._store = store
        self._report = HealthReport(ok=True)
        self._checked_at = -FRESH_SECONDS
        self._running: asyncio.Task[None] | None = None
        self._losses: Counter[str] = Counter()
        self._losses_read_at = -LOSSES_SECONDS
        self._database: tuple[int, ...] = ()
        """Identity of the database from which the losses were read."""
        self._error: LastError | None = None

    async def report(self) -> HealthReport:
        """Return the report after ``CHECK_SECONDS`` at most."""
        if self._running is None and time.monotonic() - self._checked_at >= FRESH_SECONDS:
            self._running = asyncio.create_task(self._run())
        if self._running is not None:
            await asyncio.wait({self._running}, timeout=CHECK_SECONDS)
        # Still running after the wait: the check goes on, and its report answers a later request.
        if self._running is not None:
            return self._failed(self._report, f"the store was not read within {CHECK_SECONDS:g} s")
        return self._report

    async def _run(self) -> None:
        try:
            self._report = await to_thread.run_sync(self._examine, abandon_on_cancel=True)
        except Exception as error:
            self._report = self._failed(HealthReport(ok=False), f"the check failed: {type(error).__name__}")
        finally:
            self._checked_at, self._running = time.monotonic(), None

    def _examine(self) -> HealthReport:
        """Return the report. Runs in a thread."""
        figures, paths = None, self._store.files
        if paths is None:
            return self._with_last_error(HealthReport(ok=True))
        try:
            figures = store_health(paths)
            self._read_losses(paths)
        except (StoreError, OSError) as error:
            return self._failed(self._with_losses(HealthReport(ok=False, store=figures)), str(error))
        return self._with_last_error(self._with_losses(HealthReport(ok=True, store=figures)))

    def _read_losses(self, paths: StorePaths) -> None:
        """Read the losses of the database again where it has changed. Raises StoreError."""
        found = paths.database.stat() if paths.database.exists() else None
        database = () if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)
        now = time.monotonic()
        # Not at every change of the database: while calls are recorded it changes all the time.
        if database != self._database and now - self._losses_read_at >= LOSSES_SECONDS:
            self._losses = recorded_losses(paths)
            self._database, self._losses_read_at = database, now

    def _with_losses(self, report: HealthReport) -> HealthReport:
        unfolded = {} if report.store is None else report.store.unfolded_losses
        return replace(report, losses=dict(sorted((self._losses + Counter(unfolded)).items())))

    def _failed(self, report: HealthReport, reason: str) -> HealthReport:
        text = Redaction().redact_text(reason)
        self._error = LastError(time.time(), text)
        return self._with_last_error(replace(report, ok=False, error=text))

    def _with_last_error(self, report: HealthReport) -> HealthReport:
        errors = [error for error in (self._error, faults.last_error) if error is not None]
        if not errors:
            return report
        last = max(errors)
        at = datetime.fromtimestamp(last.at, UTC)
        return replace(report, last_error=Redaction().redact_text(last.text), last_error_at=at)
