"""Where questions to one store are put: each in a thread, each answer kept for a moment."""

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
"""Changes whenever the store does."""
Key = tuple[str, tuple[str, ...] | None, tuple[tuple[str, Any], ...]]

FRESH_SECONDS = 1.0
"""So long an answer counts as fresh, whatever was recorded since."""
KEPT_SECONDS = 20.0
"""So long it does where nothing was: spans count back from now."""
KEPT = 200
"""So many answers are kept."""
AT_ONCE = 2
"""So many questions are asked at the same time: each uses all cores by itself."""
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
    """A question under way."""

    cancellation: Cancellation
    task: asyncio.Task[QueryResult]
    waiting: int = 0


class QueryCache:
    """Asks one store. Of questions that are the same and asked at the same time one is put."""

    def __init__(self, store: Store) -> None:
        self.store = open_store(store)
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._asked: dict[Key, _Asked] = {}
        self._ahead: set[asyncio.Task[QueryResult]] = set()
        self._limiter = CapacityLimiter(AT_ONCE)
        self._forgotten = 0

    def version(self) -> State:
        """The version of the store; the time, in steps, where the store cannot tell."""
        return self.store.version() or f"{time.monotonic() // KEPT_SECONDS:.0f}"

    def has_data(self) -> bool:
        """Whether anything was ever recorded, as far as can be seen from here."""
        return self.store.exists()

    def invalidate(self) -> None:
        """Whatever is asked now is put to the store: something was just recorded. What is under way has not seen it."""
        self._kept.clear()
        self._asked.clear()
        self._forgotten += 1

    async def ask(self, name: str, by: tuple[str, ...] | None = None, **given: Any) -> QueryResult:
        """The answer to the query ``name``; what is None is left to its default. Raises QueryError and StoreError."""
        given = {parameter: value for parameter, value in given.items() if value is not None}
        key = (name, by, tuple(sorted(given.items())))
        state = self.version()
        if (kept := self._kept.get(key)) and kept.holds(state):
            return kept.answer
        return await self._awaited(key, self._begun(key, state, given))

    def prefetch(self, name: str, by: tuple[str, ...] | None = None, **given: Any) -> None:
        """Put a question ahead of whoever will ask it: the page that is on its way to them. What is wrong is told then."""
        asking = asyncio.create_task(self.ask(name, by, **given))
        self._ahead.add(asking)
        asking.add_done_callback(self._over)

    def _over(self, asking: asyncio.Task[QueryResult]) -> None:
        self._ahead.discard(asking)
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
        """What was asked; where the last who waits for it leaves, it need not be put any more."""
        asked.waiting += 1
        try:
            return await asyncio.shield(asked.task)
        except asyncio.CancelledError:
            if asked.waiting == 1:
                # who asks the same a moment later, by a reload, must not share the end of this one
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
        """Ask, in a thread, and read the result. Raises StoreError, and QueryCancelled where it was cancelled."""
        return self.store.query(statement, cancellation=cancellation).limited(MOST_ROWS)
