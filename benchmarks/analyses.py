"""What the named queries cost over a long history, and the same questions put to another tracer's store.

The history is made up, but shaped like one: 30 days of 12 tools that change version, go down and come back; retries
with growing waits; confidences, half of them in steps of a tenth; labels, gates, messages and sources. The other store
is the SQLite file of Arize Phoenix 20.26.1, filled with the same attempts in the form in which Phoenix keeps the spans
that tooltrace sends it. A question counts only where both stores give the same answer.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from math import isclose
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, cast

import duckdb
from rich.console import Console
from rich.progress import track

import tooltrace as tt
from tooltrace.queries import catalogue
from tooltrace.store.database import attach, connect, detach
from tooltrace.store.lease import reading, settle
from tooltrace.store.migrations import migrate
from tooltrace.store.paths import StorePaths
from tooltrace.store.schema import STORE

try:
    import sqlean as sqlite  # the build that Phoenix brings (pip install arize-phoenix-sqlean): much faster at JSON
except ImportError:
    import sqlite3 as sqlite

SQLITE = f"SQLite {sqlite.sqlite_version}"
RIVAL = "Phoenix 20.26.1"
AIM_MS = 2000.0
AIMS_MS = {"failure_rate": 300.0, "errors": 300.0, "latency": 300.0}
LIMIT_SECONDS = 600.0
"""A query that has not answered after so long is stopped, and said to have been."""
LONG_SECONDS = 10.0
"""One that takes longer is asked once."""
DAYS = 30

DRAWS = """
CREATE TEMP MACRO draw(of, salt) AS hash(hash(of, salt));
CREATE TEMP MACRO chance(of, salt) AS (draw(of, salt) >> 11) / 9007199254740992.0;
"""
"""64 bits, and a number in [0, 1), always the same for the same ``of`` and ``salt``. One ``hash`` is not enough: two
salts then differ in fixed bits only, and what they draw goes hand in hand."""

ATTEMPTS = """
INSERT INTO attempts BY NAME
WITH placed AS (  -- 40 attempts are 36 calls: 33 that ran once, 2 that ran twice, 1 that ran three times
    SELECT n, n // 40 * 36 + least(n % 40, 33 + (n % 40 - 33) // 2, 35) AS call,
        [1, 2, 1, 2, 1, 2, 3][greatest(n % 40 - 32, 1)] AS attempt,
        CASE WHEN n % 40 < 33 THEN 1 WHEN n % 40 < 37 THEN 2 ELSE 3 END AS attempts
    FROM range($rows) AS numbers(n)
),
timed AS (
    SELECT *, call * $days / ($rows * 0.9) AS day, CAST(floor(12 * pow(chance(call, 1), 1.5)) AS INTEGER) AS kind,
        exp(4.2 + 0.9 * sqrt(-2 * ln(1 - chance(n, 2))) * cos(6.283185307179586 * chance(n, 3))) AS duration_ms
    FROM placed
),
ended AS (
    SELECT *,
        CASE WHEN n % 40 = 33 AND chance(call, 4) < 0.2 THEN 'paused'
             WHEN attempts > 1 OR chance(n, 4) > 0.02 THEN NULL
             ELSE ['cancelled', 'abandoned', 'declined', 'expired'][1 + n % 4] END AS cut,
        attempt < attempts OR chance(n, 5) < CASE
            WHEN day BETWEEN 5 + kind AND 5.05 + kind THEN 0.95  -- it is down
            WHEN kind = 3 AND day > 20 THEN 0.25                 -- a version made it worse
            ELSE 0.02 + 0.01 * kind END AS failed
    FROM timed
),
told AS (
    SELECT *, cut IS NULL AND failed AS error,
        ['TIMEOUT', 'RATE_LIMIT', 'SERVICE_UNAVAILABLE', 'NOT_FOUND', 'INVALID_PARAM'][
            1 + CAST(floor((CASE WHEN attempts > 1 THEN 3 ELSE 5 END) * chance(n, 6)) AS INTEGER)] AS cause,
        0.3 + 0.7 * sqrt(chance(n, 7)) AS sure
    FROM ended
)
SELECT
    ['search', 'fetch', 'sql', 'python', 'read_file', 'grep', 'weather', 'mail', 'calendar', 'browse', 'translate',
        'deploy'][kind + 1] AS tool,
    '1.' || CAST(floor(day / 10) AS INTEGER) AS tool_version,
    'function' AS tool_type,
    printf('call_%016x', draw(call, 8)) AS call_id,
    attempt,
    printf('%016x%016x', draw(call // 40, 9), draw(call // 40, 10)) AS trace_id,
    printf('%016x', draw(n, 11)) AS span_id,
    printf('%016x', draw(call // 40, 12)) AS parent_span_id,
    CASE WHEN call // 40 % 20 > 0 THEN 'conversation_' || call // 40 END AS conversation_id,
    ['planner', 'coder', 'researcher'][1 + call // 40 % 3] AS agent,
    $start + to_microseconds(CAST(day * 86400e6 + (pow(3, attempt - 1) - 1) * 1e6 * (1 + chance(n, 13)) AS BIGINT))
        AS started_at,
    duration_ms,
    CASE WHEN kind = 9 THEN duration_ms / 4 END AS first_item_ms,
    CASE WHEN cut IS NULL THEN CASE WHEN error THEN 'error' WHEN chance(n, 14) < 0.05 THEN 'partial' ELSE 'success' END
        END AS status,
    coalesce(cut, CASE WHEN error AND n % 3 = 0 THEN 'raised' ELSE 'returned' END) AS ending,
    CASE WHEN error THEN cause END AS code,
    CASE WHEN error AND n % 3 = 0 THEN 'httpx.' || cause END AS error_type,
    CASE WHEN error THEN printf('no answer from host-%d after %d ms: request %08x, /srv/data/%d.json',
        n % 9, CAST(duration_ms AS INTEGER), draw(n, 15) % 4294967296, n % 1000) END AS error_message,
    CASE WHEN error AND chance(n, 16) < 0.9 THEN cause NOT IN ('NOT_FOUND', 'INVALID_PARAM') END AS retryable,
    CASE WHEN cut IS NULL AND NOT error AND chance(n, 17) > 0.15
        THEN CASE WHEN kind % 2 = 0 THEN round(sure, 1) ELSE sure END END AS confidence,
    CASE WHEN cut IS NULL AND NOT error AND n % 2 = 0
        THEN '{"exact_title":0.25' || CASE WHEN n % 3 = 0 THEN ',"recent":0.1}' ELSE '}' END END AS signals,
    CASE WHEN cut IS NULL THEN CASE WHEN error AND attempt < attempts THEN 'retry' WHEN sure > 0.8 THEN 'continue'
        WHEN sure > 0.5 THEN 'human_review' WHEN n % 2 = 0 THEN 'ask_user' ELSE 'stop' END END AS next_action,
    CASE WHEN cut IS NULL AND NOT error THEN n % 50 || ' results' END AS "text",
    '{"query":"question ' || n % 5000 || '"}' AS arguments,
    CASE WHEN cut IS NULL AND NOT error THEN '{"rows":[' || n % 50 || ']}' END AS result,
    CASE WHEN error AND cause = 'RATE_LIMIT' THEN '{"retry_after_s":' || n % 4 + 1 || '}' END AS stats,
    '{"region":"' || ['eu', 'us', 'asia'][1 + n % 3] || '"}' AS attributes,
    CASE WHEN n % 10 = 0 THEN 'failure_words' ELSE 'tool_response' END AS rule,
    CASE WHEN n % 10 = 0 THEN 'heuristic' ELSE 'certain' END AS rule_grade,
    CASE WHEN cut IS NULL AND NOT error AND chance(n, 18) < 0.4 THEN '[{"type":"' || ['document', 'api'][1 + n % 2]
        || CASE WHEN n % 7 > 0 THEN '","id":"source_' || draw(n, 19) % 200 ELSE '' END || '"}]' END AS sources,
    'agent' AS service,
    'host_' || call // 40 % 4 AS host,
    1000 + call // 40 % 16 AS pid
FROM told
"""

REST = """
INSERT INTO outcomes BY NAME
SELECT call_id, CASE WHEN chance(span_id, 1) < 0.5 THEN span_id END AS span_id, labeler,
    chance(span_id, 2) < coalesce(confidence, 0.6) - CASE WHEN tool < 'g' THEN 0.2 ELSE 0 END AS correct,
    started_at + to_seconds(60 * length(labeler)) AS labeled_at
FROM attempts, (VALUES ('human'), ('second_look')) AS labelers(labeler)
WHERE status <> 'error' AND chance(span_id, 3) < CASE labeler WHEN 'human' THEN 0.22 ELSE 0.01 END;

INSERT INTO messages BY NAME
SELECT call_id, span_id, 'openai' AS style, words AS "text", sha256(words) AS sha256, length(words) AS "length",
    starts_with(words, 'Error') AS "error", started_at + to_microseconds(CAST(duration_ms * 1000 AS BIGINT)) AS "at"
FROM (
    SELECT *, CASE WHEN status <> 'error' THEN "text" WHEN chance(span_id, 4) < 0.03 THEN 'Done.'
        ELSE 'Error ' || code || ': no answer' END AS words
    FROM attempts
    WHERE status IS NOT NULL AND chance(span_id, 5) < 0.5
);

INSERT INTO gate_events BY NAME
SELECT a.call_id, a.span_id, 'confirmation' AS kind, a.started_at AS asked_at, 'ann' AS answered_by,
    CASE a.ending WHEN 'paused' THEN 'approved' ELSE a.ending END AS decision,
    a.started_at + to_seconds(CAST(300 * chance(a.span_id, 6) AS INTEGER)) AS answered_at,
    b.span_id AS resumed_span_id
FROM attempts AS a LEFT JOIN attempts AS b ON b.call_id = a.call_id AND b.attempt = 2 AND a.ending = 'paused'
WHERE a.ending IN ('paused', 'declined', 'expired');
"""

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


class Timing(NamedTuple):
    """Milliseconds to open and answer, in the median; or why there is no answer."""

    ms: float | None = None
    why_not: str = ""

    def __str__(self) -> str:
        return self.why_not if self.ms is None else f"{self.ms:,.0f} ms"


class Asked(NamedTuple):
    """One row of the table: a query, and what it is grouped by."""

    name: str
    by: tuple[str, ...] | None = None

    def __str__(self) -> str:
        grouped = f" by {', '.join(self.by)}" if self.by else ""
        return f"`{self.name}`{grouped}" if self.name != BINS_NAME else self.name


Measured = dict[tuple[str, Any], Timing]


def table(*, quick: bool) -> list[str]:
    """The table, as Markdown, of every query of the catalogue that needs nothing to be given."""
    small, large = (50_000, 200_000) if quick else (1_000_000, 10_000_000)
    named = [name for name, query in catalogue().items() if not any(p.required for p in query.heading.parameters)]
    asked = [*map(Asked, named), Asked("failure_rate", ("tool", "day")), Asked(BINS_NAME)]
    with tempfile.TemporaryDirectory() as folder:
        steps = _measure(Path(folder), small, large, asked)
        total = 2 * len(asked) + len(QUESTIONS)
        measured: Measured = dict(track(steps, "asking", total=total, console=Console(stderr=True)))
    return [
        f"| query | {small:,} | {large:,} | growth | aim, 1,000,000 | | SQLite of {RIVAL}, {small:,} | × ours |",
        "|---|---:|---:|---:|---:|---|---:|---:|",
        *(_row(one, measured, judge=not quick) for one in asked),
    ]


def _measure(folder: Path, small: int, large: int, asked: Sequence[Asked]) -> Iterator[tuple[tuple[str, Any], Timing]]:
    """One step after another; only what is asked next lies on the disk."""
    store, rival = folder / "history.duckdb", folder / "phoenix.db"
    apart(make_history, store, small)
    for one in asked:
        yield ("small", one), timed(ask, store, one)
    apart(make_phoenix, rival, store)
    for name in QUESTIONS:
        yield ("rival", name), timed(ask_phoenix, rival, name, store)
    rival.unlink()
    store.unlink()
    apart(make_history, store, large)
    for one in asked:
        yield ("large", one), timed(ask, store, one)


def _row(one: Asked, measured: Measured, *, judge: bool) -> str:
    small, large = measured["small", one], measured["large", one]
    rival = measured.get(("rival", one.name)) if one.by is None else None
    aim = None if one.name == BINS_NAME else AIMS_MS.get(one.name, AIM_MS)
    cells = [
        str(one),
        str(small),
        str(large),
        _times(large, small),
        f"{aim:,.0f} ms" if aim else "",
        "" if aim is None or not judge else "met" if small.ms is not None and small.ms < aim else "**not yet**",
        str(rival) if rival else "",
        _times(rival, small) if rival else "",
    ]
    return f"| {' | '.join(cells)} |"


def _times(one: Timing, other: Timing) -> str:
    return f"{one.ms / other.ms:.1f}" if one.ms is not None and other.ms else ""


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(…)`` in a process of its own. Raises multiprocessing.TimeoutError, and the process is stopped."""
    # what DuckDB draws while it works goes to stderr: the table alone is on stdout
    with multiprocessing.get_context("spawn").Pool(1, initializer=os.dup2, initargs=(2, 1)) as pool:
        return pool.apply_async(function, arguments).get(LIMIT_SECONDS)


def timed(function: Callable[..., float], *arguments: Any) -> Timing:
    """What ``function`` measures, in a process of its own."""
    try:
        return cast(Timing, apart(_tried, function, arguments))
    except multiprocessing.TimeoutError:
        return Timing(why_not=f"not in {LIMIT_SECONDS:,.0f} s")


def _tried(function: Callable[..., float], arguments: tuple[Any, ...]) -> Timing:
    """In the other process: not every exception can be sent from one to the other."""
    try:
        return Timing(function(*arguments))
    except Exception as error:
        sys.stderr.write(f"{function.__name__}{arguments}: {error}\n")
        return Timing(why_not=type(error).__name__)


def median_ms(run: Callable[[], Any]) -> float:
    """Median of five runs; one that takes long is not repeated."""
    runs: list[float] = []
    while len(runs) < 5 and sum(runs) < LONG_SECONDS:
        before = perf_counter()
        run()
        runs.append(perf_counter() - before)
    return statistics.median(runs) * 1e3


def ask(store: Path, one: Asked) -> float:
    """Milliseconds to open the store and have every row of the answer."""
    return median_ms(lambda: _answer(store, one).fetchall())


def _answer(store: Path, one: Asked) -> duckdb.DuckDBPyRelation:
    if one.name == BINS_NAME:
        with reading(store) as con:
            return settle(con, BINS)
    return tt.query(one.name, store=store, by=one.by)


def ask_phoenix(rival: Path, name: str, store: Path) -> float:
    """The same of the SQLite file. Raises ValueError where ``store`` gives another answer."""

    def run() -> list[tuple[Any, ...]]:
        with closing(sqlite.connect(f"{rival.as_uri()}?mode=ro", uri=True)) as con:
            return list(con.execute(QUESTIONS[name].sqlite))

    ms = median_ms(run)
    require_same(run(), name, _answer(store, Asked(name)))
    return ms


def require_same(theirs: Sequence[tuple[Any, ...]], name: str, answer: duckdb.DuckDBPyRelation) -> None:
    """Raises ValueError where the answers to the question ``name`` differ."""
    question = QUESTIONS[name]
    shaped = answer.query("answer", question.shape)
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


def make_history(store: Path, rows: int) -> None:
    """A store of ``rows`` attempts, the same every time but that the last of them was just now."""
    con = connect()
    paths = StorePaths.of(store)
    attach(con, paths, read_only=False)
    migrate(con, str(store))
    con.execute(f"USE {STORE}")
    con.execute(DRAWS)
    start = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=DAYS)
    con.execute(ATTEMPTS, {"rows": rows, "start": start, "days": float(DAYS)})
    con.execute(REST)
    con.execute(f"CHECKPOINT {STORE}")
    detach(con)
    con.close()


def make_phoenix(rival: Path, store: Path) -> None:
    """The SQLite file, filled from ``store`` as Phoenix fills it from spans."""
    with reading(store) as con, closing(sqlite.connect(rival)) as filled:
        filled.executescript(PHOENIX)
        for statement, rows in TO_PHOENIX.items():
            cursor = con.execute(rows)
            while some := cursor.fetchmany(20_000):
                filled.executemany(statement, some)
        filled.commit()
        filled.execute("PRAGMA wal_checkpoint(TRUNCATE)")
