"""Scope of a report: a time window with fixed ends, and optionally one tool."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from tooltrace.analysis.parameters import Parameter
from tooltrace.errors import BadParameter


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """A time window: ``since`` (None: the beginning) up to ``until``, naive UTC.

    All queries of a report use the same window.
    """

    since: datetime | None
    until: datetime
    tool: str | None = None

    @classmethod
    def of(cls, *, since: str | None, until: str | None, tool: str | None = None, now: datetime | None = None) -> Self:
        """Parse a person's input: spans back from ``now``, dates, times. Raises BadParameter."""
        now = now or datetime.now(UTC)
        begin = moment("since", since, now) if since else None
        end = moment("until", until, now) if until else now.astimezone(UTC).replace(tzinfo=None)
        if begin is not None and begin >= end:
            raise BadParameter(f"since ({begin} UTC) is not before until ({end} UTC); nothing was asked")
        return cls(since=begin, until=end, tool=tool)

    @property
    def before(self) -> datetime | None:
        """Start of the equally long window that ends at ``since``; None where that time does not exist."""
        if self.since is None:
            return None
        try:
            return self.since - (self.until - self.since)
        except OverflowError:
            return None

    @property
    def given(self) -> dict[str, Any]:
        """The scope as parameters of a query."""
        known = {"since": self.since, "until": self.until, "tool": self.tool}
        return {name: value for name, value in known.items() if value is not None}


def moment(name: str, text: str, now: datetime) -> datetime:
    """Parse ``text`` as a time: a span back from ``now``, or ISO form. Naive UTC. Raises BadParameter."""
    found = Parameter(name=name, type="timestamp", meaning="").bind(text, now)
    assert isinstance(found, datetime)
    return found
