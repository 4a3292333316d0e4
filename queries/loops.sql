-- Which agents are stuck?
--
-- One row per loop: calls of one agent in one conversation (without one, in one trace) that repeat without progress, at least
-- `k` times within `window_s` seconds. Loops that are still running come first, then those that wasted most tokens. There
-- are four kinds:
--
-- repeat: one tool with equal arguments and equal results, whatever other calls lie between.
-- alternation: two or three calls in turn (ABAB, ABCABC), each with equal arguments and equal results.
-- error: the same error of one tool, with different arguments and no success of that tool between.
-- poll: as repeat, but a later call with the same arguments got another result: the agent waited, and was not stuck.
--
-- Arguments are equal if they differ only in times with seconds, Unix times, members that number a request (request_id,
-- trace_id, nonce, seq, attempt, timestamp and similar) and counters; a time at a full minute, such as 09:30:00, is a slot
-- or the limit of a window, and is compared. Results are equal if they differ only in times and durations. A counter is a
-- whole number that counts up by 1, from 0 or 1, over successive calls of the tool whose other arguments and results are
-- equal. A number is not a counter if its name addresses something (page, offset, id, line and similar), if the results
-- only acknowledge ("ok"), or if it is the only argument. Other numbers and ids are compared, because they tell pages and
-- records apart. Errors are the same if code, type and kind of message are (see the query errors). Polling whose results
-- change is therefore not a loop, and neither are pages, nor calls whose wording differs: a model that asks the same in
-- other words is not found, and neither are calls of a tool that returns nothing. A tool that only waits (its name has
-- sleep, wait, delay or pause) does not make a loop of the kind repeat. The attempts of a call are one call. Calls that run
-- at the same time are one repetition. Calls without recorded arguments or results are compared with nothing.
--
-- Measured on 65 conversations with planted loops and 80 of polling, pages, retries, bulk writes and waits: all loops were
-- found, and nothing else. Of 222 published runs of two agents, 9 had a loop (docs/explanation/loops.md).
--
-- group: agents (first)
-- parameters:
--   since         timestamp = NULL  attempts that started at this time or later
--   until         timestamp = NULL  attempts that started before this time; a loop is running at this time, NULL is now
--   tool          text = NULL       loops with this tool only
--   agent         text = NULL       this agent only
--   conversation  text = NULL       this conversation only, or this trace
--   conversations text = NULL       these conversations only, one id per line
--   k             positive = 3      repetitions that make a loop
--   window_s      positive = 600    seconds in which they start
--   limit         integer = 100     maximum number of rows
-- columns:
--   conversation        text   id of the conversation; without one, of the trace
--   agent               text   name of the agent
--   tools               text   tools of one round, in order
--   kind                text   repeat, alternation, error or poll
--   length              count  calls of one round: 1, 2 or 3
--   repeats             count  rounds
--   distinct_arguments  count  different arguments of the calls, as recorded
--   distinct_results    count  different results of the calls, as recorded
--   wasted_ms           ms     time in the tools after the first round
--   wasted_tokens       count  tokens of the results after the first round, as counted or estimated in the query footprint
--   running             flag   the last call of the conversation by this agent is in the loop, and ended less than window_s before `until`
--   first               time   start of the first call
--   last                time   start of the last call
--   call_id             text   id of the last call
--   span_id             text   id of the last attempt of that call
-- content: all
-- important: conversation, tools, kind, repeats, running, wasted_tokens, wasted_ms, last
-- verdict: first The first loop is one of {tools} in {conversation}: {kind}, {repeats} rounds, last at {last}.
-- next: show {call_id}
-- source: loops of equal calls and results, as in the stuck detection of OpenHands; paraphrases need a comparison of meaning
--   (arXiv 2511.10650)
-- reasoner: loops
WITH requests AS (
    SELECT
        cluster,
        -- asker: a number of the tool of an agent in a conversation
        text_key(concat(cluster, '|', agent, '|', tool)) AS asker,
        arguments_key(CAST(arguments AS VARCHAR)) AS asked,
        numberless_key(CAST(arguments AS VARCHAR)) AS shape,
        is_last,
        call_started_at,
        span_id,
        CASE WHEN status = 'error' THEN 1 ELSE 0 END AS is_error
    FROM facts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($agent IS NULL OR agent = $agent)
      AND ($conversation IS NULL OR coalesce(conversation, trace_id) = $conversation)
      AND ($conversations IS NULL OR conversation IN (SELECT unnest(string_split(coalesce($conversations, ''), chr(10)))))
),
-- conversations in which a tool has k calls that are equal, or equal but for numbers, or k errors in a row: the others have no loop
repeating AS (
    SELECT cluster FROM requests WHERE asked IS NOT NULL GROUP BY cluster, asker, asked HAVING count(*) >= $k
    UNION
    SELECT cluster FROM requests WHERE shape IS NOT NULL GROUP BY cluster, asker, shape HAVING count(*) >= $k
    UNION
    SELECT cluster
    FROM (
        SELECT
            cluster,
            call_started_at,
            sum(is_error) OVER (
                PARTITION BY asker ORDER BY call_started_at, span_id ROWS BETWEEN $k - 1 PRECEDING AND CURRENT ROW) AS errors,
            lag(call_started_at, $k - 1) OVER (PARTITION BY asker ORDER BY call_started_at, span_id) AS began
        FROM requests
        WHERE is_last AND asker IN (SELECT asker FROM requests WHERE is_last AND is_error = 1 GROUP BY asker HAVING count(*) >= $k)
    ) AS in_order
    WHERE errors >= $k AND epoch(call_started_at) - epoch(began) <= $window_s
)
SELECT
    cluster,
    coalesce(conversation, trace_id) AS conversation,
    agent,
    tool,
    call_key,
    call_id,
    span_id,
    attempt,
    started_at,
    coalesce(ms, 0) AS ms,
    status,
    ending,
    code,
    error_type,
    error_message,
    CAST(arguments AS VARCHAR) AS arguments,
    text,
    CAST(result AS VARCHAR) AS result,
    answer_tokens(counted_tokens, message, characters, text, result, error_message, status, full_sizes) AS tokens
FROM facts
JOIN (
    SELECT span_id AS of_span, result_tokens AS counted_tokens, seen_text AS message, seen_length AS characters FROM tool_calls
) AS seen ON of_span = span_id
WHERE cluster IN (SELECT cluster FROM repeating)
  AND ($since IS NULL OR started_at >= $since)
  AND ($until IS NULL OR started_at < $until)
  AND ($agent IS NULL OR agent = $agent)
