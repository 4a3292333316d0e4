-- Which calls did a conversation make, with what arguments and results?
--
-- One row per call, in order of the first start: its last attempt. Two conversations are compared by these rows
-- (`tooltrace diff`). Without `conversation`, the rows are all calls of the store, such as those of one test.
--
-- group: pages
-- parameters:
--   conversation  text = NULL      id of the conversation; of calls without one, that of the trace
--   limit         integer = 20000  maximum number of rows
-- columns:
--   started_at    time   start of the first attempt
--   tool          text   name of the tool
--   tool_version  text   version of the tool
--   call_id       text   id of the call
--   attempts      count  number of attempts
--   status        text   status of the last attempt
--   ending        text   how the last attempt ended
--   code          text   error code of the last attempt
--   error         text   error message of the last attempt
--   duration_ms   ms     time in the tool, over all attempts
--   arguments     json   arguments of the last attempt
--   result        json   result of the last attempt
--   answer        text   result of the last attempt as text
--   span_id       text   id of the last attempt
--   ended_at      time   end of the attempt that ended last
--   truncated     flag   true where a field of the last attempt was longer than the limit
--   redacted      flag   true where a secret was removed from the last attempt
-- content: error, arguments, result, answer
-- important: started_at, tool, status, code, duration_ms, attempts, call_id
-- next: show {call_id}
WITH calls_of AS (
    SELECT
        tool,
        call_id,
        min(started_at) AS started_at,
        count(*) AS attempts,
        sum(duration_ms) AS duration_ms,
        max(attempt_end(started_at, duration_ms, consumer_ms)) AS ended_at,
        arg_max(span_id, attempt_order(attempt, started_at, span_id)) AS span_id
    FROM attempts
    WHERE $conversation IS NULL OR draw_key(conversation_id, trace_id) = $conversation
    GROUP BY tool, call_id, first_span_id
)
SELECT
    c.started_at,
    c.tool,
    a.tool_version,
    c.call_id,
    c.attempts,
    a.status,
    a.ending,
    a.code,
    a.error_message AS error,
    c.duration_ms,
    a.arguments,
    a.result,
    a."text" AS answer,
    c.span_id,
    c.ended_at,
    a.truncated,
    a.redacted
FROM calls_of AS c
JOIN attempts AS a ON a.span_id = c.span_id
WHERE $conversation IS NULL OR draw_key(a.conversation_id, a.trace_id) = $conversation
ORDER BY c.started_at, c.span_id
LIMIT $limit
