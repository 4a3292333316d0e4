-- Which spans surround an attempt in its trace?
--
-- One row per span: the parent of the attempt ('parent'), its children ('child'), and the spans with the same parent
-- ('sibling', at most the 50 that started nearest in time). A row has `tool` if it is an attempt. It has `span` if it is a
-- span of another library, such as an agent run, a model response or a request.
--
-- group: pages
-- parameters:
--   span_id  text = NULL  the span id of the attempt
-- columns:
--   relation     text   parent, child or sibling
--   tool         text   name of the tool; NULL for a span that is not a tool call
--   span         text   name of a span that is not a tool call; NULL for an attempt
--   scope        text   instrumentation scope that created the span
--   status       text   status that the tool reported, or NULL; for a span that is not a tool call: ok or error
--   ending       text   how the attempt ended
--   code         text   error code
--   started_at   time   start time
--   duration_ms  ms     time in the tool, or duration of the span
--   attempt      count  1 for the first execution of the call
--   call_id      text   id of the call
--   span_id      text   id of the span
-- important: started_at, tool, relation, scope, status, call_id, duration_ms
-- next: show {call_id}
WITH target AS (
    SELECT trace_id, span_id, parent_span_id, started_at FROM attempts WHERE span_id = $span_id
),
traced AS (
    SELECT trace_id, parent_span_id, tool, NULL AS span, NULL AS scope, status, ending, code, started_at, duration_ms,
        attempt, call_id, span_id
    FROM attempts
    WHERE trace_id IN (SELECT trace_id FROM target)
    UNION ALL
    SELECT trace_id, parent_span_id, NULL, name, scope, status, NULL, NULL, started_at, duration_ms, NULL, NULL, span_id
    FROM spans
    WHERE trace_id IN (SELECT trace_id FROM target)
),
related AS (
    SELECT
        CASE WHEN c.span_id = t.parent_span_id THEN 'parent' WHEN c.parent_span_id = t.span_id THEN 'child' ELSE 'sibling' END
            AS relation,
        abs(epoch_us(c.started_at) - epoch_us(t.started_at)) AS distance_us,
        c.tool, c.span, c.scope, c.status, c.ending, c.code, c.started_at, c.duration_ms, c.attempt, c.call_id, c.span_id
    FROM traced AS c
    JOIN target AS t ON c.trace_id = t.trace_id AND c.span_id <> t.span_id
    WHERE c.span_id = t.parent_span_id OR c.parent_span_id = t.span_id OR c.parent_span_id = t.parent_span_id
)
SELECT relation, tool, span, scope, status, ending, code, started_at, duration_ms, attempt, call_id, span_id
FROM (SELECT *, row_number() OVER (PARTITION BY relation ORDER BY distance_us, span_id) AS nearness FROM related)
WHERE relation <> 'sibling' OR nearness <= 50
ORDER BY CASE relation WHEN 'parent' THEN 1 WHEN 'child' THEN 2 ELSE 3 END, started_at, span_id
