"""Loops that run now, for ``tooltrace tail --loops``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tooltrace.analysis import query_store
from tooltrace.analysis.running_loops import SEARCHED, LoopRow, running, with_arguments
from tooltrace.cli.sanitize import clean
from tooltrace.core.plural import format_count
from tooltrace.errors import StoreMissing
from tooltrace.store.base import StoreBackend

if TYPE_CHECKING:
    from rich.text import Text


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
