"""Cached execution of queries on one store: each in a thread; results are cached for a short time."""

from __future__ import annotations

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread

from tooltrace.analysis import find
from tooltrace.analysis.parameters import time_span
from tooltrace.server.shared_lease import SharedLease
from tooltrace.store.base import Cancellation, QuerySession, Store, open_store
from tooltrace.store.result import QueryResult, Statement, limited

T = TypeVar("T")
State = str
"""Version of the store; it changes with every change of the store."""
Key = tuple[str, tuple[str, ...] | None, tuple[tuple[str, str], ...], tuple[str, ...]]

FRESH_SECONDS = 1.0
"""Seconds a result stays fresh even if the store has changed."""
UNCHANGED_SECONDS = 20.0
"""Seconds a result stays fresh in an unchanged store; relative windows ("7d") move with the clock."""
UNCHANGED_SHARE = 1e-4
"""The same as a share of the shortest relative window of the query, where that is longer: a minute for a week."""
MAX_RESULTS = 200
"""Maximum number of cached results."""
MAX_CONCURRENT = min(4, os.cpu_count() or 2)
"""Maximum number of concurrent queries: each one uses one core."""
MEMORY_MIB = 1024
"""Memory of the queries of one lease, before DuckDB writes to temporary files."""
MAX_ROWS = 20_000
RELATIVE = frozenset({"since", "until", "before"})
"""Parameters that may be a span back from now."""


@dataclass(frozen=True, slots=True)
class _CachedResult:
    state: State
    at: float
    result: QueryResult
    window_seconds: float
    """Length of the shortest relative window of the query; 0 if it has none."""

    def is_fresh(self, state: State) -> bool:
        age = time.monotonic() - self.at
        unchanged_seconds = max(UNCHANGED_SECONDS, UNCHANGED_SHARE * self.window_seconds)
        return age < FRESH_SECONDS or (age < unchanged_seconds and self.state == state)


@dataclass(slots=True)
class _SharedExecution:
    """A running query and the number of requests that wait for it."""

    cancellation: Cancellation
    task: asyncio.Task[QueryResult]
    waiting: int = 0


class QueryCache:
    """Executor and cache for queries on one store. Identical concurrent queries share one execution."""

    def __init__(self, store: Store) -> None:
        self.store = open_store(store)
        self._results: OrderedDict[Key, _CachedResult] = OrderedDict()
        self._running: dict[Key, _SharedExecution] = {}
        self._prefetches: set[asyncio.Task[QueryResult]] = set()
        self._limiter = CapacityLimiter(MAX_CONCURRENT)
        self._invalidations = 0
        self._lease = SharedLease(self.store, threads=1, memory_mib=MEMORY_MIB)

    def version(self) -> State:
        """Return the version of the store, or the time in steps if the store has no version."""
        return self.store.version() or f"{time.monotonic() // UNCHANGED_SECONDS:.0f}"

    def has_data(self) -> bool:
        """Whether the store has any data, as far as known without a query."""
        return self.store.exists()

    def invalidate(self) -> None:
        """Drop all results, because the caller has just recorded something. Running queries may not include it."""
        self._results.clear()
        self._running.clear()
        self._lease.retire()
        # _execute compares this counter: a query that started earlier must not fill the cache with old rows
        self._invalidations += 1

    def close(self) -> None:
        """End the lease on the store, as soon as no query uses it."""
        self._lease.retire()

    async def query(
        self, name: str, by: tuple[str, ...] | None = None, *, only: tuple[str, ...] = (), **params: Any
    ) -> QueryResult:
        """Return the result of the query ``name``; parameters that are None use the default.

        ``only``: the columns to return, those by which the rows are grouped first; empty for all.
        Raises QueryError and StoreError.
        """
        params = {parameter: value for parameter, value in params.items() if value is not None}
        key = _key(name, by, params, only)
        if (cached := self._results.get(key)) and cached.is_fresh(self.version()):
            return cached.result
        return await self._wait(key, self._execution(key, params))

    async def query_once(self, name: str, **params: Any) -> QueryResult:
        """Return a result of the present store, neither read from the cache nor kept in it: for a file, or for news.

        Raises QueryError and StoreError.
        """
        params = {parameter: value for parameter, value in params.items() if value is not None}
        cancellation = Cancellation()
        run = partial(self._run, find(name).statement(**params), cancellation, fresh_seconds=0.0)
        try:
            result, _ = await to_thread.run_sync(run, limiter=self._limiter, abandon_on_cancel=True)
        except asyncio.CancelledError:
            cancellation.cancel()
            raise
        return result

    async def read(self, ask: Callable[[QuerySession], T]) -> T:
        """Return what ``ask`` reads from a session on the present store; nothing is kept.

        Raises QueryError and StoreError.
        """

        def run() -> T:
            with self._lease.session(self.version(), FRESH_SECONDS) as (session, _):
                return ask(session)

        return await to_thread.run_sync(run, limiter=self._limiter, abandon_on_cancel=True)

    def prefetch(self, name: str, by: tuple[str, ...] | None = None, **params: Any) -> None:
        """Start a query before the page requests its result. Errors are raised when the page does."""
        task = asyncio.create_task(self.query(name, by, **params))
        self._prefetches.add(task)
        task.add_done_callback(self._prefetched)

    def _prefetched(self, task: asyncio.Task[QueryResult]) -> None:
        self._prefetches.discard(task)
        # read the exception, or asyncio logs it as never retrieved
        if not task.cancelled():
            task.exception()

    def _execution(self, key: Key, params: dict[str, Any]) -> _SharedExecution:
        """Return the running execution of the query, which is started if there is none."""
        if (execution := self._running.get(key)) is None:
            cancellation = Cancellation()
            run = partial(self._run, find(key[0]).statement(key[1], only=key[3], **params), cancellation)
            task = asyncio.create_task(self._execute(key, run))
            execution = self._running[key] = _SharedExecution(cancellation, task)
            task.add_done_callback(lambda _: self._drop(key, execution))
        return execution

    def _drop(self, key: Key, execution: _SharedExecution) -> None:
        if self._running.get(key) is execution:
            del self._running[key]

    async def _wait(self, key: Key, execution: _SharedExecution) -> QueryResult:
        """Return the result; cancel the execution when the last waiting request leaves."""
        execution.waiting += 1
        try:
            # shield: one request that leaves must not cancel the execution that others share
            return await asyncio.shield(execution.task)
        except asyncio.CancelledError:
            if execution.waiting == 1:
                # an identical request a moment later, by a reload, must not share the cancelled execution
                self._drop(key, execution)
                execution.cancellation.cancel()
                execution.task.cancel()
            raise
        finally:
            execution.waiting -= 1

    async def _execute(self, key: Key, run: Callable[[], tuple[QueryResult, State]]) -> QueryResult:
        invalidations = self._invalidations
        result, state = await to_thread.run_sync(run, limiter=self._limiter)
        if invalidations == self._invalidations:
            self._results[key] = _CachedResult(state, time.monotonic(), result, _shortest_window(key))
        while len(self._results) > MAX_RESULTS:
            self._results.popitem(last=False)
        return result

    def _run(
        self, statement: Statement, cancellation: Cancellation, fresh_seconds: float | None = None
    ) -> tuple[QueryResult, State]:
        """Execute the statement in a thread; return the result, and the version of the store that it was read from.

        ``fresh_seconds``: how old the view of a store that has changed may be, FRESH_SECONDS by default.
        Raises StoreError, and QueryCancelled on cancellation.
        """
        fresh_seconds = FRESH_SECONDS if fresh_seconds is None else fresh_seconds
        with self._lease.session(self.version(), fresh_seconds) as (session, state):
            return limited(session.query(statement, cancellation=cancellation), MAX_ROWS), state


def _key(name: str, by: tuple[str, ...] | None, params: dict[str, Any], only: tuple[str, ...] = ()) -> Key:
    # as texts: the number 5 of a page and the "5" of an address are one query
    texts = sorted((parameter, str(value)) for parameter, value in params.items() if value is not None)
    return name, by, tuple(texts), only


def _shortest_window(key: Key) -> float:
    """Return the seconds of the shortest span back from now among the parameters; 0 if there is none."""
    spans = [time_span(value) for parameter, value in key[2] if parameter in RELATIVE]
    return min((span.total_seconds() for span in spans if span is not None), default=0.0)
