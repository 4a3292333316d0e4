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
WITH scoped AS (
    SELECT
        /* by */ tool, /* end by */
        -- numbers instead of texts, which are only compared; reader: the agent in its conversation
        text_key(concat(draw_key(conversation_id, trace_id), chr(10), coalesce(agent, ''))) AS reader,
        text_key(trace_id) AS trace_key,
        text_key(span_id) AS span_key,
        span_order(span_id) AS place,
        call_id,
        tool AS called,
        epoch_us(started_at) AS started_us,
        epoch_us(started_at) + CAST(1000 * coalesce(known_ms(duration_ms), 0) AS BIGINT) AS ended_us,
        seen_length IS NOT NULL AS is_seen,
        coalesce(seen_length, CAST(length(coalesce(seen_text, nullif(text, ''), CAST(result AS VARCHAR), error_message)) AS BIGINT)) AS characters,
        answer_tokens(result_tokens, seen_text, seen_length, text, result, error_message, status, full_sizes) AS tokens,
        result_tokens IS NOT NULL AS is_counted,
        CASE WHEN coalesce(seen_hash, seen_text, nullif(text, ''), CAST(result AS VARCHAR), error_message) IS NOT NULL
            THEN text_key(coalesce(seen_hash, seen_text, nullif(text, ''), CAST(result AS VARCHAR), error_message)) END AS content
    FROM tool_calls
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ending NOT IN ('paused', 'declined', 'expired', 'refused')
),
-- the parts of call_key() as numbers
identified AS NOT MATERIALIZED (
    SELECT
        text_key(call_id) AS call_number,
        text_key(tool) AS tool_key,
        text_key(coalesce(conversation_id, host, '')) AS conversation_or_host,
        CASE WHEN conversation_id IS NULL THEN coalesce(pid, -1) ELSE -2 END AS process,
        text_key(span_id) AS span_key,
        attempt_order(attempt, started_at, span_id) AS attempt_place
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ending NOT IN ('paused', 'declined', 'expired', 'refused')
),
-- most calls have one attempt, and need no search for the last one
multi_attempt_calls AS (
    SELECT call_number FROM identified GROUP BY call_number HAVING count(*) > 1
),
retried AS (
    SELECT * FROM identified WHERE call_number IN (SELECT call_number FROM multi_attempt_calls)
),
replaced AS (
    SELECT span_key
    FROM retried
    WHERE span_key NOT IN (
        SELECT arg_max(span_key, attempt_place) FROM retried GROUP BY call_number, tool_key, conversation_or_host, process
    )
),
received AS (
    SELECT * FROM scoped WHERE is_seen OR span_key NOT IN (SELECT span_key FROM replaced)
),
-- results that equal an earlier one of the conversation
copies AS (
    SELECT span_key
    FROM (
        SELECT span_key, row_number() OVER (PARTITION BY reader, content ORDER BY started_us, place) AS copy_no
        FROM received
        WHERE content IN (SELECT content FROM received GROUP BY reader, content HAVING count(*) > 1)
    ) AS numbered
    WHERE copy_no > 1
),
described_spans AS (
    SELECT
        trace_id,
        span_id,
        parent_span_id,
        epoch_us(started_at) AS started_us,
        epoch_us(started_at) + CAST(1000 * coalesce(known_ms(duration_ms), 0) AS BIGINT) AS ended_us,
        CAST("attributes" AS VARCHAR) AS described
    FROM spans
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
),
-- regular expressions, because a span may hold the prompt: to parse it as JSON takes several times as long
spans_with_usage AS (
    SELECT *, regexp_extract(
        described,
        '"(gen_ai\.usage\.(input|prompt)_tokens|llm\.token_count\.prompt|ai\.usage\.(input|prompt)Tokens)":\s*"?([0-9]+)',
        4
    ) AS input_tokens
    FROM described_spans
    WHERE regexp_matches(
        described,
        '"(gen_ai\.usage\.(input|prompt)_tokens|llm\.token_count\.prompt|ai\.usage\.(input|prompt)Tokens)":\s*"?[0-9]'
    )
),
-- spans around those of model calls, such as agents and chains, may repeat the sum of their usage
model_calls AS (
    SELECT
        trace_id,
        span_id,
        started_us,
        ended_us,
        TRY_CAST(input_tokens AS DOUBLE) AS input_tokens,
        TRY_CAST(regexp_extract(
            described,
            '"(gen_ai\.usage\.(output|completion)_tokens|llm\.token_count\.completion|ai\.usage\.(output|completion)Tokens)":\s*"?([0-9]+)',
            4
        ) AS DOUBLE) AS output_tokens,
        regexp_matches(described, '"(gen_ai|llm|ai)\.[A-Za-z_.]*reasoning[A-Za-z_.]*":\s*"?[1-9]') AS has_reasoning,
        regexp_extract(
            described, '"(gen_ai\.request\.model|gen_ai\.response\.model|llm\.model_name|ai\.model\.id)":\s*"([^"]*)"', 2
        ) AS model
    FROM spans_with_usage
    WHERE span_id NOT IN (SELECT parent_span_id FROM spans_with_usage WHERE parent_span_id IS NOT NULL)
      AND NOT regexp_matches(
        described,
        '"gen_ai\.operation\.name":\s*"(invoke_agent|create_agent|invoke_workflow|execute_tool|embeddings)"'
      )
      AND NOT regexp_matches(
        described,
        '"openinference\.span\.kind":\s*"(AGENT|CHAIN|TOOL|EMBEDDING|RETRIEVER|RERANKER|GUARDRAIL|EVALUATOR)"'
      )
),
-- the conversation and the agent of each trace of one agent: the model calls in it are that agent's
readers AS (
    SELECT trace_id, max(reader) AS reader
    FROM (
        SELECT
            trace_id,
            text_key(concat(draw_key(conversation_id, trace_id), chr(10), coalesce(agent, ''))) AS reader
        FROM attempts
        WHERE trace_id IN (SELECT trace_id FROM model_calls)
          AND ($since IS NULL OR started_at >= $since)
          AND ($until IS NULL OR started_at < $until)
          AND ending NOT IN ('paused', 'declined', 'expired', 'refused')
    ) AS in_traces
    GROUP BY trace_id
    HAVING min(reader) = max(reader)
),
-- is_model: 0 for a result, 1 for a model call
events AS (
    SELECT reader, span_key, place, started_us, ended_us, 0 AS is_model FROM received
    UNION ALL
    SELECT r.reader, text_key(m.span_id) AS span_key, span_order(m.span_id) AS place, m.started_us,
        m.started_us AS ended_us, 1 AS is_model
    FROM model_calls AS m
    JOIN readers AS r ON r.trace_id = m.trace_id
),
with_result_end AS (
    SELECT *,
        max(CASE WHEN is_model = 0 THEN ended_us END) OVER (
            PARTITION BY reader ORDER BY started_us, place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS result_ended_us
    FROM events
),
-- is_turn: 1 where a turn begins: a call that no earlier call of the agent overlaps. Model calls inside a tool are left out
with_begin AS (
    SELECT reader, span_key, place, started_us, is_model,
        CASE WHEN is_model = 1 OR started_us < result_ended_us THEN 0 ELSE 1 END AS is_turn
    FROM with_result_end
    WHERE is_model = 0 OR coalesce(started_us >= result_ended_us, true)
),
-- turns and model calls that begin after the result
with_later AS (
    SELECT
        span_key,
        is_model,
        coalesce(sum(is_turn) OVER later, 0) AS later_turns,
        coalesce(sum(is_model) OVER later, 0) AS later_models,
        sum(is_model) OVER (PARTITION BY reader) AS models
    FROM with_begin
    WINDOW later AS (
        PARTITION BY reader ORDER BY started_us, place ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    )
),
-- what the model read anew in a call: since the call before of the same model, which ended at from_us
grown AS (
    SELECT text_key(trace_id) AS trace_key, text_key(span_id) AS turn_id, started_us AS to_us,
        lag(ended_us) OVER of_model AS from_us,
        input_tokens - lag(input_tokens) OVER of_model - lag(output_tokens) OVER of_model AS added,
        lag(has_reasoning) OVER of_model AS after_reasoning
    FROM model_calls
    WHERE text_key(span_id) IN (SELECT span_key FROM with_later WHERE is_model = 1)
      AND trace_id NOT IN (SELECT trace_id FROM attempts WHERE ending IN ('paused', 'declined', 'expired'))
    WINDOW of_model AS (PARTITION BY trace_id, model ORDER BY started_us, span_id)
),
-- results that ran between two model calls, or partly so
in_turns AS (
    SELECT g.turn_id AS turn_id, g.added AS added, r.span_key AS span_key, r.tokens AS tokens, r.is_counted AS is_counted,
        CASE WHEN r.started_us >= g.from_us AND r.ended_us <= g.to_us THEN 1 ELSE 0 END AS is_inside
    FROM grown AS g
    JOIN received AS r ON r.trace_key = g.trace_key
    WHERE g.added > 0 AND NOT g.after_reasoning AND r.ended_us >= g.from_us AND r.started_us <= g.to_us
),
turns AS (
    SELECT turn_id,
        max(added) - coalesce(sum(CASE WHEN is_counted THEN tokens END), 0) AS remaining,
        count(CASE WHEN NOT is_counted THEN 1 END) AS uncounted,
        coalesce(sum(CASE WHEN NOT is_counted THEN tokens END), 0) AS estimated,
        count(CASE WHEN NOT is_counted AND tokens IS NULL THEN 1 END) AS unknown
    FROM in_turns
    GROUP BY turn_id
    HAVING min(is_inside) = 1
),
-- exact tokens; uncounted: results that share them. A result between the calls of two models is not attributed
exact AS (
    SELECT i.span_key AS span_key, max(t.uncounted) AS uncounted,
        max(CASE WHEN t.uncounted = 1 THEN t.remaining ELSE t.remaining * i.tokens / nullif(t.estimated, 0) END) AS tokens
    FROM in_turns AS i
    JOIN turns AS t ON t.turn_id = i.turn_id
    WHERE NOT i.is_counted
      AND (t.unknown = 0 AND t.remaining BETWEEN t.estimated / 3 AND 3 * t.estimated + 50 * t.uncounted AND t.remaining > 0
        OR t.uncounted = 1 AND t.unknown = 1 AND t.remaining > 0)
    GROUP BY i.span_key
    HAVING count(*) = 1
),
-- readings: how often the model reads the result again
measured AS (
    SELECT
        /* by names */ tool, /* end by */
        r.call_id AS call_id,
        r.place AS place,
        r.started_us AS started_us,
        r.characters AS characters,
        coalesce(e.tokens, r.tokens) AS tokens,
        CASE WHEN r.is_counted THEN 'counted' WHEN e.uncounted = 1 THEN 'usage' WHEN e.uncounted > 1 THEN 'turn'
            WHEN r.tokens IS NOT NULL THEN 'estimate' END AS tokens_by,
        r.span_key IN (SELECT span_key FROM copies) AS is_copy,
        CASE WHEN l.models > 0 THEN greatest(l.later_models - 1.0, 0.0) ELSE 1.0 * l.later_turns END AS readings
    FROM received AS r
    JOIN with_later AS l ON l.span_key = r.span_key
    LEFT JOIN exact AS e ON e.span_key = r.span_key
    WHERE l.is_model = 0
      AND ($tool IS NULL OR r.called = $tool)
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        count(tokens) AS results,
        CAST(coalesce(sum(CASE WHEN tokens IS NOT NULL THEN characters END), 0) AS BIGINT) AS characters,
        coalesce(sum(tokens), 0.0) AS tokens,
        coalesce(sum(tokens * readings), 0.0) AS carried_tokens,
        quantile_cont(tokens, 0.95) AS p95_tokens,
        max(tokens) AS max_tokens,
        arg_max(call_id, size_order(tokens, started_us, place)) AS max_call_id,
        avg(CASE WHEN tokens IS NOT NULL THEN readings END) AS mean_turns,
        coalesce(sum(CASE WHEN is_copy THEN tokens END), 0.0) AS repeated_tokens,
        coalesce(sum(greatest(tokens - $cut, 0) * (1 + readings)), 0.0) AS saved_tokens,
        count(CASE WHEN tokens_by = 'counted' THEN 1 END) AS counted,
        count(CASE WHEN tokens_by = 'usage' THEN 1 END) AS by_usage,
        count(CASE WHEN tokens_by = 'turn' THEN 1 END) AS by_turn,
        count(*) - count(tokens) AS unknown
    FROM measured
    GROUP BY ALL
)
SELECT
    /* by names */ tool, /* end by */
    results,
    characters,
    CAST(round(round(tokens, 6)) AS BIGINT) AS tokens,
    CAST(round(round(carried_tokens, 6)) AS BIGINT) AS carried_tokens,
    (tokens + carried_tokens) / nullif(sum(tokens + carried_tokens) OVER (), 0) AS share,
    tokens / nullif(results, 0) AS mean_tokens,
    CAST(round(round(p95_tokens, 6)) AS BIGINT) AS p95_tokens,
    CAST(round(round(max_tokens, 6)) AS BIGINT) AS max_tokens,
    max_call_id,
    mean_turns,
    CAST(round(round(repeated_tokens, 6)) AS BIGINT) AS repeated_tokens,
    repeated_tokens / nullif(tokens, 0) AS repeated_share,
    CAST(round(round(saved_tokens, 6)) AS BIGINT) AS saved_tokens,
    saved_tokens / nullif(tokens + carried_tokens, 0) AS saved_share,
    nullif(concat_ws(
        ', ',
        CASE WHEN counted > 0 THEN 'counted' END,
        CASE WHEN by_usage > 0 THEN 'usage' END,
        CASE WHEN by_turn > 0 THEN 'turn' END,
        CASE WHEN results > counted + by_usage + by_turn THEN 'estimate' END
    ), '') AS tokens_by,
    counted,
    by_usage,
    by_turn,
    unknown
FROM counted
ORDER BY round(tokens + carried_tokens, 6) DESC, /* by names */ tool, /* end by */ results DESC
