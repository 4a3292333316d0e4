"""Follow new attempts in a store, from every process, each exactly once, and the loops that begin."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tooltrace.analysis import query_store
from tooltrace.analysis.running_calls import SEARCHED, LoopRow, running, running_calls, with_arguments
from tooltrace.cli.sanitize import clean
from tooltrace.core.plural import format_count
from tooltrace.errors import StoreMissing
from tooltrace.store.base import Store, StoreBackend, open_store

if TYPE_CHECKING:
    from rich.text import Text


AttemptRow = dict[str, Any]
"""A row of the query ``attempts``, by column."""

OVERLAP = timedelta(seconds=60)
"""Maximum delay between the end of an attempt and its recording for which the attempt is still found."""
_NO_LIMIT = 2**63 - 1


class RowFollower:
    """Queries the store repeatedly and returns each attempt once.

    ``filters`` maps a column of the result to one or several accepted values. ``text`` must occur somewhere in the
    attempt.
    """

    def __init__(self, store: Store, *, text: str | None = None, **filters: str | Sequence[str] | None) -> None:
        self._store = open_store(store)
        self._text = text
        self._filters = {name: _several(values) for name, values in filters.items() if values}
        self._returned: dict[str, datetime] = {}
        self._last = datetime.now(UTC)
        self._state: object = None

    def last(self, number: int) -> list[AttemptRow]:
        """Return the last ``number`` attempts, the oldest first. Raises StoreMissing and StoreLocked."""
        self._new_rows(self._since(self._last - OVERLAP))
        rows = self._newest(number) if number else []
        self._new_rows(rows)
        return rows

    def more(self) -> list[AttemptRow]:
        """Return the attempts since the last call, the oldest first; none before the store exists.

        Raises StoreLocked.
        """
        state, now = signature(self._store), datetime.now(UTC)
        if state == self._state:
            return []
        try:
            # The overlap finds attempts that ended before the last query but were recorded after it.
            rows = self._new_rows(self._since(self._last - OVERLAP))
        except StoreMissing:
            return []
        # Only after the query: an attempt recorded meanwhile changes the version, and is found the next time.
        self._state, self._last = state, now
        self._returned = {span: ended for span, ended in self._returned.items() if ended >= now - 2 * OVERLAP}
        return rows

    def _newest(self, number: int) -> list[AttemptRow]:
        """Return the newest ``number`` attempts, merged from one query per combination of accepted values."""
        names = list(self._filters)
        combinations = (dict(zip(names, values, strict=True)) for values in itertools.product(*self._filters.values()))
        found = [row for values in combinations for row in self._query(**values, limit=number)]
        newest = heapq.nlargest(number, found, key=lambda row: row["ended_at"])
        return newest[::-1]

    def _since(self, since: datetime) -> list[AttemptRow]:
        """Return the attempts that ended after ``since``: one query for all accepted values, because the rows are few."""
        single = {name: values[0] for name, values in self._filters.items() if len(values) == 1}
        rows = self._query(**single, down_to=since, limit=_NO_LIMIT)
        return [row for row in reversed(rows) if all(row[name] in values for name, values in self._filters.items())]

    def _query(self, **params: Any) -> list[AttemptRow]:
        return query_store(self._store, "attempts", text=self._text, **params).dicts()

    def _new_rows(self, rows: Iterable[AttemptRow]) -> list[AttemptRow]:
        new = [row for row in rows if row["span_id"] not in self._returned]
        self._returned |= {row["span_id"]: row["ended_at"].replace(tzinfo=UTC) for row in new}
        return new


class RunningFollower:
    """Queries the store repeatedly and returns each call that runs once, as a dict of ``RunningCall``.

    ``filters`` maps a column to accepted values.
    """

    def __init__(self, store: Store, filters: Mapping[str, Sequence[str]]) -> None:
        self._store = open_store(store)
        self._filters = {name: values for name, values in filters.items() if values}
        self._known: set[str] = set()
        self._state: object = None

    def more(self) -> list[dict[str, Any]]:
        """Return the calls since the last call, the oldest first. Raises StoreLocked."""
        state = signature(self._store)
        if state == self._state:
            return []
        calls = [asdict(call) for call in running_calls(self._store)]
        new = [call for call in calls if call["span_id"] not in self._known]
        self._state, self._known = state, {call["span_id"] for call in calls}
        return [call for call in new if all(call[name] in values for name, values in self._filters.items())]


def signature(store: StoreBackend) -> object:
    """Return a value that changes whenever the store does. A store without a version counts as always changed."""
    return store.version() or object()


def _several(values: str | Sequence[str] | None) -> tuple[str, ...]:
    if values is None:
        return ()
    return (values,) if isinstance(values, str) else tuple(dict.fromkeys(values))


_MOST_CHARACTERS = 160
"""Characters of the arguments in a line."""


class LoopFollower:
    """Queries the running loops repeatedly, and returns each when it begins and when it has twice as many rounds.

    ``filters``: accepted values of tool, agent and conversation; none accepts all.
    """

    def __init__(self, store: StoreBackend, filters: Mapping[str, Sequence[str]]) -> None:
        self._store = store
        self._filters = {name: set(filters.get(name, ())) for name in ("tool", "agent", "conversation")}
        self._reported: dict[tuple[str, ...], int] = {}

    def more(self) -> Iterator[LoopRow]:
        """Return the loops that run now and were not returned with half as many rounds or more.

        Nothing before the store exists. Raises StoreLocked.
        """
        try:
            rows = query_store(self._store, "loops", since=datetime.now(UTC) - SEARCHED).dicts()
        except StoreMissing:
            return
        accepted = [row for row in running(rows) if self._accepts(row)]
        seen = {_key(row) for row in accepted}
        self._reported = {key: repeats for key, repeats in self._reported.items() if key in seen}
        new = [row for row in accepted if row["repeats"] >= 2 * self._reported.get(_key(row), 0)]
        self._reported.update((_key(row), row["repeats"]) for row in new)
        yield from with_arguments(self._store, new)

    def _accepts(self, row: LoopRow) -> bool:
        tools, agent, conversation = (self._filters[name] for name in ("tool", "agent", "conversation"))
        return (
            (not tools or not tools.isdisjoint(row["tools"].split(", ")))
            and (not agent or row["agent"] in agent)
            and (not conversation or row["conversation"] in conversation)
        )


def _key(row: LoopRow) -> tuple[str, ...]:
    return (row["conversation"], row["agent"] or "", row["tools"], row["kind"], str(row["first"]))


def loop_line(row: LoopRow) -> Text:
    """Return a running loop as a line: local time, kind, tools, rounds, conversation, waste, arguments."""
    from rich.text import Text

    from tooltrace.cli.table import format_value

    at = row["last"].replace(tzinfo=UTC).astimezone()
    text = Text().append(f"{at:%H:%M:%S}.{at.microsecond // 1000:03} ", "dim")
    text.append(f"{clean(row['tools']):<16} ", "bold").append(f"{'loop/' + row['kind']:<14} ", "bold magenta")
    by = f" by {clean(row['agent'])}" if row["agent"] else ""
    wasted = f"{format_value(row['wasted_ms'], 'ms')} ms, {format_count(row['wasted_tokens'], 'token')} wasted"
    text.append(f"{format_count(row['repeats'], 'round')} in {clean(row['conversation'])}{by}: {wasted}")
    arguments = clean(row["arguments"] or "")
    more = len(arguments) > _MOST_CHARACTERS
    return text.append(f"  {arguments[:_MOST_CHARACTERS]}{'…' if more else ''}") if arguments else text
