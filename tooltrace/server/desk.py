"""Where questions to one store are put: each in a thread, each answer kept for a moment."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, to_thread

from tooltrace.address import Address, Place
from tooltrace.queries import Column, Query, ask, find
from tooltrace.store.paths import StorePaths

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

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
class Answer:
    """Rows under columns, the group's first, and what was asked."""

    query: Query
    by: tuple[str, ...] | None
    given: dict[str, Any]
    columns: tuple[Column, ...]
    groups: int
    rows: list[tuple[Any, ...]]
    cut: bool = False
    """Whether there were more rows than can be shown."""

    def dicts(self) -> list[dict[str, Any]]:
        """The rows by name of column."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class _Kept:
    state: State
    at: float
    answer: Answer

    def holds(self, state: State) -> bool:
        age = time.monotonic() - self.at
        return age < FRESH_SECONDS or (age < KEPT_SECONDS and self.state == state)


@dataclass(slots=True)
class _Asked:
    """A question under way."""

    question: _Question
    task: asyncio.Task[Answer]
    waiting: int = 0


class Desk:
    """Asks one store. Of questions that are the same and asked at the same time one is put."""

    def __init__(self, store: Place) -> None:
        self.store = store
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._asked: dict[Key, _Asked] = {}
        self._ahead: set[asyncio.Task[Answer]] = set()
        self._limiter = CapacityLimiter(AT_ONCE)
        self._forgotten = 0

    def state(self) -> State:
        """What the store's files look like; none is opened. Of a store elsewhere: the time, in steps."""
        if isinstance(self.store, Address):
            return f"{time.monotonic() // KEPT_SECONDS:.0f}"
        paths = StorePaths.of(self.store)
        try:
            found = paths.database.stat()
            database = f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}"
        except OSError:
            database = "-"
        return f"{database}.{hash(tuple(paths.journals().items())) & 0xFFFFFFFFFFFF:x}"

    def any(self) -> bool:
        """Whether anything was ever recorded, as far as can be seen from here."""
        if isinstance(self.store, Address):
            return True
        paths = StorePaths.of(self.store)
        return paths.database.exists() or bool(paths.journals())

    def forget(self) -> None:
        """Whatever is asked now is put to the store: something was just recorded. What is under way has not seen it."""
        self._kept.clear()
        self._asked.clear()
        self._forgotten += 1

    async def ask(self, name: str, by: tuple[str, ...] | None = None, **given: Any) -> Answer:
        """The answer to the query ``name``; what is None is left to its default. Raises QueryError and StoreError."""
        given = {parameter: value for parameter, value in given.items() if value is not None}
        key = (name, by, tuple(sorted(given.items())))
        state = self.state()
        if (kept := self._kept.get(key)) and kept.holds(state):
            return kept.answer
        return await self._awaited(key, self._begun(key, state, given))

    def begin(self, name: str, by: tuple[str, ...] | None = None, **given: Any) -> None:
        """Put a question ahead of whoever will ask it: the page that is on its way to them. What is wrong is told then."""
        asking = asyncio.create_task(self.ask(name, by, **given))
        self._ahead.add(asking)
        asking.add_done_callback(self._over)

    def _over(self, asking: asyncio.Task[Answer]) -> None:
        self._ahead.discard(asking)
        if not asking.cancelled():
            asking.exception()

    def _begun(self, key: Key, state: State, given: dict[str, Any]) -> _Asked:
        if (asked := self._asked.get(key)) is None:
            question = _Question(self.store, key[0], key[1], given)
            asked = self._asked[key] = _Asked(question, asyncio.create_task(self._put(key, state, question)))
            asked.task.add_done_callback(lambda _: self._drop(key, asked))
        return asked

    def _drop(self, key: Key, asked: _Asked) -> None:
        if self._asked.get(key) is asked:
            del self._asked[key]

    async def _awaited(self, key: Key, asked: _Asked) -> Answer:
        """What was asked; where the last who waits for it leaves, it need not be put any more."""
        asked.waiting += 1
        try:
            return await asyncio.shield(asked.task)
        except asyncio.CancelledError:
            if asked.waiting == 1:
                # who asks the same a moment later, by a reload, must not share the end of this one
                self._drop(key, asked)
                asked.question.stop()
                asked.task.cancel()
            raise
        finally:
            asked.waiting -= 1

    async def _put(self, key: Key, state: State, question: _Question) -> Answer:
        began = self._forgotten
        answer = await to_thread.run_sync(question.put, limiter=self._limiter)
        if began == self._forgotten:
            self._kept[key] = _Kept(state, time.monotonic(), answer)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return answer


class _Question:
    """One question, put in a thread; it can be stopped from another."""

    def __init__(self, store: Place, name: str, by: tuple[str, ...] | None, given: dict[str, Any]) -> None:
        self._store, self._query, self._by, self._given = store, find(name), by, given
        self._sql, self._bound = self._query.render(by), self._query.bind(**given)
        self._con: DuckDBPyConnection | None = None
        self._stopped = False

    def put(self) -> Answer:
        """Ask, and read the answer. Raises StoreError, and InterruptException where it was stopped."""
        from duckdb import InterruptException

        from tooltrace.store.lease import reading, settle

        if isinstance(self._store, Address):
            rows = ask(self._store, self._query.name, by=self._by, **self._given).limit(MOST_ROWS + 1).fetchall()
            return self._answer(rows[:MOST_ROWS], cut=len(rows) > MOST_ROWS)
        with reading(self._store) as con:
            self._con = con
            try:
                if self._stopped:  # while the store was waited for
                    raise InterruptException("the question was stopped before it was put")
                relation = settle(con, self._sql, self._bound)
            finally:
                self._con = None
        rows = relation.limit(MOST_ROWS + 1).fetchall()
        return self._answer(rows[:MOST_ROWS], cut=len(rows) > MOST_ROWS)

    def stop(self) -> None:
        """Let go of the store soon, if it is asked now; where it is only waited for, do not ask."""
        self._stopped = True
        con = self._con
        if con is not None:
            with contextlib.suppress(Exception):  # it has just been answered, and the connection closed
                con.interrupt()

    def _answer(self, rows: list[tuple[Any, ...]], *, cut: bool) -> Answer:
        query, by = self._query, self._by
        groups = query.groups(by)
        named = (Column(name=group, unit=_unit(group), meaning="") for group in groups)
        return Answer(query, by, self._given, (*named, *query.own_columns(by)), len(groups), rows, cut)


def _unit(group: str) -> str:
    return "time" if group in ("hour", "day") else "text"
