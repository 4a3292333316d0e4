"""Views that apply corrections to attempts when a query runs, by the rules of :mod:`tooltrace.store.database.corrections`.

A ClickHouse table is not updated, so the attempts keep the recorded reading. The view ``attempts`` looks each attempt up
in an array of the corrections in force. The array is a scalar subquery, which ClickHouse evaluates once for a statement,
before it plans the rest: no filter on attempts is lost, as it would be behind a JOIN, and an empty array leaves the plan
of a store without corrections.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeGuard

from msgspec.structs import replace

from tooltrace.clickhouse.attribute_sql import quote_identifier, quote_literal
from tooltrace.clickhouse.materialized import TABLE_PREFIX
from tooltrace.clickhouse.tables import Tables, attempts_of_calls
from tooltrace.core.records import Correction, Record
from tooltrace.store.database.corrections import RULE
from tooltrace.store.database.schema import ATTEMPTS, CORRECTIONS

RECORDED_ATTEMPTS: Final = "recorded_attempts"
"""View of the attempts as they were recorded."""
CORRECTIONS_IN_FORCE: Final = "corrections_in_force"
"""View with one row per corrected attempt: the correction in force. A NULL status restores the recorded reading."""

_MEMBERS: Final = ("span_id", "status", "code", "rule", "rule_grade")
"""Members of a correction in the array, in their order."""


_POSITION: Final = (
    "tool", "call_id", "first_span_id", "conversation_id", "host", "pid", "span_id", "started_at", "attempt", "status", "status_recorded",
)  # fmt: skip
"""Columns of an attempt that determine which correction of its call names it."""


def correction_views(tables: Tables, database: str, *, materialized: bool) -> dict[str, str]:
    """Return the SELECT of each view, in the order in which they are created.

    ``materialized``: over the tables of :mod:`tooltrace.clickhouse.materialized`.
    """
    corrections = _qualified(database, CORRECTIONS.name)
    of_calls = f"{corrections} WHERE span_id IS NULL AND call_id IS NOT NULL"
    ids = f"SELECT assumeNotNull(call_id) FROM {of_calls}"
    stored = _qualified(database, TABLE_PREFIX + ATTEMPTS.name)
    selects = (
        [f"SELECT {', '.join(_POSITION)} FROM {stored} WHERE call_id IN ({ids})"]
        if materialized
        else attempts_of_calls(tables, ids, _POSITION)
    )
    attempts = "\nUNION ALL\n".join(selects)
    return {CORRECTIONS_IN_FORCE: _in_force(corrections, of_calls, attempts), ATTEMPTS.name: _attempts(database)}


def _qualified(database: str, name: str) -> str:
    return f"{quote_identifier(database)}.{quote_identifier(name)}"


def _attempts(database: str) -> str:
    new = {name: f"in_force[place].{number}" for number, name in enumerate(_MEMBERS, start=1)}
    old = {
        name: f"if(status_recorded IS NULL, {name}, JSONExtract(ifNull(reading_recorded, ''), {quote_literal(name)}, 'Nullable(String)'))"
        for name in ("code", "rule", "rule_grade")
    }
    old_status = "ifNull(status_recorded, status)"
    reading = "Tuple(code Nullable(String), rule Nullable(String), rule_grade Nullable(String))"
    is_restored = f"{new['status']} IS NULL"
    corrected = {
        "status": f"ifNull({new['status']}, {old_status})",
        "code": f"multiIf({is_restored}, {old['code']}, {new['status']} = 'error', coalesce({new['code']}, {old['code']}, 'UNKNOWN'), {new['code']})",
        "rule": f"if({is_restored}, {old['rule']}, ifNull({new['rule']}, {quote_literal(RULE)}))",
        "rule_grade": f"if({is_restored}, {old['rule_grade']}, ifNull({new['rule_grade']}, 'certain'))",
        "status_recorded": f"if({is_restored}, NULL, {old_status})",
        "reading_recorded": f"if({is_restored}, NULL, toJSONString(CAST(({', '.join(old.values())}) AS {reading})))",
    }
    columns = ",\n    ".join(
        f"if(is_corrected, {corrected[name]}, {name}) AS {name}" if name in corrected else quote_identifier(name)
        for name in ATTEMPTS.names
    )
    # ``transform`` needs arrays with a type, so an empty text stands at 0 before the span ids: the place of a
    # correction counts from 1, and 0 means that there is none.
    return f"""\
WITH
    (SELECT groupArray(({", ".join(_MEMBERS)})) FROM {_qualified(database, CORRECTIONS_IN_FORCE)}) AS in_force,
    transform(span_id, arrayConcat([''], in_force.1), range(length(in_force) + 1), 0) AS place,
    if(empty(in_force), false, status IS NOT NULL AND place > 0) AS is_corrected
SELECT
    {columns}
FROM {_qualified(database, RECORDED_ATTEMPTS)}"""


def _in_force(corrections: str, of_calls: str, attempts: str) -> str:
    """Return the SELECT of the corrections in force.

    A correction of a call names the call's last attempt before it; the attempts are read only if there is one. Another
    attempt of that call which arrived with a corrected reading, and which no correction names, has the recorded reading.
    """
    return f"""\
SELECT {", ".join(_MEMBERS)}
FROM (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY span_id
            ORDER BY
                is_named DESC,
                multiIf(labeler_kind = 'person', 0, labeler_kind = 'agent', 1, 2),
                corrected_at DESC, labeler, status, code
        ) AS precedence
    FROM (
        SELECT
            assumeNotNull(span_id) AS span_id, status, code, rule, rule_grade, labeler, labeler_kind, corrected_at,
            true AS is_named
        FROM {corrections}
        WHERE span_id IS NOT NULL
        UNION ALL
        SELECT
            attempt_id AS span_id, if(is_last, status, NULL) AS status, code, rule, rule_grade, labeler, labeler_kind,
            corrected_at, is_last AS is_named
        FROM (
            SELECT
                *,
                row_number() OVER (
                    PARTITION BY call_id, labeler, labeler_kind, corrected_at, status, code
                    ORDER BY
                        call_started_at > corrected_at,
                        if(call_started_at <= corrected_at, call_started_at, NULL) DESC,
                        call_started_at,
                        started_at > corrected_at,
                        attempt DESC,
                        started_at DESC,
                        attempt_id DESC
                ) = 1 AS is_last
            FROM (
                SELECT
                    span_id AS attempt_id,
                    call_id AS named_call,
                    started_at,
                    attempt,
                    status_recorded IS NOT NULL AS was_corrected,
                    min(started_at) OVER (
                        PARTITION BY
                            tool, call_id, first_span_id, conversation_id,
                            if(conversation_id IS NULL, host, NULL), if(conversation_id IS NULL, pid, NULL)
                    ) AS call_started_at
                FROM ({attempts})
                WHERE status IS NOT NULL AND (SELECT count() FROM {of_calls}) > 0
            ) AS t
            INNER JOIN (
                SELECT assumeNotNull(call_id) AS call_id, status, code, rule, rule_grade, labeler, labeler_kind, corrected_at
                FROM {of_calls}
            ) AS c ON c.call_id = t.named_call
        )
        WHERE is_last OR was_corrected
    )
)
WHERE precedence = 1"""


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
