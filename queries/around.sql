-- What was around an attempt?
--
-- The neighbouring spans in the trace of the attempt: its parent ('parent'), its children ('child'), and the spans with the
-- same parent ('sibling', the 50 that started nearest to it in time). An attempt has a tool; a span of another library (an
-- agent's turn, a model's response, a request) has a name instead.
--
-- alias: trace_neighbors
-- parameters:
--   span_id  text = NULL  the attempt
-- columns:
--   relation     text   parent, child or sibling
--   tool         text   name of the tool; NULL for a span that is not a tool call
--   span         text   name of a span that is not a tool call; NULL for an attempt
--   scope        text   the instrumentation that made that span
--   status       text   what the tool reported, or NULL; for a span that is not a tool call: ok or error
--   ending       text   how the attempt ended
--   code         text   the tool's code
--   started_at   time   start
--   duration_ms  ms     time in the tool, or of the span
--   attempt      count  1 for the first execution of the call
--   call_id      text   the call
--   span_id      text   the span's id
WITH this AS (
    SELECT trace_id, span_id, parent_span_id, started_at FROM attempts WHERE span_id = $span_id
),
traced AS (
    SELECT trace_id, parent_span_id, tool, NULL AS span, NULL AS scope, status, ending, code, started_at, duration_ms,
        attempt, call_id, span_id
    FROM attempts
    WHERE trace_id IN (SELECT trace_id FROM this)
    UNION ALL
    SELECT trace_id, parent_span_id, NULL, name, scope, status, NULL, NULL, started_at, duration_ms, NULL, NULL, span_id
    FROM spans
    WHERE trace_id IN (SELECT trace_id FROM this)
),
near AS (
    SELECT
        CASE WHEN c.span_id = t.parent_span_id THEN 'parent' WHEN c.parent_span_id = t.span_id THEN 'child' ELSE 'sibling' END
            AS relation,
        abs(epoch_us(c.started_at) - epoch_us(t.started_at)) AS away_us,
        c.tool, c.span, c.scope, c.status, c.ending, c.code, c.started_at, c.duration_ms, c.attempt, c.call_id, c.span_id
    FROM traced AS c
    JOIN this AS t ON c.trace_id = t.trace_id AND c.span_id <> t.span_id
    WHERE c.span_id = t.parent_span_id OR c.parent_span_id = t.span_id OR c.parent_span_id = t.parent_span_id
)
SELECT relation, tool, span, scope, status, ending, code, started_at, duration_ms, attempt, call_id, span_id
FROM (SELECT *, row_number() OVER (PARTITION BY relation ORDER BY away_us, span_id) AS place FROM near)
WHERE relation <> 'sibling' OR place <= 50
ORDER BY CASE relation WHEN 'parent' THEN 1 WHEN 'child' THEN 2 ELSE 3 END, started_at, span_id
