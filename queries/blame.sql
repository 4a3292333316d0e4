-- Which signs in a tool's calls go along with failed conversations?
--
-- One row per tool and sign, over the conversations that have an outcome (tt.label(conversation_id=…)); each is one draw. The
-- odds that a conversation failed are compared between conversations with the sign and those without it:
--   failed          a call of the tool failed; compared with the other conversations that use the tool
--   low_confidence  a call reported a confidence below low_below; compared with those in which all were higher
--   repeated        the tool was called with the same arguments `repeats` times or more; compared with the others
--   laundered       an error of the tool was hidden from the model, by what it is recorded to have received; compared with
--                   conversations in which the model saw every error of the tool
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
-- parameters:
--   since      timestamp = NULL  attempts that started at this time or later
--   until      timestamp = NULL  attempts that started before this time
--   tool       text = NULL       this tool only
--   low_below  number = 0.5      a confidence below it is low
--   repeats    integer = 3       equal calls of a conversation that count as repeated
--   ratio      number = 2.0      odds ratio for which needed is computed
--   min_n      integer = 20      a row of fewer conversations is too_few
-- columns:
--   tool            text    name of the tool
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
-- important: tool, sign, verdict, odds_ratio, low, high, conversations, needed
-- hidden: with_sign
-- next: query paths
-- source: pooled odds ratio: Mantel and Haenszel 1959; interval: Robins, Breslow and Greenland 1986; needed: normal
--   approximation of the log odds ratio; normal quantile of Bonferroni's level: Abramowitz and Stegun 26.2.23;
--   z = 1.959963984540054, (1.959963984540054 + 0.841621233572914)^2 = 7.848879734349086
WITH outcome AS (
    SELECT conversation_id AS conversation, CASE WHEN correct THEN 0.0 ELSE 1.0 END AS lost
    FROM conversation_labels
    WHERE correct IS NOT NULL
),
scoped AS (
    SELECT
        tool,
        conversation_id AS conversation,
        call_id,
        agent,
        CAST(arguments AS VARCHAR) AS asked,
        CASE WHEN confidence BETWEEN 0 AND 1 THEN CAST(confidence AS DOUBLE) END AS p,
        status,
        attempt_order(attempt, started_at, span_id) AS place,
        is_finished(status, ending) AS finished,
        CASE WHEN status = 'error' AND (seen_text IS NOT NULL OR seen_error IS NOT NULL) THEN
            CASE WHEN coalesce(seen_length, length(seen_text)) = 0 THEN 1
                 WHEN seen_error THEN 0
                 WHEN NOT seen_error AND coalesce(strpos(seen_text, nullif(error_message, '')), 0) = 0 THEN 1
                 ELSE 0 END END AS hidden
    FROM tool_calls
    WHERE conversation_id IN (SELECT conversation FROM outcome)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
per_call AS (
    SELECT
        tool,
        conversation,
        call_id,
        min(agent) AS agent,
        max(asked) AS asked,
        min(CASE WHEN finished THEN p END) AS p,
        arg_max(CASE WHEN status = 'error' THEN 1 ELSE 0 END, place) FILTER (WHERE finished) AS failed,
        max(hidden) AS hidden
    FROM scoped
    GROUP BY tool, conversation, call_id
),
-- repeated calls, by themselves so that another definition of a loop can replace them
loops AS (
    SELECT tool AS of_tool, conversation AS of_conversation, max(times) AS times
    FROM (
        SELECT tool, conversation, asked, count(*) AS times
        FROM per_call
        WHERE asked IS NOT NULL
        GROUP BY tool, conversation, asked
    ) AS equal_calls
    GROUP BY tool, conversation
),
uses AS (
    SELECT tool, conversation, coalesce(min(agent), '') AS stratum, max(failed) AS failed, min(p) AS p, max(hidden) AS hidden
    FROM per_call
    GROUP BY tool, conversation
),
-- is_shown: 1 with the sign, 0 without it, NULL where the conversation is not compared
signs AS (
    SELECT tool, conversation, stratum, 'failed' AS sign, failed AS is_shown FROM uses
    UNION ALL
    SELECT tool, conversation, stratum, 'low_confidence' AS sign, CASE WHEN p IS NOT NULL THEN CASE WHEN p < $low_below THEN 1 ELSE 0 END END AS is_shown
    FROM uses
    UNION ALL
    SELECT tool, conversation, stratum, 'repeated' AS sign, CASE WHEN times >= $repeats THEN 1 ELSE 0 END AS is_shown
    FROM uses
    JOIN loops ON of_tool = tool AND of_conversation = conversation
    UNION ALL
    SELECT tool, conversation, stratum, 'laundered' AS sign, hidden AS is_shown FROM uses
),
-- a: with the sign and failed, b: with it and not failed, c: without it and failed, d: without it and not failed
tables AS (
    SELECT
        tool,
        sign,
        stratum,
        sum(is_shown * lost) AS a,
        sum(is_shown * (1 - lost)) AS b,
        sum((1 - is_shown) * lost) AS c,
        sum((1 - is_shown) * (1 - lost)) AS d,
        CAST(count(*) AS DOUBLE) AS n
    FROM signs AS s
    JOIN outcome AS o ON o.conversation = s.conversation
    WHERE is_shown IS NOT NULL
    GROUP BY tool, sign, stratum
),
pooled AS (
    SELECT
        tool,
        sign,
        sum(a) AS a, sum(b) AS b, sum(c) AS c, sum(d) AS d, sum(n) AS n,
        count(*) FILTER (WHERE (a + b) * (c + d) > 0) AS strata,
        sum(a * d / n) AS r,
        sum(b * c / n) AS s,
        sum((a + d) / n * a * d / n) AS pr,
        sum((a + d) / n * b * c / n + (b + c) / n * a * d / n) AS ps_qr,
        sum((b + c) / n * b * c / n) AS qs
    FROM tables
    GROUP BY tool, sign
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
    tool,
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
    tool,
    sign
