"""A made-up history in which one tool broke: 28 days of seven tools, 4,480 calls.

``crm_lookup`` fails 2 % of its calls. Since version 2.4.0, four days before the end, it fails all of them with "401 token
expired" within a millisecond. ``web_search`` is slow and fails 3 % as always. ``fetch_page`` is retried, ``summarize`` and
``classify`` state a confidence, and the results of ``summarize`` are partly labelled.

``python -m benchmarks.story FILE`` writes the store.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.history import DRAWS
from tooltrace.store.database import hashes
from tooltrace.store.database.connection import attach, connect, detach
from tooltrace.store.database.migrations import migrate
from tooltrace.store.database.schema import STORE
from tooltrace.store.files.paths import StorePaths

DAYS = 28
CALLS = 4480
CALLS_OF_A_CONVERSATION = 8
BROKEN_TOOL, BROKEN_VERSION, LAST_VERSION = "crm_lookup", "2.4.0", "2.3.1"
BROKEN_CODE, BROKEN_MESSAGE = "PERMISSION_DENIED", "401 token expired"
BROKEN_DAYS = 4.0
"""Days before the end at which the version changed."""
SLOW_TOOL = "web_search"

_ATTEMPTS = """
INSERT INTO attempts BY NAME
WITH calls AS (
    SELECT n AS call, n // $size AS conversation,
        $start + to_microseconds(CAST((n // $size + chance(n // $size, 1)) * $size * $days * 86400e6 / $calls AS BIGINT)
            + (n % $size) * 20000000) AS asked_at,
        chance(n, 2) AS pick, chance(n, 3) AS luck,
        sqrt(-2 * ln(1 - chance(n, 4))) * cos(6.283185307179586 * chance(n, 5)) AS normal
    FROM range($calls) AS numbers(n)
),
chosen AS (
    SELECT *,
        CASE WHEN pick < 0.26 THEN 'crm_lookup' WHEN pick < 0.52 THEN 'web_search' WHEN pick < 0.68 THEN 'fetch_page'
            WHEN pick < 0.80 THEN 'calculator' WHEN pick < 0.92 THEN 'summarize' WHEN pick < 0.97 THEN 'classify'
            ELSE 'send_mail' END AS tool,
        asked_at >= $broken_at AS is_broken
    FROM calls
),
decided AS (
    SELECT *,
        CASE tool WHEN 'crm_lookup' THEN CASE WHEN is_broken THEN 1.0 ELSE 0.02 END WHEN 'web_search' THEN 0.03
            WHEN 'fetch_page' THEN 0.04 WHEN 'summarize' THEN 0.01 WHEN 'send_mail' THEN 0.02 ELSE 0 END AS risk
    FROM chosen
),
-- fetch_page is retried at most twice after a passing failure
tries AS (
    SELECT *, unnest(range(1, 1 + CASE WHEN tool <> 'fetch_page' THEN 1 WHEN luck < risk THEN 3
        WHEN luck < 0.16 THEN 2 ELSE 1 END)) AS attempt,
        CASE WHEN tool <> 'fetch_page' THEN 1 WHEN luck < risk THEN 3 WHEN luck < 0.16 THEN 2 ELSE 1 END AS attempts
    FROM decided
),
ended AS (
    SELECT *, luck < risk OR attempt < attempts AS failed FROM tries
)
SELECT
    tool,
    CASE tool WHEN 'crm_lookup' THEN CASE WHEN is_broken THEN '2.4.0' ELSE '2.3.1' END ELSE '1.2.0' END AS tool_version,
    'function' AS tool_type,
    printf('call_%016x', draw(call, 8)) AS call_id,
    attempt,
    printf('%016x%016x', draw(conversation, 9), draw(conversation, 10)) AS trace_id,
    printf('%016x', draw(call * 4 + attempt, 11)) AS span_id,
    'conversation_' || conversation AS conversation_id,
    'assistant' AS agent,
    asked_at + to_seconds(2 * (attempt - 1)) AS started_at,
    CASE tool WHEN 'crm_lookup' THEN CASE WHEN is_broken THEN 1.0 + 0.2 * chance(call, 6) ELSE 180 * exp(0.3 * normal) END
        WHEN 'web_search' THEN CASE WHEN failed THEN 10000.0 ELSE 4200 * exp(0.4 * normal) END
        WHEN 'fetch_page' THEN 600 * exp(0.5 * normal) WHEN 'calculator' THEN 0.4 * exp(0.2 * normal)
        WHEN 'send_mail' THEN 350 * exp(0.3 * normal) ELSE 1500 * exp(0.4 * normal) END AS duration_ms,
    CASE WHEN failed THEN 'error' ELSE 'success' END AS status,
    CASE WHEN failed THEN 'raised' ELSE 'returned' END AS ending,
    CASE WHEN NOT failed THEN NULL WHEN tool = 'crm_lookup' AND is_broken THEN 'PERMISSION_DENIED'
        WHEN tool = 'crm_lookup' THEN 'NOT_FOUND' WHEN tool IN ('web_search', 'fetch_page') THEN 'TIMEOUT'
        ELSE 'SERVICE_UNAVAILABLE' END AS code,
    CASE WHEN NOT failed THEN NULL WHEN tool = 'crm_lookup' AND is_broken THEN 'AuthError'
        WHEN tool = 'crm_lookup' THEN 'LookupError' ELSE 'TimeoutError' END AS error_type,
    CASE WHEN NOT failed THEN NULL
        WHEN tool = 'crm_lookup' AND is_broken THEN '401 token expired'
        WHEN tool = 'crm_lookup' THEN 'no customer ' || 10000 + call
        WHEN tool = 'web_search' THEN 'no answer from search-' || call % 4 || ' within 10000 ms'
        ELSE 'no answer from https://host-' || call % 9 || '.example/' || call END AS error_message,
    CASE WHEN failed THEN NOT (tool = 'crm_lookup') END AS retryable,
    CASE WHEN NOT failed AND tool IN ('summarize', 'classify') THEN 0.3 + 0.7 * sqrt(chance(call, 7)) END AS confidence,
    CASE WHEN NOT failed THEN 'ok ' || call END AS "text",
    '{"query":"question ' || call % 500 || '"}' AS arguments,
    'tool_response' AS rule,
    'certain' AS rule_grade,
    'assistant' AS service,
    'host_1' AS host,
    1000 AS pid
FROM ended
"""

_LABELS = """
INSERT INTO outcomes BY NAME
SELECT call_id, span_id, 'human' AS labeler, chance(span_id, 2) < confidence - 0.1 AS correct,
    started_at + to_seconds(3600) AS labeled_at
FROM attempts
WHERE tool = 'summarize' AND confidence IS NOT NULL AND chance(span_id, 3) < 0.4
"""


def make_story(store: Path, end: datetime | None = None) -> datetime:
    """Write the store, with the last call shortly before ``end`` (default: now), and return when the tool broke, UTC."""
    end = (end or datetime.now(UTC)).replace(tzinfo=None)
    broken_at = end - timedelta(days=BROKEN_DAYS)
    con = connect()
    paths = StorePaths.of(store)
    attach(con, paths, read_only=False)
    migrate(con, str(store))
    con.execute(f"USE {STORE}")
    con.execute(DRAWS)
    times = {"start": end - timedelta(days=DAYS, minutes=5), "broken_at": broken_at}
    counts = {"calls": CALLS, "size": CALLS_OF_A_CONVERSATION, "days": float(DAYS)}
    con.execute(_ATTEMPTS, {**times, **counts})
    hashes.refresh(con)
    con.execute(_LABELS)
    con.execute(f"CHECKPOINT {STORE}")
    detach(con)
    con.close()
    return broken_at


if __name__ == "__main__":
    make_story(Path(sys.argv[1]))
