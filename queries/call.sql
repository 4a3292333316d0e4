-- What happened in one call?
--
-- One row for each attempt of the calls that an id names: those with that call id; where there is none, the call
-- of the attempt with that span id; else the calls whose call id or a span id of theirs begins with it.
--
-- parameters:
--   id     text         a call id, a span id, or the beginning of one
--   limit  integer = 5  maximum number of calls, the newest first
-- columns:
--   named           count  calls that the id names
--   place           count  which of those calls, 1 the newest
--   match           text   what the id is: call_id, span_id or prefix
--   tool            text   name of the tool
--   tool_version    text   its version
--   call_id         text   the call
--   conversation    text   conversation of the call
--   agent           text   agent that called
--   attempt         count  1 for the first execution of the call
--   started_at      time   start
--   duration_ms     ms     time in the tool
--   first_item_ms   ms     for a stream: from the start to the first item
--   consumer_ms     ms     for a stream: how long the consumer held it
--   status          text   what the tool reported; NULL where it reported nothing
--   ending          text   how the attempt ended
--   code            text   the tool's code
--   error_type      text   class of the exception, or the type that the response names
--   error_message   text   the error's message
--   retryable       flag   whether the same call may succeed later, as the tool said
--   suggestion      text   what the tool suggests
--   user_message    text   what a person may be told about the error
--   confidence      share  how sure the tool is
--   next_action     text   what the tool advises
--   cached          flag   the answer came from a cache
--   text            text   the answer in words
--   explanation     text   how the tool came to it
--   seen_text       text   what the model was given
--   seen_error      flag   whether that told of an error
--   arguments       json   what the tool was given
--   result          json   what it gave
--   sources         json   where the result came from
--   signals         json   what made the confidence
--   stats           json   figures about the work
--   context         json   what else the tool's protocol carried
--   attributes      json   what the tool or its surroundings said
--   truncated       flag   a field was longer than the limit
--   full_sizes      json   true size in bytes of each truncated field
--   redacted        flag   a secret was taken out
--   flags           json   what was wrong with what the tool gave
--   rule            text   the rule that read the result
--   rule_grade      text   certain or heuristic
--   service         text   service of the process
--   host            text   its host
--   pid             count  its process id
--   trace_id        text   the trace
--   span_id         text   the attempt
--   parent_span_id  text   the span around it
WITH named AS (
    SELECT
        tool,
        conversation_id,
        call_id,
        CASE WHEN conversation_id IS NULL THEN host END AS of_host,
        CASE WHEN conversation_id IS NULL THEN pid END AS of_pid,
        min(CASE WHEN call_id = $id THEN 1 WHEN span_id = $id THEN 2 ELSE 3 END) AS rank,
        max(started_at) AS newest
    FROM attempts
    WHERE starts_with(call_id, $id) OR starts_with(span_id, $id)
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
        ON c.tool = b.tool
        AND c.call_id = b.call_id
        AND c.conversation_id IS NOT DISTINCT FROM b.conversation_id
        AND (c.conversation_id IS NOT NULL OR c.host IS NOT DISTINCT FROM b.of_host AND c.pid IS NOT DISTINCT FROM b.of_pid)
    WHERE b.place <= $limit
),
-- as in tool_calls, which holds the messages of all attempts against each other
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
    c.service,
    c.host,
    c.pid,
    c.trace_id,
    c.span_id,
    c.parent_span_id
FROM found AS c
LEFT JOIN messages_of_attempt AS m ON m.span_id = c.span_id
ORDER BY c.place, c.attempt, c.started_at, c.span_id
