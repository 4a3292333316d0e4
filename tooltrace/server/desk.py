"""Where questions to one store are put: each in a thread, each answer kept for a moment."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread

from tooltrace.queries import Column, Query, ask, find
from tooltrace.store.paths import StorePaths

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

    task: asyncio.Task[Answer]
    waiting: int = 0


class Desk:
    """Asks one store. Of questions that are the same and asked at the same time one is put."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._asked: dict[Key, _Asked] = {}
        self._limiter = CapacityLimiter(AT_ONCE)

    def state(self) -> State:
        """What the store's files look like; none is opened."""
        paths = StorePaths.of(self.store)
        try:
            found = paths.database.stat()
            database = f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}"
        except OSError:
            database = "-"
        return f"{database}.{hash(tuple(paths.journals().items())) & 0xFFFFFFFFFFFF:x}"

    def forget(self) -> None:
        """Whatever is asked now is put to the store: something was just recorded."""
        self._kept.clear()

    async def ask(self, name: str, by: tuple[str, ...] | None = None, **given: Any) -> Answer:
        """The answer to the query ``name``; what is None is left to its default. Raises QueryError and StoreError."""
        given = {parameter: value for parameter, value in given.items() if value is not None}
        key = (name, by, tuple(sorted(given.items())))
        state = self.state()
        if (kept := self._kept.get(key)) and kept.holds(state):
            return kept.answer
        return await self._awaited(self._begun(key, state, given))

    def _begun(self, key: Key, state: State, given: dict[str, Any]) -> _Asked:
        if (asked := self._asked.get(key)) is None:
            asked = self._asked[key] = _Asked(asyncio.create_task(self._put(key, state, given)))
            asked.task.add_done_callback(lambda _: self._asked.pop(key, None))
        return asked

    async def _awaited(self, asked: _Asked) -> Answer:
        """What was asked; where the last who waits for it leaves, it need not be put any more."""
        asked.waiting += 1
        try:
            return await asyncio.shield(asked.task)
        except asyncio.CancelledError:
            if asked.waiting == 1:
                asked.task.cancel()
            raise
        finally:
            asked.waiting -= 1

    async def _put(self, key: Key, state: State, given: dict[str, Any]) -> Answer:
        name, by, _ = key
        answer = await to_thread.run_sync(_ask, self.store, name, by, given, limiter=self._limiter)
        self._kept[key] = _Kept(state, time.monotonic(), answer)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return answer


def _ask(store: Path, name: str, by: tuple[str, ...] | None, given: dict[str, Any]) -> Answer:
    query = find(name)
    relation = ask(store, name, by=by, **given)
    rows = relation.limit(MOST_ROWS + 1).fetchall()
    groups = query.groups(by)
    columns = (*(Column(name=group, unit=_unit(group), meaning="") for group in groups), *query.own_columns(by))
    return Answer(query, by, given, columns, len(groups), rows[:MOST_ROWS], len(rows) > MOST_ROWS)


def _unit(group: str) -> str:
    return "time" if group in ("hour", "day") else "text"
