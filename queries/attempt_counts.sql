-- How many attempts match the filters, over time and by status?
--
-- One row per interval and status in which attempts started, in order; intervals without attempts are left out. The filters
-- are those of attempts, so that the counts add up to its rows. All intervals have the same length: `seconds`, or else the
-- shortest round length, from a second to 365 days, for which the attempts span at most `parts` intervals.
--
-- group: pages
-- parameters:
--   since            timestamp = NULL  attempts that started at this time or later
--   until            timestamp = NULL  attempts that started before this time
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
--   seconds          positive = NULL   length of an interval
--   parts            integer = 60      maximum number of intervals; one more if the first attempt starts inside an interval
-- columns:
--   started   time   start of the interval
--   seconds   count  length of the interval
--   status    text   status of the attempts; NULL if they reported none
--   attempts  count  attempts that started in the interval
-- important: started, status, attempts
-- verdict: max(attempts) Most attempts of one status started in the {seconds} s from {started}: {attempts} with status {status}.
-- next: query attempts
WITH judgements AS (
    SELECT span_id, correct FROM judged WHERE $label IS NOT NULL
),
received AS (
    SELECT span_id, arg_max("error", "at") AS is_error
    FROM messages
    WHERE $model_saw_error IS NOT NULL
    GROUP BY span_id
),
scoped AS (
    SELECT status, epoch_us(started_at) / 1e6 AS at_s
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
),
-- the last length also applies to windows that are too long for 'parts' intervals of it
lengths AS (
    SELECT unnest([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
        2592000, 31536000]) AS seconds
),
chosen AS (
    SELECT coalesce($seconds, min(l.seconds) FILTER (WHERE CAST(l.seconds AS DOUBLE) * greatest($parts, 1) >= w.length_s), 31536000) AS seconds
    FROM lengths AS l
    CROSS JOIN (
        SELECT max(at_s) - min(at_s) AS length_s FROM scoped
    ) AS w
),
counted AS (
    SELECT floor(at_s / c.seconds) * c.seconds AS started_s, c.seconds, status, count(*) AS attempts
    FROM scoped
    CROSS JOIN chosen AS c
    GROUP BY ALL
)
SELECT
    make_timestamp(CAST(started_s * 1e6 AS BIGINT)) AS started,
    seconds,
    status,
    attempts
FROM counted
ORDER BY started_s, status NULLS LAST
