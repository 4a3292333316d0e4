-- Which conversations were there, and how did they go?
--
-- One row per conversation, the one that started last first. The window, `tool`, `code`, `agent` and `text` select
-- conversations that have an attempt like that; the counts are those of the whole conversation. The outcome is that of its
-- labels (the view conversation_labels), never guessed from its calls. For the loops in it, see the query loops, whose
-- conversations may be passed as `conversations`.
--
-- parameters:
--   since         timestamp = NULL  conversations with an attempt that started at this time or later
--   until         timestamp = NULL  conversations with an attempt that started before this time
--   agent         text = NULL       with an attempt of this agent
--   tool          text = NULL       with an attempt of this tool
--   code          text = NULL       with this error code
--   text          text = NULL       with this text in an argument, an error or a result, as in find
--   outcome       text = NULL       right or wrong: conversations with this outcome only; none: those without a label
--   conversation  text = NULL       this conversation only
--   conversations text = NULL       these conversations only, one id per line
--   sort          text = NULL       column to sort by, ascending: started_at, duration_ms, calls, failed or attempts; with a minus before it, descending
--   offset        integer = 0       rows to skip
--   limit         positive = 50     maximum number of rows
-- columns:
--   conversation  text   id of the conversation
--   agent         text   agent of the first call that names one
--   started_at    time   start of the first attempt
--   ended_at      time   end of the last attempt
--   duration_ms   ms     from the first start to the last end, pauses included
--   attempts      count  number of attempts
--   calls         count  number of calls
--   failed        count  calls whose last attempt reported an error
--   tools         text   names of the tools, the first 8 in order of the alphabet
--   last_code     text   code of the last attempt that reported an error
--   last_error    text   its message; first 200 characters
--   correct       flag   whether the conversation reached its goal, by its labels; NULL without a label
--   score         share  score of the conversation, 0 to 1
--   labeler       text   labeler of the latest label
-- important: started_at, conversation, agent, calls, failed, correct, duration_ms, last_error
-- next: show --conversation {conversation}
WITH chosen AS (
    SELECT DISTINCT conversation_id
    FROM attempts
    WHERE conversation_id IS NOT NULL
      AND ($conversation IS NULL OR conversation_id = $conversation)
      AND ($conversations IS NULL OR conversation_id IN (SELECT unnest(string_split(coalesce($conversations, ''), chr(10)))))
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($agent IS NULL OR agent = $agent)
      AND ($tool IS NULL OR tool = $tool)
      AND ($code IS NULL OR code = $code)
      AND ($text IS NULL
        OR has_text(CAST(arguments AS TEXT), $text, NULL) OR has_text(error_message, $text, NULL)
        OR has_text("text", $text, NULL) OR has_text(CAST(result AS TEXT), $text, NULL))
),
calls_of AS (
    SELECT
        conversation_id,
        count(*) AS attempts,
        min(started_at) AS started_at,
        max(started_at + to_microseconds(CAST(1000 * least(greatest(
            coalesce(duration_ms, 0) + coalesce(consumer_ms, 0), 0), 1e12) AS BIGINT))) AS ended_at,
        arg_max_null(status, attempt_order(attempt, started_at, span_id)) FILTER (WHERE status IS NOT NULL) AS status,
        max(CASE WHEN status = 'error' THEN started_at END) AS failed_at,
        arg_max_null(code, started_at) FILTER (WHERE status = 'error') AS last_code,
        arg_max_null(error_message, started_at) FILTER (WHERE status = 'error') AS last_error,
        min(started_at) FILTER (WHERE agent IS NOT NULL) AS agent_at,
        arg_min(agent, started_at) FILTER (WHERE agent IS NOT NULL) AS agent,
        tool
    FROM attempts
    WHERE conversation_id IN (SELECT conversation_id FROM chosen)
    GROUP BY conversation_id, tool, call_id
),
tools_of AS (
    SELECT conversation_id, concat_ws(
        ', ',
        max(CASE WHEN place = 1 THEN tool END),
        max(CASE WHEN place = 2 THEN tool END),
        max(CASE WHEN place = 3 THEN tool END),
        max(CASE WHEN place = 4 THEN tool END),
        max(CASE WHEN place = 5 THEN tool END),
        max(CASE WHEN place = 6 THEN tool END),
        max(CASE WHEN place = 7 THEN tool END),
        max(CASE WHEN place = 8 THEN tool END)
    ) AS tools
    FROM (
        SELECT conversation_id, tool, row_number() OVER (PARTITION BY conversation_id ORDER BY tool) AS place
        FROM (SELECT DISTINCT conversation_id, tool FROM calls_of) AS named
    ) AS numbered
    GROUP BY conversation_id
),
whole AS (
    SELECT
        conversation_id,
        arg_min(agent, agent_at) FILTER (WHERE agent_at IS NOT NULL) AS agent,
        min(started_at) AS started_at,
        max(ended_at) AS ended_at,
        sum(attempts) AS attempts,
        count(*) AS calls,
        count(*) FILTER (WHERE status = 'error') AS failed,
        arg_max_null(last_code, failed_at) FILTER (WHERE failed_at IS NOT NULL) AS last_code,
        arg_max_null(last_error, failed_at) FILTER (WHERE failed_at IS NOT NULL) AS last_error
    FROM calls_of
    GROUP BY conversation_id
),
labelled AS (
    SELECT w.*, t.tools, l.correct, l.score, l.labeler, epoch_us(w.ended_at) - epoch_us(w.started_at) AS lasted_us
    FROM whole AS w
    JOIN tools_of AS t ON t.conversation_id = w.conversation_id
    LEFT JOIN conversation_labels AS l ON l.conversation_id = w.conversation_id
)
SELECT
    conversation_id AS conversation,
    agent,
    started_at,
    ended_at,
    lasted_us / 1e3 AS duration_ms,
    CAST(attempts AS BIGINT) AS attempts,
    calls,
    failed,
    tools,
    last_code,
    left(last_error, 200) AS last_error,
    correct,
    score,
    labeler
FROM labelled
WHERE $outcome IS NULL
   OR $outcome = 'right' AND correct
   OR $outcome = 'wrong' AND NOT correct
   OR $outcome = 'none' AND correct IS NULL
ORDER BY
    CASE
        WHEN $sort = 'duration_ms' THEN CAST(lasted_us AS DOUBLE)
        WHEN $sort = 'calls' THEN CAST(calls AS DOUBLE)
        WHEN $sort = 'failed' THEN CAST(failed AS DOUBLE)
        WHEN $sort = 'attempts' THEN CAST(attempts AS DOUBLE)
    END ASC NULLS LAST,
    CASE
        WHEN $sort = '-duration_ms' THEN CAST(lasted_us AS DOUBLE)
        WHEN $sort = '-calls' THEN CAST(calls AS DOUBLE)
        WHEN $sort = '-failed' THEN CAST(failed AS DOUBLE)
        WHEN $sort = '-attempts' THEN CAST(attempts AS DOUBLE)
    END DESC NULLS LAST,
    CASE WHEN $sort = 'started_at' THEN started_at END ASC NULLS LAST,
    started_at DESC,
    conversation_id
LIMIT $limit
OFFSET $offset
