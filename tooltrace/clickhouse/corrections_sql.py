"""Views that apply corrections to attempts when a query runs, by the rules of :mod:`tooltrace.store.corrections`.

A ClickHouse table is not updated, so the attempts keep the recorded reading, and the view ``attempts`` joins the reading
in force.
"""

from __future__ import annotations

from typing import Final

from tooltrace.clickhouse.attribute_sql import quote_identifier, quote_literal
from tooltrace.store.corrections import RULE
from tooltrace.store.schema import ATTEMPTS, CORRECTIONS

RECORDED_ATTEMPTS: Final = "recorded_attempts"
"""View of the attempts as they were recorded."""
CORRECTED_READINGS: Final = "corrected_readings"
"""View with one row per attempt whose reading differs from its row in ``recorded_attempts``."""

_READING: Final = ("status", "code", "rule", "rule_grade", "status_recorded", "reading_recorded")


def correction_views(database: str) -> dict[str, str]:
    """Return the SELECT of each view, in the order in which they are created."""
    return {CORRECTED_READINGS: _corrected_readings(database), ATTEMPTS.name: _attempts(database)}


def _attempts(database: str) -> str:
    recorded, readings = (_qualified(database, name) for name in (RECORDED_ATTEMPTS, CORRECTED_READINGS))
    columns = ",\n    ".join(
        f"{_corrected(name) if name in _READING else f'a.{quote_identifier(name)}'} AS {quote_identifier(name)}"
        for name in ATTEMPTS.names
    )
    return f"SELECT\n    {columns}\nFROM {recorded} AS a\nLEFT JOIN {readings} AS r ON r.span_id = a.span_id"


def _corrected(name: str) -> str:
    name = quote_identifier(name)
    return f"if(r.span_id IS NULL, a.{name}, r.{name})"


def _qualified(database: str, name: str) -> str:
    return f"{quote_identifier(database)}.{quote_identifier(name)}"


def _corrected_readings(database: str) -> str:
    """Return the SELECT of the readings in force.

    Each attempt is joined with the corrections of its span id and of its call id by one key, because ClickHouse joins by
    one equality fastest, and reads a step of ``WITH`` as often as it is named.
    """
    attempts, corrections = (_qualified(database, name) for name in (RECORDED_ATTEMPTS, CORRECTIONS.name))
    before = {
        name: f"if(status_recorded IS NULL, {name}, JSONExtract(ifNull(reading_recorded, ''), {quote_literal(name)}, 'Nullable(String)'))"
        for name in ("code", "rule", "rule_grade")
    }
    return f"""\
SELECT
    span_id,
    if(is_corrected, new_status, old_status) AS status,
    multiIf(NOT is_corrected, old_code, new_status = 'error', coalesce(new_code, old_code, 'UNKNOWN'), new_code) AS code,
    if(is_corrected, ifNull(new_rule, {quote_literal(RULE)}), old_rule) AS rule,
    if(is_corrected, ifNull(new_rule_grade, 'certain'), old_rule_grade) AS rule_grade,
    if(is_corrected, old_status, NULL) AS status_recorded,
    if(is_corrected, toJSONString(CAST((old_code, old_rule, old_rule_grade) AS Tuple(code Nullable(String), rule Nullable(String), rule_grade Nullable(String)))), NULL) AS reading_recorded
FROM (
    SELECT
        *,
        is_named AND new_status IS NOT NULL AS is_corrected,
        row_number() OVER (
            PARTITION BY span_id
            ORDER BY
                is_named DESC,
                multiIf(labeler_kind = 'person', 0, labeler_kind = 'agent', 1, 2),
                corrected_at DESC, labeler, new_status, new_code
        ) AS precedence
    FROM (
        SELECT
            *,
            of_span OR row_number() OVER (
                PARTITION BY of_span, key, labeler, labeler_kind, corrected_at, new_status, new_code
                ORDER BY
                    call_started_at > corrected_at,
                    if(call_started_at <= corrected_at, call_started_at, NULL) DESC,
                    call_started_at,
                    started_at > corrected_at,
                    attempt DESC,
                    started_at DESC,
                    span_id DESC
            ) = 1 AS is_named
        FROM (
            SELECT
                span_id,
                started_at,
                attempt,
                status_recorded IS NOT NULL AS was_corrected,
                ifNull(status_recorded, status) AS old_status,
                {before["code"]} AS old_code,
                {before["rule"]} AS old_rule,
                {before["rule_grade"]} AS old_rule_grade,
                min(started_at) OVER (
                    PARTITION BY
                        tool, call_id, conversation_id,
                        if(conversation_id IS NULL, host, NULL), if(conversation_id IS NULL, pid, NULL)
                ) AS call_started_at,
                arrayJoin([(true, span_id), (false, call_id)]) AS target,
                target.1 AS of_span,
                target.2 AS key
            FROM {attempts}
            WHERE status IS NOT NULL
              AND (SELECT count() FROM {corrections}) > 0
              AND (call_id IN (SELECT assumeNotNull(call_id) FROM {corrections} WHERE span_id IS NULL AND call_id IS NOT NULL)
                   OR span_id IN (SELECT assumeNotNull(span_id) FROM {corrections} WHERE span_id IS NOT NULL))
        ) AS t
        INNER JOIN (
            SELECT
                span_id IS NOT NULL AS by_span,
                ifNull(span_id, call_id) AS named_id,
                status AS new_status,
                code AS new_code,
                rule AS new_rule,
                rule_grade AS new_rule_grade,
                ifNull(labeler, '') AS labeler,
                ifNull(labeler_kind, '') AS labeler_kind,
                assumeNotNull(corrected_at) AS corrected_at
            FROM {corrections}
            WHERE span_id IS NOT NULL OR call_id IS NOT NULL
        ) AS c ON c.by_span = t.of_span AND c.named_id = t.key
    )
)
WHERE precedence = 1 AND (is_corrected OR was_corrected)"""
