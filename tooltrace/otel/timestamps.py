"""Times and ids in the form of log events."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import LogData

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_UNIX_NS_RANGE: Final = range(2**63)
_TRACE_ID: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID: Final = re.compile(r"(?!0{16})[0-9a-f]{16}")


def nanoseconds(moment: datetime) -> int:
    """Return nanoseconds since the epoch, in whole microseconds."""
    return (moment - EPOCH) // _MICROSECOND * 1000


def to_unix_ns(moment: datetime) -> tuple[int, str | None]:
    """Return nanoseconds since the epoch and None; 0 and ``moment`` in ISO form if they cannot represent it."""
    ns = nanoseconds(moment)
    return (ns, None) if ns in _UNIX_NS_RANGE else (0, moment.astimezone(UTC).isoformat())


def from_log_time(form: LogData) -> datetime:
    """Return the time of the event, in whole microseconds. Raises ValueError or OverflowError."""
    late = form.attributes.get(names.AT)
    if isinstance(late, str):
        moment = datetime.fromisoformat(late)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return EPOCH + timedelta(microseconds=form.time_ns // 1000)


def valid_parent(trace_id: str | None, span_id: str | None) -> tuple[str | None, str | None]:
    """Return both ids if both are valid in a trace; else None for both."""
    if trace_id is None or span_id is None or not _TRACE_ID.fullmatch(trace_id) or not _SPAN_ID.fullmatch(span_id):
        return None, None
    return trace_id, span_id
