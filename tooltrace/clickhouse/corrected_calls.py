"""The attempt that a correction of a call names, found when the correction is written.

A correction with a span id costs queries nothing; for one with a call id alone, each query has to find the attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeGuard

from msgspec.structs import replace

from tooltrace.core.records import Correction, Record

Rows = list[tuple[Any, ...]]

_CALLS_AT_ONCE: Final = 500
_SELECT: Final = """
SELECT
    call_id, span_id, started_at, attempt,
    min(started_at) OVER (
        PARTITION BY
            tool, call_id, first_span_id, conversation_id,
            CASE WHEN conversation_id IS NULL THEN host END, CASE WHEN conversation_id IS NULL THEN pid END
    ) AS call_started_at
FROM attempts
WHERE status IS NOT NULL AND call_id IN ({ids})
"""


def with_span_ids(records: Sequence[Record], query: Callable[[str, Mapping[str, Any]], Rows]) -> list[Record]:
    """Return ``records``; a correction of a call that ``query`` finds has the span id of the attempt that it names.

    ``query`` returns the rows of SQL with parameters.
    """
    calls = sorted({record.call_id for record in records if _names_call(record) and record.call_id})
    found: dict[str, Rows] = {}
    for start in range(0, len(calls), _CALLS_AT_ONCE):
        params = {f"id{n}": call for n, call in enumerate(calls[start : start + _CALLS_AT_ONCE])}
        for row in query(_SELECT.format(ids=", ".join(f"${name}" for name in params)), params):
            found.setdefault(row[0], []).append(row)
    return [
        replace(record, span_id=_named(found[record.call_id], record.corrected_at))
        if _names_call(record) and record.call_id in found
        else record
        for record in records
    ]


def _names_call(record: Record) -> TypeGuard[Correction]:
    return isinstance(record, Correction) and record.span_id is None


def _named(attempts: Rows, corrected_at: datetime) -> str:
    """Return the span id of the last attempt before ``corrected_at``, by the rules of a local store."""
    # The rows are read through DuckDB, whose timestamps are UTC without a zone.
    at = corrected_at.astimezone(UTC).replace(tzinfo=None)

    def precedence(row: tuple[Any, ...]) -> tuple[Any, ...]:
        _call, _span, started_at, attempt, call_started_at = row
        is_before = call_started_at <= at
        distance = abs(at - call_started_at)  # the last call before the correction, else the first after it
        return not is_before, distance, started_at > at, -attempt, at - started_at

    by_span = sorted(attempts, key=lambda row: str(row[1]), reverse=True)
    return str(min(by_span, key=precedence)[1])
