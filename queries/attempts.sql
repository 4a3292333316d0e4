-- Which attempts match the filters?
--
-- One row per attempt that started in the time range and matches all filters, the most recently ended first: an attempt is
-- recorded when it ends, so new attempts come first however long they ran. To read the next page, pass ended_at and span_id
-- of the last row as `before` and `before_span`; to read all rows down to a known one, pass them as `down_to` and
-- `down_to_span`. In any other order, which `sort` sets, the next page begins after `offset` rows; unknown values come last.
--
-- group: calls
-- parameters:
--   since            timestamp = NULL  attempts that started at this time or later
--   until            timestamp = NULL  attempts that started before this time
--   before           timestamp = NULL  next page: ended_at of the last row
--   before_span      text = NULL       next page: span_id of the last row
--   down_to          timestamp = NULL  ended_at of the last row to return
--   down_to_span     text = NULL       span_id of the last row to return
--   tool             text = NULL       this tool only
--   version          text = NULL       this version of the tool only
--   status           text = NULL       this status only: success, partial or error
--   code             text = NULL       this code only
--   ending           text = NULL       this ending only: returned, raised, cancelled, …
--   rule             text = NULL       results that this rule read only
--   agent            text = NULL       this agent only
--   conversation     text = NULL       this conversation only
--   label            text = NULL       right or wrong: attempts with this judgement only; any: those with a label; none: those without
--   model_saw_error  text = NULL       yes or no: attempts whose message to the model did or did not report an error
--   min_duration_ms  number = NULL     time in the tool of this many milliseconds or more
--   max_duration_ms  number = NULL     time in the tool below this many milliseconds
--   min_confidence   number = NULL     confidence of this value or more
--   max_confidence   number = NULL     confidence below this value
--   text             text = NULL       text in the ids, error message, arguments, answer or result; case-insensitive
--   sort             text = NULL       column to sort by, ascending: ended_at, duration_ms, attempt, confidence, tool, tool_version, status, code, agent, call_id or message; with a minus before it, descending
--   offset           integer = 0       rows to skip, for pages in another order
--   limit            integer = 50      maximum number of rows
-- columns:
--   ended_at      time   start time plus the time in the tool and in the consumer of a stream
--   started_at    time   start time
--   tool          text   name of the tool
--   tool_version  text   version of the tool
--   status        text   status that the tool reported; NULL if it reported none
--   ending        text   how the attempt ended
--   code          text   error code
--   duration_ms   ms     time in the tool
--   attempt       count  1 for the first execution of the call
--   confidence    share  confidence that the tool reported
--   call_id       text   id of the call
--   message       text   error message, else the answer, else the result; first 200 characters
--   conversation  text   conversation of the call
--   agent         text   agent that made the call
--   span_id       text   id of the attempt
-- content: message
-- important: ended_at, tool, status, call_id, duration_ms, code, message
-- next: show {call_id}
WITH judgements AS (
    SELECT span_id, correct FROM judged WHERE $label IS NOT NULL
),
received AS (
    SELECT span_id, arg_max("error", "at") AS is_error
    FROM messages
    WHERE $model_saw_error IS NOT NULL
    GROUP BY span_id
),
ended AS (
    SELECT *,
        attempt_end(started_at, duration_ms, consumer_ms) AS ended_at
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
      AND ($version IS NULL OR tool_version = $version)
      AND ($status IS NULL OR status = $status)
      AND ($code IS NULL OR code = $code)
      AND ($ending IS NULL OR ending = $ending)
      AND ($rule IS NULL OR "rule" = $rule)
      AND ($agent IS NULL OR agent = $agent)
      AND ($conversation IS NULL OR conversation_id = $conversation)
      AND ($label IS NULL
        OR $label = 'right' AND span_id IN (SELECT span_id FROM judgements WHERE correct)
        OR $label = 'wrong' AND span_id IN (SELECT span_id FROM judgements WHERE NOT correct)
        OR $label = 'any' AND span_id IN (SELECT span_id FROM judgements)
        OR $label = 'none' AND span_id NOT IN (SELECT span_id FROM judgements))
      AND ($model_saw_error IS NULL
        OR $model_saw_error = 'yes' AND span_id IN (SELECT span_id FROM received WHERE is_error)
        OR $model_saw_error = 'no' AND span_id IN (SELECT span_id FROM received WHERE NOT is_error))
      AND ($min_duration_ms IS NULL OR duration_ms >= $min_duration_ms)
      AND ($max_duration_ms IS NULL OR duration_ms < $max_duration_ms)
      AND ($min_confidence IS NULL OR confidence >= $min_confidence)
      AND ($max_confidence IS NULL OR confidence < $max_confidence)
      AND ($text IS NULL OR contains(lower(concat_ws(' ', call_id, span_id, error_message, arguments, "text", result)),
            lower($text)))
)
SELECT
    ended_at,
    started_at,
    tool,
    tool_version,
    status,
    ending,
    code,
    duration_ms,
    attempt,
    confidence,
    call_id,
    left(coalesce(error_message, "text", CAST(result AS TEXT)), 200) AS message,
    conversation_id AS conversation,
    agent,
    span_id
FROM ended
WHERE ($down_to IS NULL OR ended_at > $down_to
        OR ended_at = $down_to AND ($down_to_span IS NULL OR span_id <= $down_to_span))
  AND ($before IS NULL OR ended_at < $before OR ended_at = $before AND span_id > coalesce($before_span, ''))
ORDER BY
    CASE
        WHEN $sort = 'duration_ms' THEN CAST(duration_ms AS DOUBLE)
        WHEN $sort = 'attempt' THEN CAST(attempt AS DOUBLE)
        WHEN $sort = 'confidence' THEN CAST(confidence AS DOUBLE)
    END ASC NULLS LAST,
    CASE
        WHEN $sort = '-duration_ms' THEN CAST(duration_ms AS DOUBLE)
        WHEN $sort = '-attempt' THEN CAST(attempt AS DOUBLE)
        WHEN $sort = '-confidence' THEN CAST(confidence AS DOUBLE)
    END DESC NULLS LAST,
    CASE
        WHEN $sort = 'tool' THEN tool
        WHEN $sort = 'tool_version' THEN tool_version
        WHEN $sort = 'status' THEN coalesce(status, ending)
        WHEN $sort = 'code' THEN code
        WHEN $sort = 'agent' THEN agent
        WHEN $sort = 'call_id' THEN call_id
        WHEN $sort = 'message' THEN left(coalesce(error_message, "text", CAST(result AS TEXT)), 200)
    END ASC NULLS LAST,
    CASE
        WHEN $sort = '-tool' THEN tool
        WHEN $sort = '-tool_version' THEN tool_version
        WHEN $sort = '-status' THEN coalesce(status, ending)
        WHEN $sort = '-code' THEN code
        WHEN $sort = '-agent' THEN agent
        WHEN $sort = '-call_id' THEN call_id
        WHEN $sort = '-message' THEN left(coalesce(error_message, "text", CAST(result AS TEXT)), 200)
    END DESC NULLS LAST,
    CASE WHEN $sort = 'ended_at' THEN ended_at END ASC NULLS LAST,
    ended_at DESC,
    span_id
LIMIT $limit
OFFSET $offset
