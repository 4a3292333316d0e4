"""Cached execution of queries on one store: each in a thread, each result kept for a short time."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread

from tooltrace.analysis import find
from tooltrace.store.base import Cancellation, Store, open_store
from tooltrace.store.result import QueryResult, Statement

State = str
"""Version of the store; it changes with every change of the store."""
Key = tuple[str, tuple[str, ...] | None, tuple[tuple[str, Any], ...]]

FRESH_SECONDS = 1.0
"""Seconds a result stays fresh, whatever was recorded since."""
KEPT_SECONDS = 20.0
"""Seconds a result stays fresh in an unchanged store; relative windows ("7d") move with the clock."""
KEPT = 200
"""Maximum number of cached results."""
AT_ONCE = 2
"""Maximum number of concurrent queries: each one uses all cores by itself."""
MOST_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class _Kept:
    state: State
    at: float
    answer: QueryResult

    def holds(self, state: State) -> bool:
        age = time.monotonic() - self.at
        return age < FRESH_SECONDS or (age < KEPT_SECONDS and self.state == state)


@dataclass(slots=True)
class _Asked:
    """A running query and the number of requests that wait for it."""

    cancellation: Cancellation
    task: asyncio.Task[QueryResult]
    waiting: int = 0


class QueryCache:
    """Executor and cache for queries on one store. Identical concurrent queries share one execution."""

    def __init__(self, store: Store) -> None:
        self.store = open_store(store)
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._asked: dict[Key, _Asked] = {}
        self._ahead: set[asyncio.Task[QueryResult]] = set()
        self._limiter = CapacityLimiter(AT_ONCE)
        self._forgotten = 0

    def version(self) -> State:
        """Return the version of the store, or the time in steps if the store has no version."""
        return self.store.version() or f"{time.monotonic() // KEPT_SECONDS:.0f}"

    def has_data(self) -> bool:
        """Whether the store has any data, as far as known without a query."""
        return self.store.exists()

    def invalidate(self) -> None:
        """Drop all results, because the caller has just recorded something. Running queries may not include it."""
        self._kept.clear()
        self._asked.clear()
        # _execute compares this counter, so that a query begun earlier does not fill the cache with old rows.
        self._forgotten += 1

    async def ask(self, name: str, by: tuple[str, ...] | None = None, **given: Any) -> QueryResult:
        """Return the result of the query ``name``; parameters that are None use the default.

        Raises QueryError and StoreError.
        """
        given = {parameter: value for parameter, value in given.items() if value is not None}
        key = (name, by, tuple(sorted(given.items())))
        state = self.version()
        if (kept := self._kept.get(key)) and kept.holds(state):
            return kept.answer
        return await self._awaited(key, self._begun(key, state, given))

    def prefetch(self, name: str, by: tuple[str, ...] | None = None, **given: Any) -> None:
        """Start a query before the page that needs it asks. Errors are raised when the page asks."""
        asking = asyncio.create_task(self.ask(name, by, **given))
        self._ahead.add(asking)
        asking.add_done_callback(self._over)

    def _over(self, asking: asyncio.Task[QueryResult]) -> None:
        self._ahead.discard(asking)
        # read the exception, or asyncio logs it as never retrieved
        if not asking.cancelled():
            asking.exception()

    def _begun(self, key: Key, state: State, given: dict[str, Any]) -> _Asked:
        if (asked := self._asked.get(key)) is None:
            cancellation = Cancellation()
            put = partial(self._answer, find(key[0]).statement(key[1], **given), cancellation)
            asked = self._asked[key] = _Asked(cancellation, asyncio.create_task(self._execute(key, state, put)))
            asked.task.add_done_callback(lambda _: self._drop(key, asked))
        return asked

    def _drop(self, key: Key, asked: _Asked) -> None:
        if self._asked.get(key) is asked:
            del self._asked[key]

    async def _awaited(self, key: Key, asked: _Asked) -> QueryResult:
        """Return the result; cancel the execution when the last waiting request leaves."""
        asked.waiting += 1
        try:
            # shield: one request that leaves must not cancel the execution that others share
            return await asyncio.shield(asked.task)
        except asyncio.CancelledError:
            if asked.waiting == 1:
                # an identical request a moment later, by a reload, must not share the cancelled execution
                self._drop(key, asked)
                asked.cancellation.cancel()
                asked.task.cancel()
            raise
        finally:
            asked.waiting -= 1

    async def _execute(self, key: Key, state: State, put: Callable[[], QueryResult]) -> QueryResult:
        began = self._forgotten
        answer = await to_thread.run_sync(put, limiter=self._limiter)
        if began == self._forgotten:
            self._kept[key] = _Kept(state, time.monotonic(), answer)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return answer

    def _answer(self, statement: Statement, cancellation: Cancellation) -> QueryResult:
        """Execute the statement in a thread and read the result.

        Raises StoreError, and QueryCancelled on cancellation.
        """
        return self.store.query(statement, cancellation=cancellation).limited(MOST_ROWS)
