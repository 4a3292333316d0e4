-- Which signs in a tool's calls go along with failed conversations?
--
-- One row per group and sign, over the conversations that have an outcome (tt.label(conversation_id=…)); each is one draw. The
-- odds that a conversation failed are compared between conversations with the sign and those without it:
--   failed          a call of the tool failed; compared with the other conversations that use the tool
--   low_confidence  a call reported a confidence below low_below; compared with those in which all were higher
--   repeated        it has a loop of calls with equal arguments and results, `repeats` in `window_s` seconds or more, as the
--                   kind repeat of the query loops; calls at the same time count here. Compared with the others
--   laundered       an error of the tool was hidden from the model, by what it is recorded to have received; compared with
--                   conversations in which the model saw every error of the tool
-- With `by` version, calls of this version have the sign or lack it; the conversations compared are those that call it.
--
-- Conversations are compared with those of the same agent (strata), and the ratios of the agents are pooled (Mantel-Haenszel).
-- An odds_ratio of 1 means no association.
--
-- An association does not say why. Longer conversations have more calls that can fail, and hard tasks may fail together with
-- the tool: compare alike conversations before changing a tool. The verdicts `more_often` and `less_often` hold for all
-- comparisons of the answer together (Bonferroni); `maybe_more_often` and `maybe_less_often` for one alone, which happens in
-- about one of twenty comparisons without any association. `needed` is the number of labelled conversations that would show
-- an odds ratio of `ratio` in 80 of 100 histories, with the shares of this row. The verdict is `too_few` below min_n
-- conversations, or where fewer than 5 of them have the sign, lack it, failed or succeeded.
--
-- Measured on 500 simulated histories each, of 20 to 330 conversations of two agents: the 95 % interval contains the true
-- ratio in 94 to 99 % of them, excludes 1 in 1 to 6 % of those without any association, and with as many conversations as
-- `needed` in 78 to 83 % (docs/explanation/statistics.md).
--
-- group: agents
-- by: tool (default), version, agent, model, release, environment, attributes
-- parameters:
--   since      timestamp = NULL  attempts that started at this time or later
--   until      timestamp = NULL  attempts that started before this time
--   tool       text = NULL       this tool only
--   low_below  number = 0.5      a confidence below it is low
--   repeats    positive = 3      equal calls that count as repeated
--   window_s   positive = 600    seconds in which they start
--   ratio      number = 2.0      odds ratio for which needed is computed
--   min_n      integer = 20      a row of fewer conversations is too_few
-- columns:
--   sign            text    failed, low_confidence, repeated or laundered
--   verdict         text    more_often, maybe_more_often, less_often, maybe_less_often, unclear or too_few: how often conversations with the sign fail, compared with those without
--   odds_ratio      ratio   odds of failure with the sign / odds without it, pooled over agents
--   low             low(odds_ratio)   95 % interval of odds_ratio; NULL if a cell of the table is empty
--   high            high(odds_ratio)  95 % interval of odds_ratio; NULL if a cell of the table is empty
--   conversations   count   labelled conversations that are compared
--   with_sign       count   conversations among them with the sign
--   failed_with     share   share of the conversations with the sign that failed
--   failed_with_low   low(failed_with)   95 % interval of failed_with
--   failed_with_high  high(failed_with)  95 % interval of failed_with
--   failed_without  share   share of the conversations without the sign that failed
--   failed_without_low   low(failed_without)   95 % interval of failed_without
--   failed_without_high  high(failed_without)  95 % interval of failed_without
--   needed          count   labelled conversations that would show an odds ratio of `ratio` in 80 of 100 histories; NULL if unknown
--   strata          count   agents with conversations of both kinds and both outcomes or one of them
--   compared        count   comparisons in this answer that have enough data
-- content: all
-- important: sign, verdict, odds_ratio, low, high, conversations, needed
-- hidden: with_sign
-- next: query paths
-- source: pooled odds ratio: Mantel and Haenszel 1959; interval: Robins, Breslow and Greenland 1986; needed: normal
--   approximation of the log odds ratio; normal quantile of Bonferroni's level: Abramowitz and Stegun 26.2.23;
--   z = 1.959963984540054, (1.959963984540054 + 0.841621233572914)^2 = 7.848879734349086
WITH outcome AS (
    SELECT conversation_id, text_key(conversation_id) AS of_conversation, CASE WHEN correct THEN 0.0 ELSE 1.0 END AS lost
    FROM conversation_labels
    WHERE correct IS NOT NULL
),
-- numbers instead of texts, which are only compared
scoped AS NOT MATERIALIZED (
    SELECT
        /* by */ tool, /* end by */
        tool AS called,
        text_key(conversation_id) AS conversation,
        text_key(call_id) AS call_number,
        coalesce(agent, '') AS caller,
        CAST(arguments AS VARCHAR) AS arguments,
        text,
        CAST(result AS VARCHAR) AS result,
        code,
        error_type,
        error_message,
        ending,
        call_id,
        epoch_us(started_at) AS started_us,
        status,
        attempt_order(attempt, started_at, span_id) AS place,
        text_key(span_id) AS span_key,
        is_finished(status, ending) AS finished
    FROM attempts
    WHERE conversation_id IN (SELECT conversation_id FROM outcome)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- arguments that a tool gets `repeats` times or more in a conversation, so that few rows are counted by distinct calls
frequent AS (
    SELECT called, conversation, caller, asked
    FROM (SELECT called, conversation, caller, arguments_key(arguments) AS asked FROM scoped WHERE arguments IS NOT NULL) AS requests
    WHERE NOT regexp_matches(lower(called), '(^|[^a-z])(sleep|wait|delay|pause)([^a-z]|$)')
    GROUP BY called, conversation, caller, asked
    HAVING count(*) >= $repeats
),
requested AS (
    SELECT *
    FROM (
        SELECT *, arguments_key(arguments) AS asked
        FROM scoped
        WHERE arguments IS NOT NULL AND conversation IN (SELECT conversation FROM frequent)
    ) AS in_conversations
    WHERE (called, conversation, caller, asked) IN (SELECT (called, conversation, caller, asked) FROM frequent)
),
-- calls with equal arguments, if there are `repeats` or more in a conversation
asked_again AS (
    SELECT called, conversation, caller, asked, call_id, min(call_number) AS call_number, min(started_us) AS started_us,
        arg_max(answered, place) AS answered
    FROM (
        SELECT *, answer_key(
            status, ending, CASE WHEN status = 'error' THEN error_key(code, error_type, error_message) END, text, result,
            error_message) AS answered
        FROM requested
        WHERE (called, conversation, caller, asked) IN (
            SELECT (called, conversation, caller, asked)
            FROM requested
            GROUP BY called, conversation, caller, asked
            HAVING count(DISTINCT call_id) >= $repeats
        )
    ) AS with_answer
    GROUP BY called, conversation, caller, asked, call_id
),
-- run_no: number of the run of equal answers that the call is in
runs AS (
    SELECT *, sum(CASE WHEN answered = answered_before THEN 0 ELSE 1 END) OVER (
        PARTITION BY called, conversation, caller, asked ORDER BY started_us, call_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS run_no
    FROM (
        SELECT *, lag(answered) OVER (PARTITION BY called, conversation, caller, asked ORDER BY started_us, call_id)
            AS answered_before
        FROM asked_again
        WHERE answered IS NOT NULL
    ) AS with_before
),
-- the calls that close a loop: a run after which no other answer came, and the last `repeats` calls began in the window
closing AS (
    SELECT called, conversation, call_number
    FROM (
        SELECT *,
            max(run_no) OVER (PARTITION BY called, conversation, caller, asked) AS last_run,
            row_number() OVER (PARTITION BY called, conversation, caller, asked, run_no ORDER BY started_us, call_id) AS ordinal,
            started_us - first_value(started_us) OVER (
                PARTITION BY called, conversation, caller, asked, run_no ORDER BY started_us, call_id
                ROWS BETWEEN $repeats - 1 PRECEDING AND CURRENT ROW
            ) AS took_us
        FROM runs
    ) AS numbered
    WHERE run_no = last_run AND ordinal >= $repeats AND took_us <= 1e6 * $window_s
),
-- most calls have one attempt, and need no search for the last one that finished
multi_attempt_calls AS (
    SELECT call_number FROM scoped GROUP BY call_number HAVING count(*) > 1
),
retried AS (
    SELECT /* by names */ tool, /* end by */ called, conversation, call_number, span_key, place
    FROM scoped
    WHERE finished AND call_number IN (SELECT call_number FROM multi_attempt_calls)
),
replaced AS (
    SELECT span_key
    FROM retried
    WHERE span_key NOT IN (
        SELECT arg_max(span_key, place) FROM retried GROUP BY /* by names */ tool, /* end by */ called, conversation, call_number
    )
),
judged_attempts AS (
    SELECT
        /* by */ tool, /* end by */
        tool AS called,
        text_key(conversation_id) AS conversation,
        text_key(call_id) AS call_number,
        text_key(span_id) AS span_key,
        nullif(agent, '') AS caller,
        CASE WHEN arguments IS NOT NULL THEN 1 END AS is_known,
        is_finished(status, ending) AS finished,
        CASE WHEN confidence BETWEEN 0 AND 1 THEN CAST(confidence AS DOUBLE) END AS p,
        CASE WHEN status = 'error' THEN 1 ELSE 0 END AS is_error,
        CASE WHEN status = 'error' AND (seen_text IS NOT NULL OR seen_error IS NOT NULL) THEN
            CASE WHEN coalesce(seen_length, length(seen_text)) = 0 THEN 1
                 WHEN seen_error THEN 0
                 WHEN NOT seen_error AND coalesce(strpos(seen_text, nullif(error_message, '')), 0) = 0 THEN 1
                 ELSE 0 END END AS hidden
    FROM tool_calls
    WHERE conversation_id IN (SELECT conversation_id FROM outcome)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
uses AS (
    SELECT
        /* by names */ tool, /* end by */
        conversation,
        coalesce(min(caller), '') AS stratum,
        max(CASE WHEN finished AND span_key NOT IN (SELECT span_key FROM replaced) THEN is_error END) AS failed,
        min(CASE WHEN finished THEN p END) AS p,
        max(CASE WHEN (called, conversation, call_number) IN (SELECT (called, conversation, call_number) FROM closing) THEN 1
                 WHEN is_known = 1 THEN 0 END) AS repeated,
        max(hidden) AS hidden
    FROM judged_attempts
    GROUP BY /* by names */ tool, /* end by */ conversation
),
-- is_shown: 1 with the sign, 0 without it, NULL where the conversation is not compared
signs AS (
    SELECT /* by names */ tool, /* end by */ conversation, stratum, 'failed' AS sign, failed AS is_shown FROM uses
    UNION ALL
    SELECT /* by names */ tool, /* end by */ conversation, stratum, 'low_confidence' AS sign,
        CASE WHEN p IS NOT NULL THEN CASE WHEN p < $low_below THEN 1 ELSE 0 END END AS is_shown
    FROM uses
    UNION ALL
    SELECT /* by names */ tool, /* end by */ conversation, stratum, 'repeated' AS sign, repeated AS is_shown FROM uses
    UNION ALL
    SELECT /* by names */ tool, /* end by */ conversation, stratum, 'laundered' AS sign, hidden AS is_shown FROM uses
),
-- a: with the sign and failed, b: with it and not failed, c: without it and failed, d: without it and not failed
tables AS (
    SELECT
        /* by names */ tool, /* end by */
        sign,
        stratum,
        sum(is_shown * lost) AS a,
        sum(is_shown * (1 - lost)) AS b,
        sum((1 - is_shown) * lost) AS c,
        sum((1 - is_shown) * (1 - lost)) AS d,
        CAST(count(*) AS DOUBLE) AS n
    FROM signs
    JOIN outcome ON of_conversation = conversation
    WHERE is_shown IS NOT NULL
    GROUP BY /* by names */ tool, /* end by */ sign, stratum
),
pooled AS (
    SELECT
        /* by names */ tool, /* end by */
        sign,
        sum(a) AS a, sum(b) AS b, sum(c) AS c, sum(d) AS d, sum(n) AS n,
        count(*) FILTER (WHERE (a + b) * (c + d) > 0) AS strata,
        sum(a * d / n) AS r,
        sum(b * c / n) AS s,
        sum((a + d) / n * a * d / n) AS pr,
        sum((a + d) / n * b * c / n + (b + c) / n * a * d / n) AS ps_qr,
        sum((b + c) / n * b * c / n) AS qs
    FROM tables
    GROUP BY /* by names */ tool, /* end by */ sign
),
estimated AS (
    SELECT *,
        n < $min_n OR least(least(a + b, c + d), least(a + c, b + d)) < 5 OR r = 0 OR s = 0 AS too_few,
        CASE WHEN s > 0 THEN r / s END AS odds_ratio,
        CASE WHEN r > 0 AND s > 0 THEN sqrt(pr / (2 * r * r) + ps_qr / (2 * r * s) + qs / (2 * s * s)) END AS error,
        -- e: share with the sign; p0: share that fails without it
        (a + b) / n AS e,
        c / nullif(c + d, 0) AS p0
    FROM pooled
),
comparisons AS (
    SELECT count(*) AS compared FROM estimated WHERE NOT too_few
),
-- z: for all comparisons together
levels AS (
    SELECT compared, greatest(1.959963984540054, t - (2.515517 + 0.802853 * t + 0.010328 * t * t)
        / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t)) AS z
    FROM (SELECT compared, sqrt(-2 * ln(0.025 / greatest(compared, 1))) AS t FROM comparisons)
),
with_power AS (
    SELECT *, $ratio * p0 / (1 - p0 + $ratio * p0) AS p1 FROM estimated
)
SELECT
    /* by names */ tool, /* end by */
    sign,
    CASE WHEN too_few THEN 'too_few'
         WHEN ln(odds_ratio) > z * error THEN 'more_often'
         WHEN ln(odds_ratio) < -z * error THEN 'less_often'
         WHEN ln(odds_ratio) > 1.959963984540054 * error THEN 'maybe_more_often'
         WHEN ln(odds_ratio) < -1.959963984540054 * error THEN 'maybe_less_often'
         ELSE 'unclear' END AS verdict,
    odds_ratio,
    CASE WHEN error IS NOT NULL THEN odds_ratio * exp(-1.959963984540054 * error) END AS low,
    CASE WHEN error IS NOT NULL THEN odds_ratio * exp(1.959963984540054 * error) END AS high,
    CAST(n AS BIGINT) AS conversations,
    CAST(a + b AS BIGINT) AS with_sign,
    a / nullif(a + b, 0) AS failed_with,
    wilson_low(a, a + b) AS failed_with_low,
    wilson_high(a, a + b) AS failed_with_high,
    p0 AS failed_without,
    wilson_low(c, c + d) AS failed_without_low,
    wilson_high(c, c + d) AS failed_without_high,
    CASE WHEN e > 0 AND e < 1 AND p0 > 0 AND p0 < 1 AND $ratio > 0 AND $ratio <> 1 THEN CAST(ceil(
        7.848879734349086 * (1 / (e * p1 * (1 - p1)) + 1 / ((1 - e) * p0 * (1 - p0))) / power(ln($ratio), 2)) AS BIGINT) END
        AS needed,
    strata,
    compared
FROM with_power
CROSS JOIN levels
ORDER BY
    CASE WHEN too_few THEN 2 WHEN abs(ln(odds_ratio)) > 1.959963984540054 * error THEN 0 ELSE 1 END,
    CASE WHEN NOT too_few THEN ln(odds_ratio) - 1.959963984540054 * error END DESC,
    /* by names */ tool, /* end by */
    sign
