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
WITH settings AS (
    SELECT epoch_us(CAST(coalesce($until, current_timestamp AT TIME ZONE 'UTC') AS TIMESTAMP)) AS ends_us
),
-- numbers instead of texts, which are only compared; asker: a tool of the agent in its conversation
requests AS (
    SELECT
        text_key(draw_key(conversation_id, trace_id)) AS in_conversation,
        text_key(concat(draw_key(conversation_id, trace_id), chr(10), coalesce(agent, ''), chr(10), tool)) AS asker,
        arguments_key(CAST(arguments AS VARCHAR)) AS asked,
        numberless_key(CAST(arguments AS VARCHAR)) AS shape,
        CASE WHEN status = 'error' THEN text_key(call_id) END AS failed_call,
        CASE WHEN status = 'error' THEN text_key(coalesce(code, '')) END AS failed_code
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($agent IS NULL OR agent = $agent)
      AND ($conversation IS NULL OR draw_key(conversation_id, trace_id) = $conversation)
      AND ($conversations IS NULL OR conversation_id IN (SELECT unnest(string_split(coalesce($conversations, ''), chr(10)))))
),
-- conversations in which a tool has k calls that are equal, or equal but for numbers, or k errors of one code: the others
-- have no loop
repeating AS (
    SELECT in_conversation FROM requests WHERE asked IS NOT NULL GROUP BY in_conversation, asker, asked HAVING count(*) >= $k
    UNION
    SELECT in_conversation FROM requests WHERE shape IS NOT NULL GROUP BY in_conversation, asker, shape HAVING count(*) >= $k
    UNION
    SELECT in_conversation
    FROM requests
    WHERE failed_call IS NOT NULL
    GROUP BY in_conversation, asker, failed_code
    HAVING count(DISTINCT failed_call) >= $k
),
candidates AS (
    SELECT
        draw_key(conversation_id, trace_id) AS conversation,
        coalesce(agent, '') AS agent,
        tool,
        call_id,
        conversation_id,
        host,
        pid,
        attempt,
        started_at,
        span_id,
        epoch_us(started_at) AS started_us,
        coalesce(known_ms(duration_ms), 0) AS duration_ms,
        status,
        ending,
        code,
        error_type,
        error_message,
        CAST(arguments AS VARCHAR) AS arguments,
        arguments_key(CAST(arguments AS VARCHAR)) AS asked,
        numberless_key(CAST(arguments AS VARCHAR)) AS shape,
        text,
        CAST(result AS VARCHAR) AS result,
        answer_tokens(result_tokens, seen_text, seen_length, text, result, error_message, status, full_sizes) AS tokens
    FROM tool_calls
    WHERE text_key(draw_key(conversation_id, trace_id)) IN (SELECT in_conversation FROM repeating)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($agent IS NULL OR agent = $agent)
),
-- call ids with several attempts; most calls have one attempt and need no sorting
multi_attempt_calls AS (
    SELECT call_id FROM candidates GROUP BY call_id HAVING count(*) > 1
),
calls AS (
    SELECT *,
        started_us AS first_us,
        started_us + CAST(1000 * duration_ms AS BIGINT) AS ended_us,
        duration_ms AS call_ms
    FROM candidates
    WHERE call_id NOT IN (SELECT call_id FROM multi_attempt_calls)
    UNION ALL
    SELECT * EXCLUDE (from_last)
    FROM (
        SELECT *,
            min(started_us) OVER of_call AS first_us,
            max(started_us + CAST(1000 * duration_ms AS BIGINT)) OVER of_call AS ended_us,
            sum(duration_ms) OVER of_call AS call_ms,
            row_number() OVER (
                PARTITION BY call_key(tool, call_id, conversation_id, host, pid)
                ORDER BY attempt_order(attempt, started_at, span_id) DESC
            ) AS from_last
        FROM candidates
        WHERE call_id IN (SELECT call_id FROM multi_attempt_calls)
        WINDOW of_call AS (PARTITION BY call_key(tool, call_id, conversation_id, host, pid))
    ) AS numbered
    WHERE from_last = 1
),
-- place: position of the call among those of the agent in the conversation
placed AS (
    SELECT
        conversation,
        agent,
        tool,
        call_id,
        span_id,
        first_us,
        ended_us,
        call_ms,
        tokens,
        status,
        ending,
        code,
        error_type,
        error_message,
        arguments,
        text,
        result,
        row_number() OVER (PARTITION BY conversation, agent ORDER BY first_us, span_id) AS place,
        count(*) OVER (PARTITION BY conversation, agent) AS places,
        asked,
        shape
    FROM calls
),
with_error AS (
    SELECT *, CASE WHEN status = 'error' THEN error_key(code, error_type, error_message) END AS error_text
    FROM placed
),
-- asked, answered: arguments and result in normal form; error: the kind of error
compared AS (
    SELECT *,
        CASE WHEN asked IS NULL
              OR count(*) OVER (PARTITION BY conversation, agent, tool, asked) < $k
             AND count(shape) OVER (PARTITION BY conversation, agent, tool, shape) < $k THEN NULL
             ELSE answer_key(status, ending, error_text, text, result, error_message) END AS answered,
        CASE WHEN count(error_text) OVER (PARTITION BY conversation, agent, tool) >= $k THEN error_text END AS error
    FROM with_error
),
-- members of arguments that are numbers, one per row, such as "turn":3
numbers AS (
    SELECT *, regexp_extract(member, '^"([^"]+)', 1) AS name, TRY_CAST(regexp_extract(member, '([0-9]+)$', 1) AS BIGINT) AS number
    FROM (
        SELECT conversation, agent, tool, shape, span_id, place, answered,
            unnest(string_split(coalesce(number_lines(arguments), ''), chr(10))) AS member
        FROM compared
        WHERE shape IS NOT NULL AND answered IS NOT NULL AND (status = 'error' OR NOT is_acknowledgement(text, result))
    ) AS split
    WHERE regexp_matches(member, '^"[^"]+":[0-9]+$')
),
-- run: calls of a tool, one after the other, whose number counts up by 1 while arguments and results are else equal
with_run AS (
    SELECT *,
        sum(CASE WHEN number = number_before + 1 AND answered = answered_before THEN 0 ELSE 1 END) OVER (
            PARTITION BY conversation, agent, tool, shape, name ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS run
    FROM (
        SELECT *,
            lag(number) OVER of_member AS number_before,
            lag(answered) OVER of_member AS answered_before,
            count(*) OVER (PARTITION BY span_id, name) AS same_name
        FROM numbers
        WINDOW of_member AS (PARTITION BY conversation, agent, tool, shape, name ORDER BY place)
    ) AS with_before
),
-- calls with a counter: from 0 or 1, in a member whose name does not say that it addresses something
with_counter AS (
    SELECT *,
        CASE WHEN same_name = 1
              AND count(*) OVER of_run >= $k
              AND min(number) OVER of_run <= 1
              AND NOT is_address(name) THEN 1 ELSE 0 END AS is_counter
    FROM with_run
    WINDOW of_run AS (PARTITION BY conversation, agent, tool, shape, name, run)
),
-- numbered: the arguments without their counters, as a number
counted AS (
    SELECT span_id AS counted_span_id, text_key(concat(max(shape), '|', sum(CASE WHEN is_counter = 0 THEN text_key(member) END))) AS numbered
    FROM with_counter
    GROUP BY span_id
    HAVING max(is_counter) = 1
),
-- step: what is compared in an alternation; a call that has no equal one is only itself
stepped AS (
    SELECT
        conversation,
        agent,
        tool,
        call_id,
        span_id,
        first_us,
        ended_us,
        call_ms,
        tokens,
        place,
        places,
        asked,
        answered,
        error,
        concat(tool, '|', asked) AS request,
        CASE WHEN answered IS NULL THEN span_id ELSE md5(concat(tool, '|', asked, '|', answered)) END AS step,
        md5(arguments) AS arguments_hash,
        md5(concat(coalesce(text, ''), '|', coalesce(result, ''), '|', coalesce(error_message, ''))) AS result_hash
    FROM (
        SELECT * EXCLUDE (asked), coalesce(numbered, asked) AS asked
        FROM compared
        LEFT JOIN counted ON counted_span_id = span_id
    ) AS without_counters
),
with_lags AS (
    SELECT *,
        lag(request, 1) OVER in_turn AS request_1,
        lag(request, 2) OVER in_turn AS request_2,
        lag(step, 2) OVER in_turn AS step_2,
        lag(step, 3) OVER in_turn AS step_3
    FROM stepped
    WINDOW in_turn AS (PARTITION BY conversation, agent ORDER BY place)
),
-- a run of calls each of which equals the one before the last, or the one before that
alternating AS (
    SELECT *,
        place - row_number() OVER (PARTITION BY conversation, agent, period ORDER BY place) AS run
    FROM (
        SELECT *,
            CASE WHEN step = step_2 AND request <> request_1 THEN 2
                 WHEN step = step_3 AND request <> request_1 AND request <> request_2 THEN 3 END AS period
        FROM with_lags
    ) AS with_period
    WHERE period IS NOT NULL
),
alternations AS (
    SELECT conversation, agent, period, min(place) - max(period) AS first_place, max(place) AS last_place
    FROM alternating
    GROUP BY conversation, agent, period, run
    HAVING count(*) >= max(period) * ($k - 1)
),
-- calls of a tool between which it has no other result than one kind of error
with_error_run AS (
    SELECT *,
        sum(CASE WHEN error = error_before THEN 0 ELSE 1 END) OVER (
            PARTITION BY conversation, agent, tool ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS lane_no
    FROM (
        SELECT *, lag(error) OVER (PARTITION BY conversation, agent, tool ORDER BY place) AS error_before
        FROM stepped
    ) AS with_before
),
-- calls with equal arguments between which no other result came
with_repeat_run AS (
    SELECT *,
        sum(CASE WHEN answered = answered_before THEN 0 ELSE 1 END) OVER (
            PARTITION BY conversation, agent, tool, asked ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS lane_no
    FROM (
        SELECT *, lag(answered) OVER (PARTITION BY conversation, agent, tool, asked ORDER BY place) AS answered_before
        FROM stepped
        WHERE answered IS NOT NULL
    ) AS with_before
),
-- a call, or a full round of an alternation; lane and lane_no: the sequence that it belongs to
rounds AS (
    SELECT
        s.conversation AS conversation,
        s.agent AS agent,
        'alternation' AS kind,
        CAST(max(a.period) AS BIGINT) AS period,
        '' AS lane,
        CAST(a.first_place AS BIGINT) AS lane_no,
        max(CASE WHEN (s.place - a.first_place) % a.period = 0 THEN s.tool END)
            || ', ' || max(CASE WHEN (s.place - a.first_place) % a.period = 1 THEN s.tool END)
            || coalesce(', ' || max(CASE WHEN (s.place - a.first_place) % a.period = 2 THEN s.tool END), '') AS tools,
        min(s.first_us) AS first_us,
        max(s.first_us) AS last_us,
        max(s.ended_us) AS ended_us,
        sum(s.call_ms) AS round_ms,
        sum(s.tokens) AS tokens,
        max(s.place) AS place,
        max(s.places) AS places,
        arg_max(s.call_id, s.place) AS call_id,
        arg_max(s.span_id, s.place) AS span_id,
        NULL AS asked,
        concat(
            max(CASE WHEN (s.place - a.first_place) % a.period = 0 THEN s.arguments_hash END),
            max(CASE WHEN (s.place - a.first_place) % a.period = 1 THEN s.arguments_hash END),
            coalesce(max(CASE WHEN (s.place - a.first_place) % a.period = 2 THEN s.arguments_hash END), '')
        ) AS arguments_hash,
        concat(
            max(CASE WHEN (s.place - a.first_place) % a.period = 0 THEN s.result_hash END),
            max(CASE WHEN (s.place - a.first_place) % a.period = 1 THEN s.result_hash END),
            coalesce(max(CASE WHEN (s.place - a.first_place) % a.period = 2 THEN s.result_hash END), '')
        ) AS result_hash
    FROM stepped AS s
    JOIN alternations AS a ON a.conversation = s.conversation AND a.agent = s.agent
    WHERE s.place BETWEEN a.first_place AND a.last_place
    GROUP BY s.conversation, s.agent, a.first_place, (s.place - a.first_place) // a.period
    HAVING count(*) = max(a.period)
    UNION ALL
    SELECT conversation, agent, 'error', CAST(1 AS BIGINT), tool, CAST(lane_no AS BIGINT), tool, first_us, first_us, ended_us, call_ms, tokens, place, places,
        call_id, span_id, asked, arguments_hash, result_hash
    FROM with_error_run
    WHERE error IS NOT NULL
    UNION ALL
    SELECT conversation, agent,
        CASE WHEN lane_no < max(lane_no) OVER (PARTITION BY conversation, agent, tool, asked) THEN 'poll' ELSE 'repeat' END,
        CAST(1 AS BIGINT), concat(tool, '|', asked), CAST(lane_no AS BIGINT), tool, first_us, first_us, ended_us, call_ms, tokens, place, places,
        call_id, span_id, asked, arguments_hash, result_hash
    FROM with_repeat_run
    WHERE NOT regexp_matches(lower(tool), '(^|[^a-z])(sleep|wait|delay|pause)([^a-z]|$)')
),
-- one of the calls that ran at the same time; ordinal: its position in its sequence
successive AS (
    SELECT *, row_number() OVER (PARTITION BY kind, conversation, agent, lane, lane_no ORDER BY place) AS ordinal
    FROM (
        SELECT *,
            max(ended_us) OVER (
                PARTITION BY kind, conversation, agent, lane, lane_no ORDER BY place
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS ended_before_us
        FROM rounds
    ) AS with_end
    WHERE kind = 'alternation' OR ended_before_us IS NULL OR first_us >= ended_before_us
),
-- closes: whether the last k rounds started within the window
with_window AS (
    SELECT *,
        CASE WHEN ordinal >= $k AND first_us - first_value(first_us) OVER (
            PARTITION BY kind, conversation, agent, lane, lane_no ORDER BY place ROWS BETWEEN $k - 1 PRECEDING AND CURRENT ROW
        ) <= 1e6 * $window_s THEN 1 ELSE 0 END AS closes
    FROM successive
),
in_loops AS (
    SELECT *,
        ordinal - row_number() OVER (PARTITION BY kind, conversation, agent, lane, lane_no ORDER BY place) AS loop_no
    FROM (
        SELECT *,
            max(closes) OVER (
                PARTITION BY kind, conversation, agent, lane, lane_no ORDER BY place ROWS BETWEEN CURRENT ROW AND $k - 1 FOLLOWING
            ) AS is_in_loop
        FROM with_window
    ) AS with_loop
    WHERE is_in_loop = 1
),
with_first AS (
    SELECT *,
        row_number() OVER (PARTITION BY kind, conversation, agent, lane, lane_no, loop_no ORDER BY place) AS round_no
    FROM in_loops
),
loops AS (
    SELECT
        conversation,
        agent,
        kind,
        lane,
        lane_no,
        loop_no,
        max(tools) AS tools,
        max(period) AS length,
        count(*) AS repeats,
        count(DISTINCT arguments_hash) AS distinct_arguments,
        count(DISTINCT result_hash) AS distinct_results,
        sum(CASE WHEN round_no > 1 THEN round_ms ELSE 0.0 END) AS wasted_ms,
        CAST(round(round(coalesce(sum(CASE WHEN round_no > 1 THEN tokens END), 0), 6)) AS BIGINT) AS wasted_tokens,
        min(first_us) AS first_us,
        max(last_us) AS last_us,
        max(ended_us) AS ended_us,
        min(place) - max(period) + 1 AS first_place,
        max(place) AS last_place,
        max(places) AS places,
        arg_max(call_id, place) AS call_id,
        arg_max(span_id, place) AS span_id
    FROM with_first
    GROUP BY conversation, agent, kind, lane, lane_no, loop_no
    HAVING kind <> 'error' OR count(DISTINCT asked) <> 1
),
-- around: end of the longest alternation, or loop of errors of the same tool, that began no later
with_around AS (
    SELECT *,
        places - last_place < length AND ended_us >= (SELECT ends_us FROM settings) - 1e6 * $window_s AS running,
        greatest(
            CASE WHEN kind <> 'alternation' THEN max(CASE WHEN kind = 'alternation' THEN last_place + length - 1 END) OVER (
                PARTITION BY conversation, agent ORDER BY first_place RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) END,
            CASE WHEN kind IN ('repeat', 'poll') THEN max(CASE WHEN kind = 'error' THEN last_place END) OVER (
                PARTITION BY conversation, agent, tools ORDER BY first_place RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) END
        ) AS around
    FROM loops
)
SELECT
    conversation,
    nullif(agent, '') AS agent,
    tools,
    kind,
    length,
    repeats,
    distinct_arguments,
    distinct_results,
    wasted_ms,
    wasted_tokens,
    running,
    make_timestamp(first_us) AS first,
    make_timestamp(last_us) AS last,
    call_id,
    span_id
FROM with_around
WHERE coalesce(around < last_place, true)
  AND ($tool IS NULL OR strpos(concat(', ', tools, ', '), concat(', ', $tool, ', ')) > 0)
ORDER BY
    CASE WHEN running THEN 0 ELSE 1 END,
    CASE WHEN kind = 'poll' THEN 1 ELSE 0 END,
    wasted_tokens DESC,
    wasted_ms DESC,
    last_us DESC,
    span_id
LIMIT $limit
