"""New attempts in a store, whichever process they come from, each once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tooltrace.errors import StoreMissing
from tooltrace.queries import ask
from tooltrace.store.paths import StorePaths

Seen = dict[str, Any]
"""A row of the query ``recent``, by column."""

OVERLAP = timedelta(seconds=60)
"""How much later than its end an attempt may be written and still be found."""
_ALL = 2**63 - 1


class Follower:
    """Asks again and again; an attempt that was given once is not given again."""

    def __init__(self, store: Path, *, tool: str | None = None, status: str | None = None) -> None:
        self._store = store
        self._filter: dict[str, Any] = {"tool": tool, "status": status}
        self._seen: dict[str, datetime] = {}
        self._last = datetime.now(UTC)
        self._state: object = None

    def last(self, number: int) -> list[Seen]:
        """The last ``number`` attempts, the oldest first. Raises StoreMissing and StoreLocked."""
        self._fresh(self._recent(since=self._last - OVERLAP, limit=_ALL))
        rows = self._recent(limit=number) if number else []
        self._fresh(rows)
        return rows

    def more(self) -> list[Seen]:
        """What came since, the oldest first; nothing where there is no store yet. Raises StoreLocked."""
        state, now = self._look(), datetime.now(UTC)
        if state == self._state:
            return []
        try:
            rows = self._fresh(self._recent(since=self._last - OVERLAP, limit=_ALL))
        except StoreMissing:
            return []
        self._state, self._last = state, now
        self._forget(now - 2 * OVERLAP)
        return rows

    def _recent(self, **params: Any) -> list[Seen]:
        answer = ask(self._store, "recent", **self._filter, **params)
        return [dict(zip(answer.columns, row, strict=True)) for row in reversed(answer.fetchall())]

    def _fresh(self, rows: Iterable[Seen]) -> list[Seen]:
        fresh = [row for row in rows if row["span_id"] not in self._seen]
        self._seen |= {row["span_id"]: row["ended_at"].replace(tzinfo=UTC) for row in fresh}
        return fresh

    def _forget(self, before: datetime) -> None:
        self._seen = {span: ended for span, ended in self._seen.items() if ended >= before}

    def _look(self) -> object:
        """What changes whenever the store does: the sizes and times of its files, which are not opened."""
        paths = StorePaths.of(self._store)
        try:
            stat = paths.database.stat()
        except OSError:
            return None, paths.journals()
        return (stat.st_ino, stat.st_size, stat.st_mtime_ns), paths.journals()
