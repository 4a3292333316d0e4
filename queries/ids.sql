-- What has an id: a call, a span, a conversation or a trace?
--
-- One row per thing whose id is `id`. If there is none, one row per thing whose id starts with it. The span id of an attempt
-- is an id of its call.
--
-- group: pages
-- parameters:
--   id     text          an id, or the start of one
--   limit  integer = 20  maximum number of rows
-- columns:
--   kind        text   call, span (of another library), conversation or trace
--   id          text   the whole id: of a call its call id
--   name        text   the tool of the call, or the name of the span
--   exact       flag   whether the whole id was given
--   started_at  time   start of the newest attempt or span of it
--   matches     count  rows, without the limit
-- next: show {id}
WITH found AS (
    -- not one condition with OR: DuckDB skips the blocks of the table without such ids only for each alone
    SELECT 'call' AS kind, call_id AS id, tool AS name, call_id = $id AS exact, started_at
    FROM attempts
    WHERE starts_with(call_id, $id)
    UNION ALL
    SELECT 'call' AS kind, call_id AS id, tool AS name, span_id = $id AS exact, started_at
    FROM attempts
    WHERE starts_with(span_id, $id) AND NOT starts_with(call_id, $id)
    UNION ALL
    SELECT 'span' AS kind, span_id AS id, name, span_id = $id AS exact, started_at
    FROM spans
    WHERE starts_with(span_id, $id)
    UNION ALL
    SELECT 'conversation' AS kind, conversation_id AS id, NULL AS name, conversation_id = $id AS exact, started_at
    FROM attempts
    WHERE starts_with(conversation_id, $id)
    UNION ALL
    SELECT 'trace' AS kind, trace_id AS id, NULL AS name, trace_id = $id AS exact, started_at
    FROM attempts
    WHERE starts_with(trace_id, $id)
    UNION ALL
    SELECT 'trace' AS kind, trace_id AS id, NULL AS name, trace_id = $id AS exact, started_at
    FROM spans
    WHERE starts_with(trace_id, $id)
),
things AS (
    SELECT kind, id, max(name) AS name, max(CASE WHEN exact THEN 1 ELSE 0 END) AS exact, max(started_at) AS started_at
    FROM found
    GROUP BY kind, id
),
best AS (
    SELECT * FROM things WHERE exact = (SELECT max(exact) FROM things)
)
SELECT kind, id, name, exact = 1 AS exact, started_at, (SELECT count(*) FROM best) AS matches
FROM best
ORDER BY CASE kind WHEN 'call' THEN 0 WHEN 'span' THEN 1 WHEN 'conversation' THEN 2 ELSE 3 END, started_at DESC, id
LIMIT $limit
