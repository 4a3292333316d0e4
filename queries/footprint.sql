-- What do the results of tools cost the context?
--
-- One row per group, the most expensive first; by tool and call, the largest single results. A result is read once when the
-- model gets it, and again in each later turn of the conversation, because the conversation is sent to the model as a whole:
-- carried_tokens = tokens * later turns. Calls of one agent that overlap in time are one turn. Where the store has spans of model calls with their usage in the traces
-- of a conversation, the model calls after the result are counted instead, except those inside a tool. A conversation that is
-- cut or summarised on the way costs less than carried_tokens says. Of a call with several attempts, those count whose
-- message to the model was recorded, else the last one.
--
-- Tokens are exact where they were counted: by configure(tokens=…) (counted), or by the provider of the model (by_usage).
-- A model call reads what the previous call of the same model in the trace read and wrote, and the results between the two
-- calls. These results have: input tokens of the call - input tokens and output tokens of the previous call. A single
-- result has all of them, with the few tokens that frame a message; several results share them in proportion to their
-- estimates (by_turn). The usage is ignored if the previous call reports reasoning tokens, if a call of the trace was
-- declined or paused, if several agents share the trace, or if the difference is not between a third and three times the
-- estimate (and 50 tokens for each result), because other messages were then added or removed. Usage is read from the
-- attributes of the GenAI conventions, OpenInference, OpenLLMetry and the AI SDK.
--
-- Other tokens are an estimate from what the model received, else from the text or the data of the result: 1 for a character
-- of three bytes in UTF-8, 0.26 for one of ASCII, and 0.37 for one of JSON without spaces. Measured against four tokenizers,
-- the sum is 17 % too low to 15 % too high for English, code, JSON and Chinese, up to 31 % too low for tables of numbers,
-- and wrong by up to a factor of 2 for Russian, Greek and Arabic (docs/explanation/footprint.md).
--
-- group: costs (first)
-- by: tool (default), version, code, agent, model, release, environment, conversation, call, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since         timestamp = NULL  attempts that started at this time or later
--   until         timestamp = NULL  attempts that started before this time
--   tool          text = NULL       this tool only
--   cut           positive = 2000   tokens to which each result would be cut, for saved_tokens
-- columns:
--   results          count   results that the model received
--   characters       count   characters of these results
--   tokens           count   tokens of these results, each read once
--   carried_tokens   count   tokens that the later turns of their conversations read again
--   share            share   tokens + carried_tokens of the group / those of all groups
--   mean_tokens      number  tokens / results
--   p95_tokens       count   95th percentile of the tokens of a result
--   max_tokens       count   tokens of the largest result
--   max_call_id      text    call of the largest result
--   mean_turns       number  later turns of a result, on average
--   repeated_tokens  count   tokens of results that equal an earlier result of the same conversation
--   repeated_share   share   repeated_tokens / tokens; a share of tokens, and so without interval
--   saved_tokens     count   tokens and carried tokens beyond `cut` tokens of each result
--   saved_share      share   saved_tokens / (tokens + carried_tokens); a share of tokens, and so without interval
--   tokens_by        text    sources of the tokens: counted, usage, turn, estimate
--   counted          aside   results whose tokens configure(tokens=…) counted
--   by_usage         aside   results whose tokens are those that the usage of model calls grew by
--   by_turn          aside   results that share those of a turn, in proportion to their estimates
--   unknown          aside   attempts of which neither a message nor a result is recorded
-- content: all
-- important: results, tokens, carried_tokens, share, max_tokens, repeated_share, saved_share, tokens_by
-- hidden: results
-- verdict: max(share) {group} takes most of the context: {share} of all tokens of results, {tokens} read once and
--   {carried_tokens} carried through later turns.
-- next: show {max_call_id}
-- source: byte pair encoders of o200k, cl100k, Claude 2 and DeepSeek, on the texts that docs/explanation/footprint.md names
-- reasoner: footprint
WITH ran AS NOT MATERIALIZED (
    SELECT *, text_key(concat(coalesce(conversation, trace_id), chr(10), coalesce(agent, ''))) AS reader,
        span_order(span_id) AS place, epoch_us(started_at) AS started_us
    FROM facts
    WHERE ($since IS NULL OR started_at >= $since) AND ($until IS NULL OR started_at < $until)
      AND ending NOT IN ('paused', 'declined', 'expired', 'refused')
),
-- the results that the model received
received AS (
    SELECT {by}, reader, place, trace_key, call_id, tool AS called, started_us,
        started_us + CAST(1000 * coalesce(ms, 0) AS BIGINT) AS ended_us,
        coalesce(full_length, CAST(length(coalesce(message, seen_text, nullif(text, ''), CAST(result AS VARCHAR), error_message)) AS BIGINT)) AS characters,
        answer_tokens(coalesce(counted_tokens, result_tokens), coalesce(message, seen_text), full_length, text, result, error_message, status, full_sizes) AS tokens,
        coalesce(counted_tokens, result_tokens) IS NOT NULL AS is_counted,
        text_key(coalesce(digest, message, seen_text, nullif(text, ''), CAST(result AS VARCHAR), error_message)) AS content
    FROM ran
    LEFT JOIN (
        SELECT span_id AS of_span, seen_text AS message, seen_hash AS digest, seen_length AS full_length, result_tokens AS counted_tokens
        FROM tool_calls WHERE seen_hash IS NOT NULL
    ) AS messages ON of_span = span_id
    WHERE full_length IS NOT NULL OR NOT is_repeated
       OR span_id IN (SELECT arg_max(span_id, call_order) FROM ran WHERE is_repeated GROUP BY call_key)
),
-- results that equal an earlier one of the conversation have a number above 1
copies AS (
    SELECT place AS copy_place, row_number() OVER (PARTITION BY reader, content ORDER BY started_us, place) AS copy_no
    FROM received
    WHERE content IN (SELECT content FROM received GROUP BY reader, content HAVING count(*) > 1)
),
calls AS (
    SELECT *, span_order(span_id) AS place, text_key(trace_id) AS trace_key
    FROM model_spans
    WHERE ($since IS NULL OR started_at >= $since) AND ($until IS NULL OR started_at < $until)
      AND span_id NOT IN (SELECT parent_span_id FROM model_spans WHERE parent_span_id IS NOT NULL
          AND ($since IS NULL OR started_at >= $since) AND ($until IS NULL OR started_at < $until))
),
-- results, and the model calls of the traces of one agent, which are that agent's
events AS (
    SELECT reader, place, started_us, ended_us, 0 AS is_model FROM received
    UNION ALL
    SELECT reader, place, started_us, started_us, 1
    FROM calls
    JOIN (
        SELECT trace_key AS of_trace, max(reader) AS reader FROM ran
        WHERE trace_key IN (SELECT trace_key FROM calls) GROUP BY trace_key HAVING min(reader) = max(reader)
    ) AS readers ON of_trace = trace_key
),
-- a call that an earlier one of the agent overlaps begins no turn, and a model call is then inside of a tool
begun AS (
    SELECT *, CASE WHEN started_us < max(CASE WHEN is_model = 0 THEN ended_us END) OVER (
        PARTITION BY reader ORDER BY started_us, place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) THEN 0 ELSE 1 END AS begins
    FROM events
),
-- readings: how often the model reads the result again
read_again AS (
    SELECT place AS of_place, is_model,
        CASE WHEN sum(begins * is_model) OVER (PARTITION BY reader) > 0 THEN greatest(sum(begins * is_model) OVER later - 1.0, 0.0)
            ELSE coalesce(1.0 * sum(begins * (1 - is_model)) OVER later, 0.0) END AS readings
    FROM begun
    WINDOW later AS (PARTITION BY reader ORDER BY started_us, place ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
),
-- what the model read anew in a call: since the call before of the same model, which ended at from_us
grown AS (
    SELECT trace_key AS of_trace, place AS turn, started_us AS to_us, lag(ended_us) OVER of_model AS from_us,
        input_tokens - lag(input_tokens) OVER of_model - lag(output_tokens) OVER of_model AS added,
        lag(has_reasoning) OVER of_model AS after_reasoning
    FROM calls
    WHERE place IN (SELECT place FROM begun WHERE is_model = 1 AND begins = 1)
      AND trace_id NOT IN (SELECT trace_id FROM attempts WHERE ending IN ('paused', 'declined', 'expired'))
    WINDOW of_model AS (PARTITION BY trace_id, model ORDER BY started_us, span_id)
),
-- results that ran between two model calls, or partly so
shared AS (
    SELECT place, tokens, is_counted,
        min(CASE WHEN started_us >= from_us AND ended_us <= to_us THEN 1 ELSE 0 END) OVER turns AS is_inside,
        added - coalesce(sum(CASE WHEN is_counted THEN tokens END) OVER turns, 0) AS remaining,
        sum(CASE WHEN is_counted THEN 0 ELSE 1 END) OVER turns AS sharers,
        coalesce(sum(CASE WHEN NOT is_counted THEN tokens END) OVER turns, 0) AS estimated,
        sum(CASE WHEN NOT is_counted AND tokens IS NULL THEN 1 ELSE 0 END) OVER turns AS unknown
    FROM grown
    JOIN received ON trace_key = of_trace
    WHERE added > 0 AND NOT after_reasoning AND ended_us >= from_us AND started_us <= to_us
    WINDOW turns AS (PARTITION BY turn)
),
exact AS (
    SELECT place AS exact_place, max(sharers) AS sharers,
        max(CASE WHEN sharers = 1 THEN remaining ELSE remaining * tokens / nullif(estimated, 0) END) AS exact_tokens
    FROM shared
    WHERE is_inside = 1 AND NOT is_counted AND remaining > 0 AND (unknown = 1 AND sharers = 1
        OR unknown = 0 AND remaining BETWEEN estimated / 3 AND 3 * estimated + 50 * sharers)
    GROUP BY place HAVING count(*) = 1
)
SELECT
    {by},
    count(size) AS results,
    sum(CASE WHEN size IS NOT NULL THEN characters END) AS characters,
    sum(size) AS tokens,
    sum(size * readings) AS carried_tokens,
    quantile_cont(size, 0.95) AS p95,
    max(size) AS largest,
    arg_max(call_id, size_order(size, started_us, place)) AS max_call_id,
    avg(CASE WHEN size IS NOT NULL THEN readings END) AS mean_turns,
    sum(CASE WHEN place IN (SELECT copy_place FROM copies WHERE copy_no > 1) THEN size END) AS repeated_tokens,
    sum(greatest(size - $cut, 0) * (1 + readings)) AS saved_tokens,
    count(*) FILTER (WHERE is_counted) AS counted,
    count(*) FILTER (WHERE NOT is_counted AND sharers = 1) AS by_usage,
    count(*) FILTER (WHERE NOT is_counted AND sharers > 1) AS by_turn,
    count(*) - count(size) AS unknown
FROM (
    SELECT *, coalesce(exact_tokens, tokens) AS size
    FROM received
    JOIN read_again ON of_place = place AND is_model = 0
    LEFT JOIN exact ON exact_place = place
) AS measured
WHERE $tool IS NULL OR called = $tool
GROUP BY ALL
