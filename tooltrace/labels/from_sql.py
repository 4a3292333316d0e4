"""Labels from a SELECT over the store."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import duckdb

from tooltrace.core.records import Outcome
from tooltrace.errors import LabelError
from tooltrace.labels.from_file import COLUMNS, missing, outcome_of
from tooltrace.labels.label import LabelerKind
from tooltrace.labels.writer import LabelWriter
from tooltrace.recording.settings import Settings
from tooltrace.store.reader import materialize, open_reader
from tooltrace.store.views import CONVERSATION_LABELS, JUDGED

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BY_LABELER: Final = f"""
outcomes AS (SELECT * FROM outcomes WHERE labeler = $labeler),
mine AS (SELECT span_id FROM ({JUDGED.sql}) AS judged_by_labeler)
"""
"""CTEs: ``outcomes`` has the labels by $labeler, and ``mine`` the attempts that these labels judge.

The SQL of the view ``judged`` finds the attempts, so that a call label judges the same attempt here as in the view.
"""


SELECTABLE = tuple(name for name in COLUMNS if name not in ("labeler", "labeled_at", "labeler_kind"))
_SELECTED, _ROWS = "memory.labels.selected", "memory.labels.rows"

_NEW = f"""
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
SELECT g.call_id, g.span_id, g.conversation_id, g.correct, g.score, g.reason, t.trace_id, t.span_id AS judged
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

Row = tuple[Any, ...]


def label_selected(sql: str, settings: Settings, labeler: str, *, kind: LabelerKind, again: bool) -> int:
    """Label attempts with the rows of a SELECT: see :func:`tooltrace.outcome_from`."""
    assert settings.store is not None
    with open_reader(settings.store, cursors=False) as con:
        _store_rows(con, sql)
        now = datetime.now(UTC).replace(tzinfo=None)
        answer = materialize(con, _NEW, {"labeler": labeler, "again": again, "now": now})
    outcomes = _judgements(answer.fetchall(), settings, labeler, kind)
    with LabelWriter(settings) as writer:
        for outcome, trace_id, span_id in outcomes:
            writer.add(outcome, trace_id=trace_id, span_id=span_id)
    return writer.count


def _store_rows(con: DuckDBPyConnection, sql: str) -> None:
    """Store the rows of ``sql`` in a temporary table with all label columns. Raises LabelError."""
    try:
        statements = con.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise LabelError("outcome_from accepts one SELECT statement; nothing was recorded")
        con.execute("CREATE SCHEMA memory.labels")
        con.execute(f"CREATE VIEW {_SELECTED} AS {sql}")
        names = [column[0].lower() for column in con.execute(f"SELECT * FROM {_SELECTED} LIMIT 0").description]
        _check(names)
        columns = ", ".join(f"CAST({name if name in names else 'NULL'} AS VARCHAR) AS {name}" for name in SELECTABLE)
        con.execute(f"CREATE TABLE {_ROWS} AS SELECT {columns}, row_number() OVER () AS row_no FROM {_SELECTED}")
    except duckdb.Error as error:
        raise LabelError(f"cannot run the SELECT: {error}; nothing was recorded") from error


def _check(names: list[str]) -> None:
    fault = missing(names)
    unknown = [name for name in names if name not in SELECTABLE]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if unknown:
        fault = f"unknown columns {', '.join(unknown)}; the columns of a label are {', '.join(SELECTABLE)}"
    if duplicates:
        fault = f"column {', '.join(duplicates)} occurs twice"
    if fault:
        raise LabelError(f"the result of the SELECT is not a table of labels: {fault}; nothing was recorded")


def _judgements(
    rows: Iterable[Row], settings: Settings, labeler: str, kind: LabelerKind
) -> list[tuple[Outcome, str | None, str | None]]:
    """Return an outcome with its trace id and span id for each call, attempt or conversation that ``rows`` judge.

    Rows with neither correct nor score are left out. Raises LabelError for an invalid row, and for two rows that judge
    the same differently.
    """
    outcomes: dict[tuple[str | None, str | None, str | None], tuple[Outcome, str | None, str | None]] = {}
    for row in rows:
        values = {**dict(zip(SELECTABLE, row, strict=False)), "labeler_kind": kind}
        if values["correct"] is None and values["score"] is None:
            continue
        try:
            outcome = outcome_of(values, settings, labeler)
        except LabelError as error:
            raise LabelError(f"{error}; nothing was recorded") from None
        judged = (outcome.call_id, outcome.span_id, outcome.conversation_id)
        earlier = outcomes.setdefault(judged, (outcome, row[-2], row[-1]))[0]
        if (earlier.correct, earlier.score) != (outcome.correct, outcome.score):
            named = outcome.span_id or outcome.call_id or outcome.conversation_id
            raise LabelError(
                f"the SELECT has two different judgements of {named}: use span_id to label one attempt; nothing was recorded"
            )
    return list(outcomes.values())
