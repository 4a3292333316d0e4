"""The rows of a SELECT that labels attempts, each with the attempt that it judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.errors import LabelError
from tooltrace.store.database.views import BY_LABELER, CONVERSATION_LABELS, JUDGED
from tooltrace.store.read.reader import materialize

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_SELECTED, _ROWS = "memory.labels.selected", "memory.labels.rows"

# The inner ``outcomes`` hides the table of that name: the SQL of the view then answers which attempt each selected
# call id would judge.
_NEW: Final = f"""
WITH {BY_LABELER},
meant AS (
    SELECT t.call_id, t.span_id
    FROM (
        WITH outcomes AS (
            SELECT call_id, NULL AS span_id, true AS correct, NULL AS score, '' AS labeler, $now AS labeled_at
            FROM {_ROWS}
            WHERE span_id IS NULL AND call_id IS NOT NULL
        )
        SELECT span_id FROM ({JUDGED.sql}) AS of_call
    ) AS would_judge
    JOIN tool_calls AS t ON t.span_id = would_judge.span_id
)
SELECT g.* EXCLUDE (row_no), t.trace_id, t.span_id AS judged
FROM {_ROWS} AS g
LEFT JOIN meant AS m ON m.call_id = g.call_id AND g.span_id IS NULL
LEFT JOIN tool_calls AS t ON t.span_id = coalesce(g.span_id, m.span_id)
WHERE $again
   OR NOT (
        coalesce(g.span_id, m.span_id, '') IN (SELECT span_id FROM mine)
        OR coalesce(g.span_id IS NULL AND g.call_id IN (SELECT call_id FROM outcomes WHERE span_id IS NULL AND call_id IS NOT NULL), false)
        OR coalesce(g.conversation_id IN (SELECT conversation_id FROM ({CONVERSATION_LABELS.sql}) AS conversations), false)
   )
ORDER BY g.row_no
"""


def labels_of_select(
    con: DuckDBPyConnection,
    sql: str,
    columns: Sequence[str],
    labeler: str,
    *,
    again: bool,
    check: Callable[[list[str]], None],
) -> DuckDBPyRelation:
    """Return the labels of the SELECT ``sql``, for use after the lease of ``con`` has ended.

    See ``tooltrace.store.base.StoreBackend.labels_of_select``.
    """
    _store_rows(con, sql, columns, check)
    # The engine's timestamps have no zone; one time for all rows.
    now = datetime.now(UTC).replace(tzinfo=None)
    return materialize(con, _NEW, {"labeler": labeler, "again": again, "now": now})


def _store_rows(con: DuckDBPyConnection, sql: str, columns: Sequence[str], check: Callable[[list[str]], None]) -> None:
    """Store the rows of ``sql`` in a temporary table with all ``columns``. Raises LabelError."""
    try:
        statements = con.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise LabelError("outcome_from accepts one SELECT statement; nothing was recorded")
        con.execute("CREATE SCHEMA memory.labels")
        # A view first: it gives the names of the columns without running the SELECT.
        con.execute(f"CREATE VIEW {_SELECTED} AS {sql}")
        names = [column[0].lower() for column in con.execute(f"SELECT * FROM {_SELECTED} LIMIT 0").description]
        check(names)
        selected = ", ".join(f"CAST({name if name in names else 'NULL'} AS VARCHAR) AS {name}" for name in columns)
        con.execute(f"CREATE TABLE {_ROWS} AS SELECT {selected}, row_number() OVER () AS row_no FROM {_SELECTED}")
    except duckdb.Error as error:
        raise LabelError(f"cannot run the SELECT: {error}; nothing was recorded") from error
