-- How are the tools doing, and is that better or worse than before?
--
-- Two rows: 'now' is the window from `since` to `until`, and 'before' is the window from `before` to `since`. An attempt is
-- finished if it ended with a status; a failure is a finished attempt with status 'error'. A call is retried if more than
-- one of its attempts in the window finished. The query gap shows how far confidence can be trusted.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 93 to 100 % of them (docs/explanation/coverage.md).
--
-- group: failures
-- parameters:
--   since   timestamp = NULL  attempts that started at this time or later
--   until   timestamp = NULL  attempts that started before this time
--   before  timestamp = NULL  start of the window before, which ends at since; NULL omits it
--   tool    text = NULL       this tool only
--   min_n   integer = 20      a window of fewer attempts is marked too_few
--   rules   rules = 'all'     certain: failures that only a heuristic rule found count as attempts that did not fail
-- columns:
--   period           text                 now or before
--   calls            count                calls with at least one finished attempt
--   failed_calls     count                calls whose last finished attempt failed
--   call_rate        share                failed_calls / calls
--   call_low         low(call_rate)       95 % interval of call_rate
--   call_high        high(call_rate)      95 % interval of call_rate
--   attempts         count                finished attempts
--   failures         count                finished attempts with status 'error'
--   rate             share                failures / attempts
--   low              low(rate)            95 % interval of rate
--   high             high(rate)           95 % interval of rate
--   retried          count                calls with more than one finished attempt
--   retried_share    share                retried / calls
--   retried_low      low(retried_share)   95 % interval of retried_share
--   retried_high     high(retried_share)  95 % interval of retried_share
--   p95              ms                   95th percentile of the time in the tool, without results from a cache
--   p95_low          low(p95)             95 % interval of p95 from order statistics, precise to one part in a thousand
--   p95_high         high(p95)            95 % interval of p95
--   left_out         aside                attempts that did not finish
--   refused          aside                attempts left out: refused, the tool was not run
--   too_few          mark                 attempts < min_n, or they are from fewer than 5 clusters: read the intervals, not the rates
--   clusters         count                conversations among attempts, or traces without a conversation
--   design_effect    ratio                attempts for each independent one that rate is as precise as
--   unread           aside                attempts that returned, where nothing states whether they worked; counted as not failed
-- verdict: first {failed_calls} of {calls:call} failed ({call_rate}, {call_low} to {call_high}); {retried_share} were
--   retried, and 95 % of the attempts took at most {p95}.
-- next: query failure_rate
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998); interval of a
--   percentile: order statistics with the design effect (Woodruff 1952), normal approximation of the binomial;
--   percentiles by linear interpolation (Hyndman and Fan 1996, type 7)
WITH scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    -- reads attempts: tool_calls without the messages to the model
    SELECT
        $since IS NULL OR started_at >= $since AS is_now,
        call_hash AS call_number,
        cluster_hash AS own_cluster,
        attempt,
        started_at,
        span_id,
        conversation_id,
        trace_id,
        is_finished(status, ending) AS finished,
        coalesce(ending = 'refused', false) AS refused,
        coalesce(status = 'error' AND is_finished(status, ending), false)
            AND ($rules = 'all' OR coalesce(rule_grade, '') <> 'heuristic') AS failed,
        coalesce(rule_grade, '') = 'unread' AND is_finished(status, ending) AS was_unread,
        CASE WHEN is_finished(status, ending) AND NOT coalesce(cached, false) THEN known_ms(duration_ms) END AS ms
    FROM attempts
    WHERE (coalesce($before, $since) IS NULL OR started_at >= coalesce($before, $since))
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
attempts_counted AS (
    SELECT
        is_now,
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE failed) AS failures,
        count(*) FILTER (WHERE NOT finished AND NOT refused) AS left_out,
        count(*) FILTER (WHERE refused) AS refused,
        count(*) FILTER (WHERE was_unread) AS unread,
        count(ms) AS timed,
        quantile_cont(ms, 0.95) AS p95
    FROM scoped
    GROUP BY is_now
),
-- most calls have one attempt and need no grouping
multi_attempt_calls AS (
    SELECT
        is_now,
        cluster,
        sum(finished - 1) AS extra_attempts,
        sum(failures) - count(*) FILTER (WHERE last_failed) AS recovered,
        count(*) FILTER (WHERE finished > 1) AS retried
    FROM (
        SELECT is_now, text_key(draw_key(min(conversation_id), min(trace_id))) AS cluster, count(*) AS finished, count(*) FILTER (WHERE failed) AS failures,
            arg_max(failed, attempt_order(attempt, started_at, span_id)) AS last_failed
        FROM scoped
        WHERE finished AND call_number IN (SELECT call_hash FROM repeated_calls)
        GROUP BY is_now, call_number
    )
    GROUP BY is_now, cluster
),
per_cluster AS (
    SELECT is_now, cluster, min(first) AS first, sum(attempts) AS attempts, sum(failures) AS failures, sum(timed) AS timed, sum(slow) AS slow,
        sum(attempts) - sum(extra_attempts) AS calls, sum(failures) - sum(recovered) AS failed_calls, sum(retried) AS retried
    FROM (
        SELECT
            s.is_now,
            s.own_cluster AS cluster,
            min(s.started_at) FILTER (WHERE s.finished) AS first,
            count(*) FILTER (WHERE s.finished) AS attempts,
            count(*) FILTER (WHERE s.failed) AS failures,
            count(s.ms) AS timed,
            count(*) FILTER (WHERE s.ms > CASE WHEN s.is_now THEN p.p95_now ELSE p.p95_before END) AS slow,
            0 AS extra_attempts,
            0 AS recovered,
            0 AS retried
        FROM scoped AS s
        CROSS JOIN (
            SELECT max(CASE WHEN is_now THEN p95 END) AS p95_now, max(CASE WHEN NOT is_now THEN p95 END) AS p95_before
            FROM attempts_counted
        ) AS p
        GROUP BY ALL
        UNION ALL
        SELECT is_now, cluster, NULL, 0, 0, 0, 0, extra_attempts, recovered, retried
        FROM multi_attempt_calls
    )
    GROUP BY is_now, cluster
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM per_cluster WHERE calls > 1 GROUP BY is_now, first HAVING count(*) > 1
),
-- each cluster of several calls with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *,
        lag(attempts) OVER in_time AS attempts_before,
        lag(failures) OVER in_time AS failures_before,
        lag(calls) OVER in_time AS calls_before,
        lag(failed_calls) OVER in_time AS failed_before,
        lag(retried) OVER in_time AS retried_before,
        lag(timed) OVER in_time AS timed_before,
        lag(slow) OVER in_time AS slow_before
    FROM per_cluster
    WHERE calls > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY is_now ORDER BY first)
    UNION ALL
    SELECT *, NULL AS attempts_before, NULL AS failures_before, NULL AS calls_before, NULL AS failed_before,
        NULL AS retried_before, NULL AS timed_before, NULL AS slow_before
    FROM per_cluster
    WHERE calls <= 1 OR first IN (SELECT first FROM tied)
),
clustered AS (
    SELECT
        is_now,
        CAST(sum(calls) AS BIGINT) AS calls,
        CAST(sum(failed_calls) AS BIGINT) AS failed_calls,
        CAST(sum(retried) AS BIGINT) AS retried,
        count(*) FILTER (WHERE attempts > 0) AS clusters,
        chained_clusters(failures, attempts, failures_before, attempts_before) AS effective,
        chained_clusters(failed_calls, calls, failed_before, calls_before) AS failed_effective,
        chained_clusters(retried, calls, retried_before, calls_before) AS retried_effective,
        chained_clusters(slow, timed, slow_before, timed_before) AS timed_effective
    FROM in_order
    GROUP BY is_now
),
-- durations equal to one part in a thousand, the shortest first; n_to: durations up to this one
steps AS (
    SELECT is_now, lowest, highest, sum(n) OVER (PARTITION BY is_now ORDER BY lowest) AS n_to
    FROM (
        SELECT is_now, min(ms) AS lowest, max(ms) AS highest, count(*) AS n
        FROM scoped
        WHERE ms IS NOT NULL
        GROUP BY is_now, round(1000 * ln(greatest(ms, 1e-6)))
    )
),
percentile AS (
    SELECT
        a.is_now,
        min(CASE WHEN s.n_to >= 0.95 * a.timed - 0.427167 * a.timed / sqrt(c.timed_effective) THEN s.lowest END) AS low,
        min(CASE WHEN s.n_to >= 0.95 * a.timed + 0.427167 * a.timed / sqrt(c.timed_effective) + 1 THEN s.highest END) AS high
    FROM attempts_counted AS a
    JOIN clustered AS c ON c.is_now = a.is_now
    JOIN steps AS s ON s.is_now = a.is_now
    GROUP BY a.is_now
),
with_intervals AS (
    SELECT a.*, c.* EXCLUDE (is_now), p.low AS p95_from, p.high AS p95_to
    FROM attempts_counted AS a
    LEFT JOIN clustered AS c ON c.is_now = a.is_now
    LEFT JOIN percentile AS p ON p.is_now = a.is_now
)
SELECT
    CASE WHEN is_now THEN 'now' ELSE 'before' END AS period,
    coalesce(calls, 0) AS calls,
    coalesce(failed_calls, 0) AS failed_calls,
    failed_calls / nullif(calls, 0) AS call_rate,
    cluster_low(failed_calls, calls, failed_effective) AS call_low,
    cluster_high(failed_calls, calls, failed_effective) AS call_high,
    attempts,
    failures,
    failures / nullif(attempts, 0) AS rate,
    cluster_low(failures, attempts, effective) AS low,
    cluster_high(failures, attempts, effective) AS high,
    coalesce(retried, 0) AS retried,
    retried / nullif(calls, 0) AS retried_share,
    cluster_low(retried, calls, retried_effective) AS retried_low,
    cluster_high(retried, calls, retried_effective) AS retried_high,
    p95,
    least(p95, p95_from) AS p95_low,
    CASE WHEN p95_to IS NOT NULL THEN greatest(p95, p95_to) END AS p95_high,
    left_out,
    refused,
    too_few_draws(clusters, attempts, $min_n) AS too_few,
    clusters,
    attempts / nullif(effective, 0) AS design_effect,
    unread
FROM with_intervals
ORDER BY is_now DESC
