"""Times as files of other programs write them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, Final

from tooltrace.ingest.call_builder import MAX_TIME_NS
from tooltrace.otel.timestamps import nanoseconds

_EARLIEST: Final = 100_000_000
"""Least number that is a time, March 1973 in seconds: a smaller one is a count or a duration."""
_EPOCHS: Final = ((1e11, 1_000_000_000), (1e14, 1_000_000), (1e17, 1_000))
"""Bounds of a number since 1970, and the nanoseconds of its unit: seconds, milliseconds, microseconds; else nanoseconds."""
ACCEPTED: Final = "an ISO date and time (UTC unless it has a zone), or seconds, ms, µs or ns since 1970"


def moment_ns(value: Any) -> int | None:
    """Return a time in nanoseconds since 1970; None for one that is not ACCEPTED. A time without a zone is UTC."""
    if isinstance(value, str):
        text = value.strip()
        try:
            return _within(nanoseconds(_utc(datetime.fromisoformat(text))))
        except (ValueError, OverflowError):
            pass
        try:
            value = float(text) if len(text) < 20 else int(text)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not _EARLIEST <= value < math.inf:
        return None
    unit = next((unit for bound, unit in _EPOCHS if value < bound), 1)
    return _within(int(value) * unit + round((value - int(value)) * unit))


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _within(ns: int) -> int | None:
    return ns if 0 < ns <= MAX_TIME_NS else None
