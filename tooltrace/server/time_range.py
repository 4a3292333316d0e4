"""The time window of a page, and the one before it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from starlette.datastructures import QueryParams

CHOICES = ("1h", "24h", "7d", "30d", "all")
DEFAULT = "7d"
_SPAN = re.compile(r"(\d{1,6})([smhdw])")


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The window from ``since`` up to ``until``, as query parameters; None is open."""

    since: str | None = DEFAULT
    until: str | None = None

    @classmethod
    def of(cls, query: QueryParams) -> Self:
        """Return the window in the address: ``since`` and ``until``, a span or a time; ``all`` is everything."""
        since, until = query.get("since", "").strip() or DEFAULT, query.get("until", "").strip() or None
        return cls(None if since == "all" else since, until)

    @property
    def name(self) -> str:
        """Name of the window in the address."""
        return self.since or "all"

    @property
    def given(self) -> dict[str, Any]:
        """The window as parameters of a query."""
        return {"since": self.since, "until": self.until}

    @property
    def before(self) -> str | None:
        """Start of the equally long window that ends at ``since``; None where it cannot be computed."""
        if self.since is None:
            return None
        span = _SPAN.fullmatch(self.since)
        if span and self.until is None:
            return f"{2 * int(span[1])}{span[2]}"
        try:
            start = _time(self.since)
            end = _time(self.until) if self.until else datetime.now(UTC)
            return (start - (end - start)).isoformat() if end > start else None
        except (ValueError, OverflowError):
            return None


def _time(text: str) -> datetime:
    if span := _SPAN.fullmatch(text):
        unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[span[2]]
        return datetime.now(UTC) - timedelta(**{unit: int(span[1])})
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
