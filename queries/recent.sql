-- Which attempts ended most recently?
--
-- One row per attempt, the one that ended last first. The window applies to the end time, because an attempt is recorded
-- when it ends: new attempts are found however long they ran.
--
-- group: calls (first)
-- parameters:
--   since   timestamp = NULL  attempts that ended at this time or later
--   until   timestamp = NULL  attempts that ended before this time
--   tool    text = NULL       this tool only
--   status  text = NULL       this status only: success, partial or error
--   limit   integer = 20      maximum number of rows
-- columns:
--   ended_at      time   start time plus the time in the tool and in the consumer of a stream
--   tool          text   name of the tool
--   status        text   status that the tool reported; NULL if it reported none
--   ending        text   how the attempt ended
--   code          text   error code
--   duration_ms   ms     time in the tool
--   attempt       count  1 for the first execution of the call
--   call_id       text   id of the call
--   message       text   error message
--   conversation  text   conversation of the call
--   agent         text   agent that made the call
--   span_id       text   id of the attempt
-- content: message
-- important: ended_at, tool, status, call_id, duration_ms, code, message
-- verdict: top The last attempt to end is one of {tool}, at {ended_at}: {ending}.
-- next: show {call_id}
WITH ended AS (
    SELECT
        span_id,
        started_at,
        attempt_end(started_at, duration_ms, consumer_ms) AS ended_at
    FROM attempts
    WHERE ($tool IS NULL OR tool = $tool)
      AND ($status IS NULL OR status = $status)
),
-- few columns of all attempts; the others are read of the rows that are shown
latest AS (
    SELECT span_id, started_at, ended_at
    FROM ended
    WHERE ($since IS NULL OR ended_at >= $since)
      AND ($until IS NULL OR ended_at < $until)
    ORDER BY ended_at DESC, span_id
    LIMIT $limit
)
SELECT
    l.ended_at AS ended_at,
    a.tool AS tool,
    a.status AS status,
    a.ending AS ending,
    a.code AS code,
    a.duration_ms AS duration_ms,
    a.attempt AS attempt,
    a.call_id AS call_id,
    a.error_message AS message,
    a.conversation_id AS conversation,
    a.agent AS agent,
    a.span_id AS span_id
-- a span that was delivered twice has two rows, and each would be joined to both
FROM (SELECT DISTINCT span_id, started_at, ended_at FROM latest) AS l
JOIN attempts AS a ON a.span_id = l.span_id AND a.started_at = l.started_at
ORDER BY ended_at DESC, span_id
LIMIT $limit
