"""The diagnosis of the store for all pages, kept until the store changes."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tooltrace.analysis import find
from tooltrace.diagnosis.diagnose import diagnose_in, within
from tooltrace.diagnosis.finding import Finding
from tooltrace.server.query_cache import QueryCache
from tooltrace.store.base import QuerySession
from tooltrace.store.files.prices import read_prices

KEPT_SHARE: Final = 20
"""How many times as long as it took a diagnosis is kept at least, so that a store that changes all the time is not read all the time."""


@dataclass(slots=True)
class _Kept:
    until: datetime | None
    state: str
    at: float
    took: float
    task: asyncio.Task[list[Finding]]


class Diagnosis:
    """The findings of a store at a time, shared by the requests that ask for them at once."""

    def __init__(self, cache: QueryCache) -> None:
        self._cache = cache
        self._kept: _Kept | None = None

    async def findings(self, tool: str | None, **window: Any) -> list[Finding]:
        """Return the findings of a time range, about ``tool`` where that is given. Raises QueryError, StoreError.

        ``window``: the parameters ``since`` and ``until`` of queries.
        """
        bound = find("failure_rate").bind(**window)
        since, until = (at if isinstance(at := bound[name], datetime) else None for name in ("since", "until"))
        return within(await self._all(until), since, tool)

    async def _all(self, until: datetime | None) -> list[Finding]:
        kept, state = self._kept, self._cache.version()
        if kept is None or kept.until != until or not self._is_fresh(kept, state):
            kept = self._kept = _Kept(until, state, time.monotonic(), 0.0, asyncio.create_task(self._diagnose(until)))
            kept.task.add_done_callback(lambda _: self._finished(kept))
        return await asyncio.shield(kept.task)

    def _is_fresh(self, kept: _Kept, state: str) -> bool:
        if not kept.task.done():
            return True
        if kept.task.cancelled() or kept.task.exception() is not None:
            return False
        return kept.state == state or time.monotonic() - kept.at < KEPT_SHARE * kept.took

    def _finished(self, kept: _Kept) -> None:
        kept.took = time.monotonic() - kept.at
        if not kept.task.cancelled():
            kept.task.exception()  # read, or asyncio logs it as never retrieved

    async def _diagnose(self, until: datetime | None) -> list[Finding]:
        def ask(session: QuerySession) -> list[Finding]:
            return diagnose_in(session, read_prices(self._cache.store.files), until=until)

        return await self._cache.read(ask) if self._cache.has_data() else []
