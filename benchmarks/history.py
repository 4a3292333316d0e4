"""A made-up history of tool calls, shaped like a real one.

30 days of 12 tools that change version, go down and come back; retries with growing waits; confidences, half of them in
steps of a tenth; labels, gates, messages and sources.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.apart import apart
from tooltrace.store.database import hashes
from tooltrace.store.database.connection import attach, connect, detach
from tooltrace.store.database.migrations import migrate
from tooltrace.store.database.schema import STORE
from tooltrace.store.files.paths import StorePaths

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
with_errors AS (
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
FROM with_errors
"""

REST = """
INSERT INTO outcomes BY NAME
SELECT call_id, CASE WHEN chance(span_id, 1) < 0.5 THEN span_id END AS span_id, labeler,
    chance(span_id, 2) < coalesce(confidence, 0.6) - CASE WHEN tool < 'g' THEN 0.2 ELSE 0 END AS correct,
    started_at + to_seconds(60 * length(labeler)) AS labeled_at
FROM attempts, (VALUES ('human'), ('second_look')) AS labelers(labeler)
WHERE status <> 'error' AND chance(span_id, 3) < CASE labeler WHEN 'human' THEN 0.22 ELSE 0.01 END;

INSERT INTO outcomes BY NAME
SELECT conversation_id, chance(conversation_id, 7) < 0.8 - 0.3 * avg(CASE WHEN status = 'error' THEN 1 ELSE 0 END) AS correct,
    CASE WHEN chance(conversation_id, 8) < 0.1 THEN 0.4 END AS score, 'judge' AS labeler, 'agent' AS labeler_kind,
    'conversation' AS target_kind, max(started_at) AS labeled_at
FROM attempts
WHERE conversation_id IS NOT NULL AND chance(conversation_id, 9) < 0.5
GROUP BY conversation_id;

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
    hashes.refresh(con)
    con.execute(REST)
    con.execute(f"CHECKPOINT {STORE}")
    detach(con)
    con.close()


def make_history_apart(store: Path, rows: int) -> None:
    """Make the history in a process of its own, so that its memory and CPU time are not those of the measurement."""
    apart(_make, store, rows)


def _make(_folder: Path, store: Path, rows: int) -> None:
    make_history(store, rows)
