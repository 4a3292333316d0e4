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
--   approximation of the log odds ratio, 5 % and 80 %
-- reasoner: blame
WITH outcome AS (
    SELECT conversation_id AS of_conversation, CASE WHEN correct THEN 0 ELSE 1 END AS lost FROM conversation_labels WHERE correct IS NOT NULL
),
-- request: a number of the tool, its agent, the conversation and the arguments
requests AS (
    SELECT *, text_key(concat(cluster, '|', agent, '|', tool, '|', arguments_key(CAST(arguments AS VARCHAR)))) AS request
    FROM facts
    WHERE {window} AND is_last AND arguments IS NOT NULL AND conversation IN (SELECT of_conversation FROM outcome)
      AND NOT regexp_matches(lower(tool), '(^|[^a-z])(sleep|wait|delay|pause)([^a-z]|$)')
),
answers AS (
    SELECT request, call_key, call_started_at, answer_key(
        status, ending, CASE WHEN status = 'error' THEN error_key(code, error_type, error_message) END, text, CAST(result AS VARCHAR),
        error_message) AS answered
    FROM requests
    WHERE request IN (SELECT request FROM requests GROUP BY request HAVING count(*) >= $repeats)
),
-- run_no: number of the run of equal answers that the call is in
runs AS (
    SELECT *, sum(CASE WHEN answered = before THEN 0 ELSE 1 END) OVER (
        PARTITION BY request ORDER BY call_started_at, call_key ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS run_no
    FROM (
        SELECT *, lag(answered) OVER (PARTITION BY request ORDER BY call_started_at, call_key) AS before
        FROM answers
        WHERE answered IS NOT NULL
    ) AS in_order
),
-- the calls that close a loop: a run after which no other answer came, and the last `repeats` calls began in the window
closing AS (
    SELECT call_key AS closing_call
    FROM (
        SELECT *,
            max(run_no) OVER (PARTITION BY request) AS last_run,
            lag(call_started_at, $repeats - 1) OVER (PARTITION BY request, run_no ORDER BY call_started_at, call_key) AS began
        FROM runs
    ) AS numbered
    WHERE run_no = last_run AND epoch(call_started_at) - epoch(began) <= $window_s
),
uses AS (
    SELECT
        {by},
        cluster,
        coalesce(min(nullif(agent, '')), '') AS stratum,
        min(lost) AS lost,
        max(CASE WHEN ends_call THEN CASE WHEN failed THEN 1 ELSE 0 END END) AS failed,
        min(CASE WHEN finished AND confidence BETWEEN 0 AND 1 THEN confidence END) AS sureness,
        max(CASE WHEN call_key IN (SELECT closing_call FROM closing) THEN 1 WHEN arguments IS NOT NULL THEN 0 END) AS repeated,
        max(CASE WHEN is_recorded IS NULL THEN NULL WHEN characters = 0 THEN 1 WHEN says_error THEN 0
            WHEN NOT says_error AND coalesce(strpos(message, nullif(error_message, '')), 0) = 0 THEN 1 ELSE 0 END) AS laundered
    FROM facts
    JOIN outcome ON of_conversation = conversation
    LEFT JOIN (
        SELECT span_id AS of_span, true AS is_recorded, seen_text AS message, seen_error AS says_error,
            coalesce(seen_length, length(seen_text)) AS characters
        FROM tool_calls
        WHERE status = 'error' AND (seen_text IS NOT NULL OR seen_error IS NOT NULL)
    ) AS seen ON of_span = span_id
    WHERE {window}
    GROUP BY {by}, cluster
),
-- shown: 1 with the sign, 0 without it, NULL where the conversation is not compared
signs AS (
    SELECT {by}, stratum, lost, 'failed' AS sign, failed AS shown FROM uses
    UNION ALL
    SELECT {by}, stratum, lost, 'low_confidence', CASE WHEN sureness < $low_below THEN 1 WHEN sureness IS NOT NULL THEN 0 END FROM uses
    UNION ALL
    SELECT {by}, stratum, lost, 'repeated', repeated FROM uses
    UNION ALL
    SELECT {by}, stratum, lost, 'laundered', laundered FROM uses
)
-- a: with the sign and failed, b: with it and not failed, c: without it and failed, d: without it and not failed
SELECT
    {by},
    sign,
    stratum,
    count(*) FILTER (WHERE shown = 1 AND lost = 1) AS a,
    count(*) FILTER (WHERE shown = 1 AND lost = 0) AS b,
    count(*) FILTER (WHERE shown = 0 AND lost = 1) AS c,
    count(*) FILTER (WHERE shown = 0 AND lost = 0) AS d
FROM signs
WHERE shown IS NOT NULL
GROUP BY ALL
