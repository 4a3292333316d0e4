-- Which attempts are like this?
--
-- One row for each attempt that passes all filters, the one that ended last first, a page at a time: `before` and
-- `before_span` are the ended_at and the span_id of the last row that was read. The window is over the time of the end, as in
-- recent. `until_span` completes `since` in the same way: a row that ended at just this time comes up to that span only.
--
-- parameters:
--   since           timestamp = NULL  attempts that ended at this time or later
--   until           timestamp = NULL  attempts that ended before this time
--   until_span      text = NULL       of those that ended at since: up to this span id
--   before          timestamp = NULL  the page after the row that ended at this time
--   before_span     text = NULL       and has this span id
--   tool            text = NULL       this tool only
--   status          text = NULL       this status only: success, partial or error
--   code            text = NULL       this code only
--   ending          text = NULL       this ending only: returned, raised, cancelled, …
--   agent           text = NULL       this agent only
--   conversation    text = NULL       this conversation only
--   min_confidence  number = NULL     minimum confidence
--   max_confidence  number = NULL     confidence below this value
--   text            text = NULL       has this somewhere in its ids, error, arguments, answer or result; case does not count
--   limit           integer = 50      maximum number of rows
-- columns:
--   ended_at      time   start, and the time in the tool and in its consumer
--   started_at    time   start
--   tool          text   name of the tool
--   tool_version  text   its version
--   status        text   what the tool reported; NULL where it reported nothing
--   ending        text   how the attempt ended
--   code          text   the tool's code
--   duration_ms   ms     time in the tool
--   attempt       count  1 for the first execution of the call
--   confidence    share  how sure the tool is
--   call_id       text   the call
--   said          text   the error's message, else the answer, else the result; its first 200 characters
--   conversation  text   conversation of the call
--   agent         text   agent that called
--   span_id       text   the attempt
WITH ended AS (
    SELECT *,
        -- at most 1e12 ms (31 years): what was imported may say anything
        started_at + to_microseconds(CAST(1000 * least(greatest(
            coalesce(duration_ms, 0) + coalesce(consumer_ms, 0), 0), 1e12) AS BIGINT)) AS ended_at
    FROM attempts
    WHERE ($tool IS NULL OR tool = $tool)
      AND ($status IS NULL OR status = $status)
      AND ($code IS NULL OR code = $code)
      AND ($ending IS NULL OR ending = $ending)
      AND ($agent IS NULL OR agent = $agent)
      AND ($conversation IS NULL OR conversation_id = $conversation)
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
    left(coalesce(error_message, "text", CAST(result AS TEXT)), 200) AS said,
    conversation_id AS conversation,
    agent,
    span_id
FROM ended
WHERE ($since IS NULL OR ended_at > $since OR ended_at = $since AND ($until_span IS NULL OR span_id <= $until_span))
  AND ($until IS NULL OR ended_at < $until)
  AND ($before IS NULL OR ended_at < $before OR ended_at = $before AND span_id > coalesce($before_span, ''))
ORDER BY ended_at DESC, span_id
LIMIT $limit
