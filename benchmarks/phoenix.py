"""The store of another tracer: the SQLite file of Arize Phoenix, filled with the same attempts, for the same queries.

The attempts are in the form in which Phoenix stores the spans that tooltrace sends it. A query counts only if both
stores give the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from tooltrace.store.read.reader import open_reader
from tooltrace.store.result import QueryResult

try:
    import sqlean as sqlite  # the build that Phoenix brings (pip install arize-phoenix-sqlean): much faster at JSON
except ImportError:
    import sqlite3 as sqlite

SQLITE = f"SQLite {sqlite.sqlite_version}"
RIVAL = "Phoenix 20.26.1"

PHOENIX = """
-- Arize Phoenix 20.26.1: the columns, keys and indexes of its SQLite file that bear on these questions.
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -500000;
CREATE TABLE traces (id INTEGER PRIMARY KEY, project_rowid INTEGER NOT NULL, trace_id VARCHAR NOT NULL UNIQUE);
CREATE TABLE spans (
    id INTEGER PRIMARY KEY,
    trace_rowid INTEGER NOT NULL REFERENCES traces (id),
    span_id VARCHAR NOT NULL UNIQUE,
    parent_id VARCHAR,
    name VARCHAR NOT NULL,          -- 'execute_tool search'
    span_kind VARCHAR NOT NULL,     -- 'TOOL'
    start_time TIMESTAMP NOT NULL,  -- text, UTC
    end_time TIMESTAMP NOT NULL,
    attributes JSONB NOT NULL,      -- JSON text; the dots of attribute names are levels
    events JSONB NOT NULL,
    status_code VARCHAR NOT NULL,   -- OK, ERROR or UNSET
    status_message VARCHAR NOT NULL
);
CREATE INDEX ix_spans_start_time ON spans (start_time);
CREATE INDEX ix_spans_parent_id ON spans (parent_id);
CREATE INDEX ix_spans_trace_rowid ON spans (trace_rowid);
CREATE INDEX ix_spans_session_id ON spans (CAST(json_extract(attributes, '$."session"."id"') AS VARCHAR))
    WHERE CAST(json_extract(attributes, '$."session"."id"') AS VARCHAR) IS NOT NULL;
CREATE TABLE span_annotations (
    id INTEGER PRIMARY KEY,
    span_rowid INTEGER NOT NULL REFERENCES spans (id),
    name VARCHAR NOT NULL,          -- what is judged: 'correct'
    score FLOAT,
    annotator_kind VARCHAR NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    identifier VARCHAR NOT NULL,    -- who judged
    UNIQUE (name, span_rowid, identifier)
);
CREATE INDEX ix_span_annotations_span_rowid ON span_annotations (span_rowid);
"""

TO_PHOENIX = {
    "INSERT INTO traces VALUES (?, 1, ?)": "SELECT row_number() OVER (ORDER BY trace_id), trace_id "
    "FROM (SELECT DISTINCT trace_id FROM attempts)",
    "INSERT INTO spans VALUES (?, ?, ?, ?, ?, 'TOOL', ?, ?, ?, '[]', ?, ?)": """
SELECT a.rowid, t.place, span_id, parent_span_id, 'execute_tool ' || tool,
    strftime(started_at, '%Y-%m-%d %H:%M:%S.%f'),
    strftime(started_at + to_microseconds(CAST(duration_ms * 1000 AS BIGINT)), '%Y-%m-%d %H:%M:%S.%f'),
    json_merge_patch('{}', json_object(  -- without what is NULL
        'tooltrace', json_object('status', status, 'ending', ending, 'attempt', attempt, 'duration_ms', duration_ms,
            'code', code, 'error', json_object('type', error_type, 'message', error_message), 'retryable', retryable,
            'confidence', confidence, 'signals', signals, 'next_action', next_action, 'text', "text",
            'sources', CAST(sources AS VARCHAR), 'rule', rule, 'rule_grade', rule_grade,
            'tool', json_object('version', tool_version)),
        'tool', json_object('name', tool, 'id', call_id, 'parameters', arguments),
        'gen_ai', json_object('operation', json_object('name', 'execute_tool'), 'agent', json_object('name', agent),
            'conversation', json_object('id', conversation_id), 'tool', json_object('name', tool, 'type', 'function',
            'call', json_object('id', call_id, 'arguments', CAST(arguments AS VARCHAR),
            'result', CAST(result AS VARCHAR)))),
        'session', json_object('id', conversation_id), 'openinference', json_object('span', json_object('kind', 'TOOL')),
        'output', json_object('value', CAST(result AS VARCHAR), 'mime_type', 'application/json'))),
    CASE WHEN status = 'error' THEN 'ERROR' ELSE 'UNSET' END, coalesce(error_message, '')
FROM store.attempts AS a
JOIN (SELECT trace_id, row_number() OVER (ORDER BY trace_id) AS place FROM attempts GROUP BY trace_id) AS t
    ON t.trace_id = a.trace_id
""",
    "INSERT INTO span_annotations VALUES (?, ?, 'correct', ?, 'HUMAN', ?, ?)": """
SELECT o.rowid, a.rowid, CAST(correct AS DOUBLE), CAST(labeled_at AS VARCHAR), labeler
FROM store.outcomes AS o JOIN store.attempts AS a ON a.call_id = o.call_id AND a.status <> 'error'
""",
}
"""How SQLite is filled: statement, and the rows for it. What was judged is the one attempt of its call that succeeded."""

FINISHED = "json_extract(attributes, '$.tooltrace.ending') IN ('returned', 'raised')"

BINS_NAME = "bins of calibration"

BINS = """
SELECT tool, least(floor(round(confidence * 1e9) * 10 / 1e9), 9) AS bin, count(*) AS n,
    avg(CASE WHEN correct THEN 1.0 ELSE 0.0 END) AS accuracy, avg(confidence) AS mean_confidence
FROM tool_calls JOIN judged USING (span_id)
WHERE status IS NOT NULL AND ending IN ('returned', 'raised') AND isfinite(confidence)
GROUP BY ALL
"""


class Question(NamedTuple):
    """One question to both stores."""

    sqlite: str
    shape: str
    """SQL over tooltrace's ``answer`` that gives the columns of ``sqlite``."""
    within: float = 1e-9
    """How far two numbers may lie apart, as a part of them."""


QUESTIONS = {
    "failure_rate": Question(
        f"""
SELECT tool, count(*), sum(failed), avg(failed), sum(from_last = 1), sum(from_last = 1 AND failed)
FROM (
    SELECT tool, failed, row_number() OVER (PARTITION BY tool, call_id, conversation ORDER BY start_time DESC)
        AS from_last
    FROM (
        SELECT json_extract(attributes, '$.tool.name') AS tool, json_extract(attributes, '$.tool.id') AS call_id,
            json_extract(attributes, '$.session.id') AS conversation, start_time, status_code = 'ERROR' AS failed
        FROM spans
        WHERE span_kind = 'TOOL' AND {FINISHED}
    )
)
GROUP BY tool
""",
        "SELECT tool, attempts, failures, rate, calls, failed_calls FROM answer",
    ),
    "errors": Question(
        f"""
SELECT json_extract(attributes, '$.tool.name') AS tool, json_extract(attributes, '$.tooltrace.code') AS code,
    json_extract(attributes, '$.tooltrace.error.type') AS type, count(*), min(start_time), max(start_time),
    avg(json_extract(attributes, '$.tooltrace.retryable')), json_extract(attributes, '$.tool.id')
FROM spans
WHERE span_kind = 'TOOL' AND status_code = 'ERROR' AND {FINISHED}
GROUP BY 1, 2, 3
""",
        "SELECT tool, code, type, sum(n) FROM answer GROUP BY ALL",
    ),
    "latency": Question(
        f"""
SELECT tool, max(n), max(CASE WHEN place = (50 * n + 99) / 100 THEN ms END),
    max(CASE WHEN place = (95 * n + 99) / 100 THEN ms END)
FROM (
    SELECT tool, ms, row_number() OVER (PARTITION BY tool ORDER BY ms) AS place, count(*) OVER (PARTITION BY tool) AS n
    FROM (
        SELECT json_extract(attributes, '$.tool.name') AS tool,
            (julianday(end_time) - julianday(start_time)) * 86400000 AS ms  -- which SQLite keeps to the millisecond
        FROM spans
        WHERE span_kind = 'TOOL' AND {FINISHED}
    )
)
GROUP BY tool
""",
        "SELECT tool, n, p50, p95 FROM answer",
        within=0.03,
    ),
    BINS_NAME: Question(
        f"""
SELECT tool, min(CAST(round(confidence * 1e9) * 10 / 1e9 AS INTEGER), 9) AS bin, count(*),
    avg(CASE WHEN agreed = 0.5 THEN latest ELSE agreed > 0.5 END), avg(confidence)
FROM (
    SELECT json_extract(s.attributes, '$.tool.name') AS tool, agreed, latest,
        json_extract(s.attributes, '$.tooltrace.confidence') AS confidence
    FROM (
        SELECT span_rowid, avg(score) AS agreed, max(updated_at), score AS latest
        FROM span_annotations
        WHERE name = 'correct'
        GROUP BY span_rowid
    )
    JOIN spans AS s ON s.id = span_rowid
    WHERE span_kind = 'TOOL' AND {FINISHED}
)
WHERE confidence IS NOT NULL
GROUP BY 1, 2
""",
        "SELECT * FROM answer",
    ),
}


def require_same(theirs: Sequence[tuple[Any, ...]], name: str, answer: QueryResult) -> None:
    """Raises ValueError where the answers to the question ``name`` differ."""
    question = QUESTIONS[name]
    shaped = duckdb.from_arrow(answer.arrow()).query("answer", question.shape)
    ours = shaped.fetchall() if shaped else []
    if not ours or len(ours) != len(theirs):
        raise ValueError(f"{name}: {len(ours)} rows here and {len(theirs)} there")
    for mine, other in zip(sorted(ours, key=_words), sorted(theirs, key=_words), strict=True):
        if not all(map(partial(_agree, question.within), mine, other)):
            raise ValueError(f"{name}: {mine} here and {other} there")


def _words(row: tuple[Any, ...]) -> tuple[str, ...]:
    """The group that a row is of: its first columns."""
    return tuple(f"{value:g}" if isinstance(value, float | int) else str(value) for value in row[:3])


def _agree(within: float, one: Any, other: Any) -> bool:
    if isinstance(one, str) or one is None:
        return bool(one == other)
    return isclose(one, other, rel_tol=within)


def make_phoenix(rival: Path, store: Path) -> None:
    """The SQLite file, filled from ``store`` as Phoenix fills it from spans."""
    with open_reader(store) as con, closing(sqlite.connect(rival)) as filled:
        filled.executescript(PHOENIX)
        for statement, rows in TO_PHOENIX.items():
            cursor = con.execute(rows)
            while some := cursor.fetchmany(20_000):
                filled.executemany(statement, some)
        filled.commit()
        filled.execute("PRAGMA wal_checkpoint(TRUNCATE)")
