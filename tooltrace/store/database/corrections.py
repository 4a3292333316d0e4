"""Application of corrections to attempts: the table ``attempts`` has the reading in force, ``corrections`` is the log.

An attempt that no correction names is not touched, so that queries cost the same with and without corrections. The
recorded reading stays in ``status_recorded`` and ``reading_recorded``, from which every application starts: the result
does not depend on the order in which attempts and corrections arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tooltrace.store.database import hashes
from tooltrace.store.database.schema import ATTEMPTS, CORRECTIONS, STORE, Table, quote_identifier

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

RULE: Final = "correction"
"""Rule of an attempt whose reading a person or an agent corrected."""

_STAGED: Final = "memory.pending"
_TOUCHED: Final = "touched_attempts"
_READINGS: Final = "corrected_readings"
OVERRIDDEN: Final = f"{_STAGED}.overridden"
"""Table of the span ids of stored attempts that are staged anew with another reading."""


def is_pending(con: DuckDBPyConnection, *, stored: bool) -> bool:
    """Whether the staged rows may change the reading of an attempt: there are corrections, staged or ``stored``."""
    return any(_has_corrections(con, space) for space in [_STAGED, *([STORE] * stored)])


def apply_stored(con: DuckDBPyConnection, new: Callable[[Table], str]) -> None:
    """Apply corrections to the attempts of ``store``, where its new rows touch one.

    ``new`` gives the new rows of a table in SQL. Runs in the caller's transaction.
    """
    if _has_corrections(con, STORE):
        _find_touched(con, f"{STORE}.{ATTEMPTS.name}", f"{STORE}.{CORRECTIONS.name}", new)
        _make_readings(con, f"{STORE}.{CORRECTIONS.name}")
        _update(con, f"{STORE}.{ATTEMPTS.name}")


def apply_staged(con: DuckDBPyConnection, *, stored: bool) -> bool:
    """Apply corrections to staged attempts; return whether stored attempts were staged anew, see ``OVERRIDDEN``.

    ``stored``: whether there is a database, which is only read.
    """
    attempts, corrections = (_union(table.name, table.names, stored=stored) for table in (ATTEMPTS, CORRECTIONS))
    _find_touched(con, attempts, corrections, lambda table: f"{_STAGED}.{table.name}")
    _make_readings(con, corrections)
    con.execute(f"CREATE OR REPLACE TABLE {OVERRIDDEN} (span_id VARCHAR)")
    if stored:
        names = ", ".join(map(quote_identifier, ATTEMPTS.names))
        con.execute(
            f"INSERT INTO {OVERRIDDEN} SELECT span_id FROM {_READINGS} "
            f"WHERE span_id NOT IN (SELECT span_id FROM {_STAGED}.{ATTEMPTS.name})"
        )
        con.execute(
            f"INSERT INTO {_STAGED}.{ATTEMPTS.name} BY NAME "
            + hashes.with_hashes(
                ATTEMPTS,
                f"(SELECT {names} FROM {STORE}.{ATTEMPTS.name} WHERE span_id IN (SELECT span_id FROM {OVERRIDDEN}))",
            )
        )
    _update(con, f"{_STAGED}.{ATTEMPTS.name}")
    return con.execute(f"SELECT 1 FROM {OVERRIDDEN} LIMIT 1").fetchone() is not None


def _union(name: str, columns: tuple[str, ...], *, stored: bool) -> str:
    names = ", ".join(map(quote_identifier, columns))
    parts = [f"SELECT {names} FROM {space}.{name}" for space in ([STORE] * stored + [_STAGED])]
    return f"({' UNION ALL '.join(parts)})"


def _has_corrections(con: DuckDBPyConnection, space: str) -> bool:
    return con.execute(f"SELECT 1 FROM {space}.{CORRECTIONS.name} LIMIT 1").fetchone() is not None


def _find_touched(con: DuckDBPyConnection, attempts: str, corrections: str, new: Callable[[Table], str]) -> None:
    """Find the attempts that a new correction names, and the new attempts that any correction names."""
    new_attempts, new_corrections = new(ATTEMPTS), new(CORRECTIONS)
    con.execute(
        f"""
CREATE OR REPLACE TEMP TABLE {_TOUCHED} AS
WITH new_calls AS (
    SELECT call_id FROM {new_corrections} WHERE span_id IS NULL AND call_id IS NOT NULL
    UNION
    SELECT call_id FROM {new_attempts}
    WHERE call_id IN (SELECT call_id FROM {corrections} WHERE span_id IS NULL AND call_id IS NOT NULL)
),
new_spans AS (
    SELECT span_id FROM {new_corrections} WHERE span_id IS NOT NULL
    UNION
    SELECT span_id FROM {new_attempts}
    WHERE span_id IN (SELECT span_id FROM {corrections} WHERE span_id IS NOT NULL)
)
SELECT span_id, call_id, started_at, attempt, status, code, "rule", rule_grade, status_recorded, reading_recorded,
    min(started_at) OVER (
        PARTITION BY
            tool, call_id, first_span_id, conversation_id,
            CASE WHEN conversation_id IS NULL THEN host END, CASE WHEN conversation_id IS NULL THEN pid END
    ) AS call_started_at
FROM {attempts}
WHERE status IS NOT NULL
  AND (call_id IN (SELECT call_id FROM new_calls) OR span_id IN (SELECT span_id FROM new_spans))
"""
    )


def _make_readings(con: DuckDBPyConnection, corrections: str) -> None:
    """Determine the reading of each touched attempt: the recorded one, or that of the correction in force.

    A correction of a call applies to the last attempt, by number, that started before it. Of several calls with the id,
    the last that started before it is meant; if none did, because clocks differ, the first.
    """
    con.execute(
        f"""
CREATE OR REPLACE TEMP TABLE {_READINGS} AS
WITH recorded AS (
    SELECT
        span_id,
        coalesce(status_recorded, status) AS status,
        CASE WHEN status_recorded IS NULL THEN code ELSE reading_recorded ->> '$.code' END AS code,
        CASE WHEN status_recorded IS NULL THEN "rule" ELSE reading_recorded ->> '$.rule' END AS "rule",
        CASE WHEN status_recorded IS NULL THEN rule_grade ELSE reading_recorded ->> '$.rule_grade' END AS rule_grade,
        status_recorded IS NOT NULL AS was_corrected
    FROM {_TOUCHED}
),
of_calls AS (
    SELECT c.*, t.span_id AS target, row_number() OVER (
        PARTITION BY c.call_id, c.labeler, c.labeler_kind, c.corrected_at, c.status, c.code
        ORDER BY
            CASE WHEN t.call_started_at <= c.corrected_at THEN 0 ELSE 1 END,
            CASE WHEN t.call_started_at <= c.corrected_at THEN t.call_started_at END DESC,
            t.call_started_at,
            CASE WHEN t.started_at <= c.corrected_at THEN 0 ELSE 1 END,
            t.attempt DESC,
            t.started_at DESC,
            t.span_id DESC
    ) AS place
    FROM {corrections} AS c
    JOIN {_TOUCHED} AS t ON t.call_id = c.call_id
    WHERE c.span_id IS NULL
),
named AS (
    SELECT * EXCLUDE (place) FROM of_calls WHERE place = 1
    UNION ALL
    SELECT *, span_id AS target FROM {corrections} WHERE span_id IN (SELECT span_id FROM {_TOUCHED})
),
in_force AS (
    SELECT *
    FROM (
        SELECT *, row_number() OVER (
            PARTITION BY target
            ORDER BY
                CASE labeler_kind WHEN 'person' THEN 0 WHEN 'agent' THEN 1 ELSE 2 END,
                corrected_at DESC, labeler, status, code
        ) AS place
        FROM named
    )
    WHERE place = 1
),
corrected AS (
    SELECT
        target AS span_id,
        status,
        code,
        coalesce("rule", '{RULE}') AS "rule",
        coalesce(rule_grade, 'certain') AS rule_grade
    FROM in_force
    WHERE status IS NOT NULL
)
SELECT
    r.span_id,
    r.status AS recorded_status,
    json_object('code', r.code, 'rule', r."rule", 'rule_grade', r.rule_grade) AS recorded_reading,
    c.span_id IS NOT NULL AS is_corrected,
    coalesce(c.status, r.status) AS status,
    CASE
        WHEN c.status IS NULL THEN r.code
        WHEN c.status = 'error' THEN coalesce(c.code, r.code, 'UNKNOWN')
        ELSE c.code
    END AS code,
    CASE WHEN c.status IS NULL THEN r."rule" ELSE c."rule" END AS "rule",
    CASE WHEN c.status IS NULL THEN r.rule_grade ELSE c.rule_grade END AS rule_grade
FROM recorded AS r
LEFT JOIN corrected AS c ON c.span_id = r.span_id
WHERE c.span_id IS NOT NULL OR r.was_corrected
"""
    )


def _update(con: DuckDBPyConnection, attempts: str) -> None:
    con.execute(
        f"""
UPDATE {attempts} AS a SET
    status = r.status,
    code = r.code,
    "rule" = r."rule",
    rule_grade = r.rule_grade,
    status_recorded = CASE WHEN r.is_corrected THEN r.recorded_status END,
    reading_recorded = CASE WHEN r.is_corrected THEN r.recorded_reading END
FROM {_READINGS} AS r
WHERE a.span_id = r.span_id
"""
    )
    for table in (_TOUCHED, _READINGS):
        con.execute(f"DROP TABLE {table}")
