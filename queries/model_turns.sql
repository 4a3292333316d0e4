-- How many tokens does the model take to go on after a call of a tool?
--
-- One row per group and model: the attempts that a model call of the same trace followed, and the tokens of the first such model call after each.
-- A failed call costs such a turn, in which the model reads its context again, and decides what to do instead. Attempts before
-- the same model call share its tokens. The query needs spans of model calls that report their usage.
--
-- group: costs
-- by: tool (default), version, agent, release, environment, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
-- columns:
--   model                 text   name of the model; empty where its spans have none
--   calls                 count  attempts that a model call followed
--   input_tokens          count  tokens that these model calls read
--   output_tokens         count  tokens that they wrote
--   failed                count  attempts among them that failed or were cut off
--   failed_input_tokens   count  tokens that the model calls after these read
--   failed_output_tokens  count  tokens that they wrote
-- verdict: max(failed_input_tokens) Failures of {group} cost most: {model} read {failed_input_tokens} and wrote {failed_output_tokens} tokens to go on after {failed}.
-- next: query errors --tool {tool}
-- order: failed_input_tokens desc, input_tokens desc, groups, model
WITH
-- the model calls themselves, without spans around them that repeat their usage
turns AS (
    SELECT trace_id AS turn_trace, span_id AS turn_span, started_us AS turn_us, model AS read_by, input_tokens, output_tokens
    FROM model_spans
    WHERE span_id NOT IN (SELECT parent_span_id FROM model_spans WHERE parent_span_id IS NOT NULL)
),
ran AS (
    SELECT *, span_order(span_id) AS place
    FROM facts
    WHERE {window} AND (finished OR cut_off) AND trace_id IN (SELECT turn_trace FROM turns)
),
followed AS (
    SELECT place AS followed_place, arg_min(turn_span, turn_us) AS next_span
    FROM ran
    JOIN turns ON turn_trace = trace_id AND turn_us >= ended_us
    GROUP BY place
),
sharing AS (SELECT next_span AS shared_span, count(*) AS sharers FROM followed GROUP BY next_span)
SELECT
    {by},
    read_by AS model,
    count(*) AS calls,
    CAST(floor(sum(input_tokens / sharers) + 0.5) AS BIGINT) AS input_tokens,
    CAST(floor(sum(output_tokens / sharers) + 0.5) AS BIGINT) AS output_tokens,
    count(*) FILTER (WHERE is_bad) AS failed,
    CAST(floor(sum(CASE WHEN is_bad THEN input_tokens / sharers ELSE 0 END) + 0.5) AS BIGINT) AS failed_input_tokens,
    CAST(floor(sum(CASE WHEN is_bad THEN output_tokens / sharers ELSE 0 END) + 0.5) AS BIGINT) AS failed_output_tokens
FROM (SELECT *, failed OR cut_off AS is_bad FROM ran) AS judged_runs
JOIN followed ON followed_place = place
JOIN turns ON turn_span = next_span
JOIN sharing ON shared_span = next_span
GROUP BY ALL
