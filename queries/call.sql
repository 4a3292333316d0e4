-- What happened in one call?
--
-- One row per attempt of each call that the id matches. An id matches the calls with that call id. If there is none, it
-- matches the call of the attempt with that span id. If there is none either, it matches the calls whose call id or span
-- ids start with it.
--
-- group: pages
-- parameters:
--   id     text         a call id, a span id, or the start of one
--   limit  integer = 5  maximum number of calls, the newest first
-- columns:
--   named           count  calls that the id matches
--   place           count  position among those calls; 1 is the newest
--   match           text   what the id matched: call_id, span_id or prefix
--   tool            text   name of the tool
--   tool_version    text   version of the tool
--   call_id         text   the model's id of the call; the span_id where there is none
--   conversation    text   id of the conversation or session of the call
--   agent           text   name of the agent that made the call
--   attempt         count  1 for the first execution of the call, 2 for the first retry
--   started_at      time   start of the attempt, UTC
--   duration_ms     ms     milliseconds in the tool, by the monotonic clock; for a stream, without the time of its consumer
--   first_item_ms   ms     streams: milliseconds from the start to the first item
--   consumer_ms     ms     streams: milliseconds that the consumer used between items
--   status          text   status that the tool reported: success, partial or error; unknown where it reported none
--   ending          text   how the attempt ended: returned, raised, cancelled, abandoned, paused, declined, expired, lost, refused or handed_over
--   code            text   error code, such as TIMEOUT; of a cancelled attempt TIMEOUT for a deadline, CANCELLED for a person or the program, else NULL
--   error_type      text   class of the exception, or the error type that the response names
--   error_message   text   error message, redacted; for a partial result, the reason why it is partial
--   traceback       text   where the exception was raised: file, line and function of the innermost frames, without lines of source; redacted
--   retryable       flag   whether the same call may succeed later
--   suggestion      text   the tool's advice on how to correct the error
--   user_message    text   error message for the person who uses the agent
--   confidence      share  the tool's confidence that its result is right, 0 to 1
--   next_action     text   next action that the tool stated; unknown where it stated none
--   cached          flag   whether the result came from a cache
--   text            text   the result as text
--   explanation     text   the tool's explanation of its result
--   seen_text       text   text that the model received as the result
--   seen_error      flag   whether that reported an error
--   arguments       json   object: the arguments, redacted and bounded
--   result          json   the result, redacted and bounded
--   sources         json   array of the sources of the result; the view sources has them as rows
--   signals         json   object: the signals behind the confidence, value by name
--   stats           json   object: figures that the tool reported about its work
--   context         json   object: further values of the response, such as members of the tool's protocol
--   attributes      json   object: attributes that the tool or the application set on the span
--   truncated       flag   true where a field was longer than the limit
--   full_sizes      json   object: full size in bytes of each truncated field, by name, where it is known
--   redacted        flag   true where a secret was removed, or a field was dropped because it could not be redacted
--   flags           json   array of defects of the tool's result or of its ids, such as confidence_out_of_range and reused_id
--   rule            text   the rule that read the result
--   rule_grade      text   reliability of the reading: certain, heuristic, or unread where nothing states whether the tool worked
--   status_recorded  text  the status as it was recorded, where a correction changed the reading; else unknown
--   service         text   name of the service that recorded the call
--   release         text   release of that service, as its operator names it
--   environment     text   where that service ran, such as staging or production
--   model           text   name of the model that asked for the call, where it is known
--   host            text   name of the machine that recorded the call
--   pid             count  process id of the recorder
--   trace_id        text   OpenTelemetry trace id, 32 hex digits
--   span_id         text   OpenTelemetry span id, 16 hex digits; unique, the key of the row
--   parent_span_id  text   id of the span that was current when the tool was called
-- content: error_message, traceback, suggestion, user_message, text, explanation, seen_text, arguments, result, sources, signals, stats, context
-- important: tool, call_id, attempt, started_at, status, ending, code, duration_ms
-- next: show {call_id}
WITH named AS (
    SELECT
        tool,
        call_id,
        call_key(tool, call_id, first_span_id, conversation_id, host, pid) AS call_identity,
        min(CASE WHEN call_id = $id THEN 1 WHEN span_id = $id THEN 2 ELSE 3 END) AS rank,
        max(started_at) AS newest
    FROM (
        -- not one condition with OR, because DuckDB skips the blocks of the table without such ids only for each alone
        SELECT tool, call_id, first_span_id, span_id, conversation_id, host, pid, started_at
        FROM attempts
        WHERE starts_with(call_id, $id)
        UNION ALL
        SELECT tool, call_id, first_span_id, span_id, conversation_id, host, pid, started_at
        FROM attempts
        WHERE starts_with(span_id, $id) AND NOT starts_with(call_id, $id)
    ) AS a
    GROUP BY ALL
),
best AS (
    SELECT *, count(*) OVER () AS named, row_number() OVER (ORDER BY newest DESC, tool, call_id) AS place
    FROM named
    WHERE rank = (SELECT min(rank) FROM named)
),
found AS (
    SELECT b.named, b.place, b.rank, c.*
    FROM attempts AS c
    JOIN best AS b
        ON c.call_id = b.call_id
        AND call_key(c.tool, c.call_id, c.first_span_id, c.conversation_id, c.host, c.pid) = b.call_identity
    WHERE b.place <= $limit
),
-- as in tool_calls, but for these attempts only: tool_calls would read the messages of all attempts
messages_of_attempt AS (
    SELECT span_id, arg_max_null("text", "at") AS "text", arg_max("error", "at") AS "error"
    FROM messages
    WHERE span_id IN (SELECT span_id FROM found)
    GROUP BY span_id
)
SELECT
    c.named,
    c.place,
    CASE c.rank WHEN 1 THEN 'call_id' WHEN 2 THEN 'span_id' ELSE 'prefix' END AS match,
    c.tool,
    c.tool_version,
    c.call_id,
    c.conversation_id AS conversation,
    c.agent,
    c.attempt,
    c.started_at,
    c.duration_ms,
    c.first_item_ms,
    c.consumer_ms,
    c.status,
    c.ending,
    c.code,
    c.error_type,
    c.error_message,
    c.traceback,
    c.retryable,
    c.suggestion,
    c.user_message,
    c.confidence,
    c.next_action,
    c.cached,
    c.text,
    c.explanation,
    coalesce(c.seen_text, m."text") AS seen_text,
    m."error" AS seen_error,
    c.arguments,
    c.result,
    c.sources,
    c.signals,
    c.stats,
    c.context,
    c.attributes,
    c.truncated,
    c.full_sizes,
    c.redacted,
    c.flags,
    c.rule,
    c.rule_grade,
    c.status_recorded,
    c.service,
    c.release,
    c.environment,
    c.model,
    c.host,
    c.pid,
    c.trace_id,
    c.span_id,
    c.parent_span_id
FROM found AS c
LEFT JOIN messages_of_attempt AS m ON m.span_id = c.span_id
ORDER BY c.place, c.attempt, c.started_at, c.span_id
