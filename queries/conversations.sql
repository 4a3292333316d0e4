-- Which conversations were there, and how did they go?
--
-- One row per conversation, the one that started last first. The window, `tool`, `code`, `agent` and `text` select
-- conversations that have an attempt like that; the counts are those of the whole conversation. The outcome is that of its
-- labels (the view conversation_labels), never guessed from its calls. For the loops in it, see the query loops, whose
-- conversations may be passed as `conversations`.
--
-- group: agents
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
--   sort          text = NULL       column to sort by, ascending: started_at, conversation, agent, calls, failed, attempts, correct, duration_ms, tools (by the first name) or last_error; with a minus before it, descending
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
--   refused       aside  attempts among them that the system refused: the tool was not run
--   failed        count  calls whose last attempt reported an error
--   tools         text   names of the tools, the first 8 in order of the alphabet
--   last_code     text   code of the last attempt that reported an error
--   last_error    text   its message; first 200 characters
--   correct       flag   whether the conversation reached its goal, by its labels; NULL without a label
--   score         share  score of the conversation, 0 to 1
--   labeler       text   labeler of the latest label
-- content: last_error
-- important: started_at, conversation, agent, calls, failed, correct, duration_ms, last_error
-- verdict: max(failed) The conversation with the most failed calls is {conversation}: {failed} of {calls} failed, last with {last_code}.
-- next: show {conversation}
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
scoped AS NOT MATERIALIZED (
    SELECT
        conversation_id,
        tool,
        text_key(coalesce(first_span_id, call_id)) AS call_number,
        attempt_order(attempt, started_at, span_id) AS attempt_place,
        status,
        ending,
        started_at,
        attempt_end(started_at, duration_ms, consumer_ms) AS ended_at
    FROM attempts
    WHERE conversation_id IN (SELECT conversation_id FROM chosen)
),
-- most calls have one attempt, and need no grouping
multi_attempt_calls AS (
    SELECT call_number FROM scoped GROUP BY call_number HAVING count(*) > 1
),
-- attempts that are not the only one of their call, and errors that are not its outcome
repeated AS (
    SELECT conversation_id AS of_conversation, sum(extra_attempts) AS extra_attempts, sum(extra_errors) AS extra_errors
    FROM (
        SELECT
            conversation_id,
            count(*) - 1 AS extra_attempts,
            count(*) FILTER (WHERE status = 'error')
                - CASE WHEN arg_max_null(status, attempt_place) FILTER (WHERE status IS NOT NULL) = 'error' THEN 1 ELSE 0 END
                AS extra_errors
        FROM scoped
        WHERE call_number IN (SELECT call_number FROM multi_attempt_calls)
        GROUP BY conversation_id, tool, call_number
    ) AS retried_calls
    GROUP BY conversation_id
),
whole AS (
    SELECT
        conversation_id,
        min(started_at) AS started_at,
        max(ended_at) AS ended_at,
        count(*) AS attempts,
        count(*) FILTER (WHERE ending = 'refused') AS refused,
        count(*) FILTER (WHERE status = 'error') AS errors
    FROM scoped
    GROUP BY conversation_id
),
labelled AS (
    SELECT
        w.conversation_id AS conversation_id,
        w.started_at AS started_at,
        w.ended_at AS ended_at,
        w.attempts AS attempts,
        w.refused AS refused,
        w.attempts - coalesce(r.extra_attempts, 0) AS calls,
        w.errors - coalesce(r.extra_errors, 0) AS failed,
        epoch_us(w.ended_at) - epoch_us(w.started_at) AS lasted_us,
        l.correct AS correct,
        l.score AS score,
        l.labeler AS labeler
    FROM whole AS w
    LEFT JOIN repeated AS r ON r.of_conversation = w.conversation_id
    LEFT JOIN conversation_labels AS l ON l.conversation_id = w.conversation_id
),
-- the texts of all conversations are read only where one of them decides the order
sort_texts AS (
    SELECT
        conversation_id AS of_conversation,
        CASE
            WHEN $sort IN ('agent', '-agent') THEN arg_min(agent, started_at) FILTER (WHERE agent IS NOT NULL)
            WHEN $sort IN ('tools', '-tools') THEN min(tool)
            ELSE left(arg_max_null(error_message, started_at) FILTER (WHERE status = 'error'), 200)
        END AS sort_text
    FROM attempts
    WHERE $sort IN ('agent', '-agent', 'tools', '-tools', 'last_error', '-last_error')
      AND conversation_id IN (SELECT conversation_id FROM chosen)
    GROUP BY conversation_id
),
placed AS (
    SELECT *, row_number() OVER (
        ORDER BY
            CASE
                WHEN $sort = 'duration_ms' THEN CAST(lasted_us AS DOUBLE)
                WHEN $sort = 'calls' THEN CAST(calls AS DOUBLE)
                WHEN $sort = 'failed' THEN CAST(failed AS DOUBLE)
                WHEN $sort = 'attempts' THEN CAST(attempts AS DOUBLE)
                WHEN $sort = 'correct' THEN CAST(CASE WHEN correct THEN 1 WHEN NOT correct THEN 0 END AS DOUBLE)
            END ASC NULLS LAST,
            CASE
                WHEN $sort = '-duration_ms' THEN CAST(lasted_us AS DOUBLE)
                WHEN $sort = '-calls' THEN CAST(calls AS DOUBLE)
                WHEN $sort = '-failed' THEN CAST(failed AS DOUBLE)
                WHEN $sort = '-attempts' THEN CAST(attempts AS DOUBLE)
                WHEN $sort = '-correct' THEN CAST(CASE WHEN correct THEN 1 WHEN NOT correct THEN 0 END AS DOUBLE)
            END DESC NULLS LAST,
            CASE WHEN $sort = 'conversation' THEN conversation_id WHEN $sort NOT LIKE '-%' THEN sort_text END ASC NULLS LAST,
            CASE WHEN $sort = '-conversation' THEN conversation_id WHEN $sort LIKE '-%' THEN sort_text END DESC NULLS LAST,
            CASE WHEN $sort = 'started_at' THEN started_at END ASC NULLS LAST,
            started_at DESC,
            conversation_id
    ) AS place
    FROM labelled
    LEFT JOIN sort_texts ON of_conversation = conversation_id
    WHERE $outcome IS NULL
       OR $outcome = 'right' AND correct
       OR $outcome = 'wrong' AND NOT correct
       OR $outcome = 'none' AND correct IS NULL
),
-- texts are read of the shown conversations only
shown AS (
    SELECT * FROM placed WHERE place > $offset AND place <= $offset + $limit
),
described AS (
    SELECT
        conversation_id,
        arg_min(agent, started_at) FILTER (WHERE agent IS NOT NULL) AS agent,
        arg_max_null(code, started_at) FILTER (WHERE status = 'error') AS last_code,
        arg_max_null(error_message, started_at) FILTER (WHERE status = 'error') AS last_error
    FROM attempts
    WHERE conversation_id IN (SELECT conversation_id FROM shown)
    GROUP BY conversation_id
),
tools_of AS (
    SELECT conversation_id, concat_ws(
        ', ',
        max(CASE WHEN tool_no = 1 THEN tool END),
        max(CASE WHEN tool_no = 2 THEN tool END),
        max(CASE WHEN tool_no = 3 THEN tool END),
        max(CASE WHEN tool_no = 4 THEN tool END),
        max(CASE WHEN tool_no = 5 THEN tool END),
        max(CASE WHEN tool_no = 6 THEN tool END),
        max(CASE WHEN tool_no = 7 THEN tool END),
        max(CASE WHEN tool_no = 8 THEN tool END)
    ) AS tools
    FROM (
        SELECT conversation_id, tool, row_number() OVER (PARTITION BY conversation_id ORDER BY tool) AS tool_no
        FROM (
            SELECT DISTINCT conversation_id, tool
            FROM attempts
            WHERE conversation_id IN (SELECT conversation_id FROM shown)
        ) AS named
    ) AS numbered
    GROUP BY conversation_id
)
SELECT
    s.conversation_id AS conversation,
    d.agent AS agent,
    s.started_at AS started_at,
    s.ended_at AS ended_at,
    s.lasted_us / 1e3 AS duration_ms,
    s.attempts AS attempts,
    CAST(s.calls AS BIGINT) AS calls,
    s.refused AS refused,
    CAST(s.failed AS BIGINT) AS failed,
    t.tools AS tools,
    d.last_code AS last_code,
    left(d.last_error, 200) AS last_error,
    s.correct AS correct,
    s.score AS score,
    s.labeler AS labeler
FROM shown AS s
JOIN described AS d ON d.conversation_id = s.conversation_id
JOIN tools_of AS t ON t.conversation_id = s.conversation_id
ORDER BY s.place
