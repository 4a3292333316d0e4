"""The time range that a surface reads, the same default for all, and the sentence that states it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from tooltrace.errors import BadParameter
from tooltrace.report.time_range import Begin, TimeRange, parse_time
from tooltrace.store.result import QueryResult, Statement
from tooltrace.wording.i18n import Translations

DEFAULT_SPAN: Final = "7d"
"""The default range of the state, of queries, reports and pages; where the history is shorter, all of it."""
ALL: Final = "all"
"""The range of the complete history."""

_FIRST_RECORD: Final = Statement(name="first_record", sql="SELECT min(started_at) AS first_at FROM attempts")


class Reader(Protocol):
    """A store, or a session on one."""

    def query(self, statement: Statement, /) -> QueryResult:
        """Return the result of ``statement``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryWindow:
    """The time from ``since`` up to ``until`` (naive UTC), and how its beginning was chosen."""

    since: datetime | None
    """None: the history has no record."""
    until: datetime
    begins: Begin
    ends_now: bool

    def range(self, tool: str | None = None) -> TimeRange[datetime]:
        """Return the range as fixed times."""
        return TimeRange(since=self.since, until=self.until, tool=tool, begins=self.begins)

    def sentence(self, words: Translations) -> str:
        """Return the sentence that states the window."""
        if self.since is None:
            return words("window.said.empty")
        end = "" if self.ends_now else words("window.said.until", at=_minute(self.until))
        return words(f"window.said.{self.begins}", at=_minute(self.since), end=end)


def history_window(
    reader: Reader, *, since: str | datetime | None, until: str | datetime | None, now: datetime | None = None
) -> HistoryWindow:
    """Return the window that ``since`` and ``until`` name, as a person typed them.

    Without ``since`` it is that of DEFAULT_SPAN before its end, or begins at the first record where the history is
    shorter; with ``all`` it begins at the first record. Raises BadParameter, QueryError, StoreError.
    """
    now = now or datetime.now(UTC)
    end = parse_time("until", until or None, now)
    # without ``since``, the span is counted back from the end
    start = (
        None if since == ALL else parse_time("since", since or DEFAULT_SPAN, now if since else end.replace(tzinfo=UTC))
    )
    if since not in (None, "", DEFAULT_SPAN) and start is not None:
        if start >= end:
            raise BadParameter(f"parameter 'since' ({start} UTC) must be before 'until' ({end} UTC)")
        return HistoryWindow(since=start, until=end, begins="given", ends_now=not until)
    first = first_record(reader)
    if start is None or (first is not None and start < first < end):
        return HistoryWindow(since=first, until=end, begins="first", ends_now=not until)
    return HistoryWindow(since=start, until=end, begins="default", ends_now=not until)


def first_record(reader: Reader) -> datetime | None:
    """Return the start of the first attempt in the history, naive UTC; None without any."""
    (row,) = reader.query(_FIRST_RECORD).rows
    first: datetime | None = row[0]
    return first


def _minute(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"
