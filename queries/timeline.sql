-- How do attempts, failures and durations change over time?
--
-- One row per interval in which attempts of the group started, in order; intervals without attempts are left out. All
-- intervals have the same length: the shortest round length, from a second to 365 days, for which the attempts, or `span_s`
-- seconds, span at most `parts` intervals. A failure is a finished attempt with status 'error'.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 96 to 100 % of them (docs/explanation/coverage.md).
--
-- group: failures
-- by: tool (default), version, code, agent, model, release, environment, conversation, status, rule, rule_grade, attributes
-- parameters:
--   since   timestamp = NULL  attempts that started at this time or later
--   until   timestamp = NULL  attempts that started before this time
--   tool    text = NULL       this tool only
--   parts   integer = 60      maximum number of intervals; one more if the first attempt starts inside an interval
--   span_s  positive = NULL   length of the window in seconds; NULL: that of the time between the first and the last attempt
--   min_n   integer = 20      an interval of fewer attempts is marked too_few
--   rules   rules = 'all'     certain: failures that only a heuristic rule found count as attempts that did not fail
-- columns:
--   started   time        start of the interval
--   seconds   count       length of the interval
--   attempts  count       finished attempts
--   failures  count       finished attempts with status 'error'
--   rate      share       failures / attempts
--   low       low(rate)   95 % interval of rate
--   high      high(rate)  95 % interval of rate
--   p50       ms          median of the time in the tool, without results from a cache
--   p95       ms          95th percentile of the time in the tool
--   left_out  aside       attempts that did not finish
--   refused   aside       attempts left out: refused, the tool was not run
--   too_few   mark        attempts < min_n, or they are from fewer than 5 clusters: read the interval, not the rate
--   clusters  count       conversations with finished attempts, or traces without a conversation
--   design_effect  ratio  attempts for each independent one that rate is as precise as
-- important: started, attempts, failures, rate, p95
-- verdict: max(rate) {group} failed most from {started} on: {failures} of {attempts:attempt} ({rate}).
-- next: query incidents --tool {tool}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
WITH scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    SELECT
        /* by */ tool, /* end by */
        cluster_hash AS cluster,
        epoch_us(started_at) / 1e6 AS at_s,
        is_finished(status, ending) AS finished,
        coalesce(ending = 'refused', false) AS refused,
        coalesce(status = 'error' AND is_finished(status, ending), false)
            AND ($rules = 'all' OR coalesce(rule_grade, '') <> 'heuristic') AS failed,
        CASE WHEN is_finished(status, ending) AND NOT coalesce(cached, false) THEN known_ms(duration_ms) END AS ms
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- the last length also applies to windows that are too long for 'parts' intervals of it
lengths AS (
    SELECT unnest([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
        2592000, 31536000]) AS seconds
),
chosen AS (
    SELECT coalesce(min(l.seconds) FILTER (WHERE CAST(l.seconds AS DOUBLE) * greatest($parts, 1) >= w.length_s), 31536000) AS seconds
    FROM lengths AS l
    CROSS JOIN (
        SELECT coalesce($span_s, max(at_s) - min(at_s)) AS length_s FROM scoped
    ) AS w
),
per_cluster AS (
    SELECT
        /* by names */ tool, /* end by */
        floor(at_s / c.seconds) * c.seconds AS started_s,
        cluster,
        min(at_s) FILTER (WHERE finished) AS first_s,
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE failed) AS failures
    FROM scoped
    CROSS JOIN chosen AS c
    GROUP BY ALL
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first_s
    FROM per_cluster
    WHERE attempts > 1
    GROUP BY /* by names */ tool, /* end by */ started_s, first_s
    HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *,
        lag(attempts) OVER in_time AS attempts_before,
        lag(failures) OVER in_time AS failures_before
    FROM per_cluster
    WHERE attempts > 1 AND first_s NOT IN (SELECT first_s FROM tied)
    WINDOW in_time AS (PARTITION BY /* by names */ tool, /* end by */ started_s ORDER BY first_s)
    UNION ALL
    SELECT *, NULL AS attempts_before, NULL AS failures_before
    FROM per_cluster
    WHERE attempts <= 1 OR first_s IN (SELECT first_s FROM tied)
),
-- part: the number of an interval of a group, by which the intervals are joined because names can be NULL
clustered AS (
    SELECT
        text_key(row(/* by names */ tool, /* end by */ started_s)) AS part,
        count(*) FILTER (WHERE attempts > 0) AS clusters,
        chained_clusters(failures, attempts, failures_before, attempts_before) AS effective
    FROM in_order
    GROUP BY part
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        floor(at_s / c.seconds) * c.seconds AS started_s,
        c.seconds,
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE failed) AS failures,
        count(*) FILTER (WHERE NOT finished AND NOT refused) AS left_out,
        count(*) FILTER (WHERE refused) AS refused,
        quantile_cont(ms, [0.5, 0.95]) AS percentiles
    FROM scoped
    CROSS JOIN chosen AS c
    GROUP BY ALL
),
with_effect AS (
    SELECT c.*, k.clusters, k.effective
    FROM counted AS c
    LEFT JOIN clustered AS k ON k.part = text_key(row(/* by names */ tool, /* end by */ c.started_s))
)
SELECT
    /* by names */ tool, /* end by */
    make_timestamp(CAST(started_s * 1e6 AS BIGINT)) AS started,
    seconds,
    attempts,
    failures,
    failures / nullif(attempts, 0) AS rate,
    cluster_low(failures, attempts, effective) AS low,
    cluster_high(failures, attempts, effective) AS high,
    percentiles[1] AS p50,
    percentiles[2] AS p95,
    left_out,
    refused,
    too_few_draws(clusters, attempts, $min_n) AS too_few,
    clusters,
    attempts / nullif(effective, 0) AS design_effect
FROM with_effect
ORDER BY started_s, /* by names */ tool, /* end by */ attempts
