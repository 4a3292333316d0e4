"""Times and ids as log events have them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import LogData

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_SAYABLE: Final = range(2**63)
_TRACE_ID: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID: Final = re.compile(r"(?!0{16})[0-9a-f]{16}")


def nanoseconds(moment: datetime) -> int:
    """Since the epoch, in whole microseconds."""
    return (moment - EPOCH) // _MICROSECOND * 1000


def to_unix_ns(moment: datetime) -> tuple[int, str | None]:
    """Nanoseconds since the epoch, and ``moment`` in ISO form where these cannot say it: they are then 0."""
    ns = nanoseconds(moment)
    return (ns, None) if ns in _SAYABLE else (0, moment.astimezone(UTC).isoformat())


def from_log_time(form: LogData) -> datetime:
    """When the event was, in whole microseconds. Raises ValueError, or OverflowError."""
    late = form.attributes.get(names.AT)
    if isinstance(late, str):
        moment = datetime.fromisoformat(late)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return EPOCH + timedelta(microseconds=form.time_ns // 1000)


def valid_parent(trace_id: str | None, span_id: str | None) -> tuple[str | None, str | None]:
    """Both, where both are ids that a trace can have; else neither."""
    if trace_id is None or span_id is None or not _TRACE_ID.fullmatch(trace_id) or not _SPAN_ID.fullmatch(span_id):
        return None, None
    return trace_id, span_id
