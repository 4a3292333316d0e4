-- Which tools wait for a person, for how long, and do approved calls then succeed?
--
-- One row per group of stops at which a call waited for a person. A stop belongs to the group of the attempt that was
-- stopped; if that attempt is unknown, the group is NULL. The waiting time is not part of the latency of the tool; it
-- covers the stops that a person approved or declined. A failure after approval is a failure of the attempt that continued
-- after the answer.
--
-- Grouped by code or status, a stop belongs to the group of the attempt that continued after the answer; the group is NULL
-- if none did, or if it did not finish.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 96 to 97 % of them (docs/explanation/coverage.md).
--
-- group: agents
-- by: tool (default), version, agent, model, release, environment, conversation, day, hour, attributes; code, status, rule, rule_grade
-- parameters:
--   since  timestamp = NULL  stops that were requested at this time or later
--   until  timestamp = NULL  stops that were requested before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer stops is marked too_few
-- columns:
--   n               count  stops
--   approved        count  stops that a person approved, answered with the missing input, or completed by hand
--   declined        count  stops that a person declined
--   expired         count  stops that nobody answered in time
--   waiting         count  stops that nobody has answered yet
--   changed         count  stops at which a person changed or added arguments
--   approved_share  share  approved / (approved + declined)
--   approved_low    low(approved_share)   95 % interval
--   approved_high   high(approved_share)  95 % interval
--   wait_p50        ms     median time until the answer
--   wait_p95        ms     95th percentile of the time until the answer
--   resumed         count  approved stops whose later attempt is known and finished
--   failures        count  resumed stops whose later attempt has status 'error'
--   failure_rate    share  failures / resumed
--   failure_low     low(failure_rate)     95 % interval
--   failure_high    high(failure_rate)    95 % interval
--   unresumed       aside  approved stops whose later attempt is unknown or did not finish
--   too_few         mark   n < min_n, or the stops are from fewer than 5 clusters: read the intervals, not the rates
--   clusters        count  conversations among the stops, or traces without a conversation
--   design_effect   ratio  resumed stops for each independent one that failure_rate is as precise as
-- verdict: max(n) {group} stopped for a person {n:time}: {approved} were approved, {declined} declined, {waiting}
--   still wait.
-- next: query errors --tool {tool}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998); percentiles by
--   linear interpolation between order statistics (Hyndman and Fan 1996, type 7)
WITH stops AS (
    SELECT
        span_id AS stop_span,
        resumed_span_id AS next_span,
        decision,
        CASE WHEN coalesce(CAST(changed AS VARCHAR), '{}') NOT IN ('{}', 'null') THEN 1 ELSE 0 END AS altered,
        CASE WHEN decision IN ('approved', 'declined')
             THEN (epoch_us(answered_at) - epoch_us(asked_at)) / 1000.0 END AS waited_ms,
        asked_at
    FROM gates
    WHERE ($since IS NULL OR asked_at >= $since)
      AND ($until IS NULL OR asked_at < $until)
),
stopped AS (
    SELECT /* by history */ tool, /* end by */ span_id AS stopped_span, draw_key(conversation_id, trace_id) AS stopped_cluster
    FROM attempts
    WHERE span_id IN (SELECT stop_span FROM stops)
      AND ($tool IS NULL OR tool = $tool)
),
continued AS (
    SELECT /* by within */ /* end by */ span_id AS later_span, CASE WHEN status = 'error' THEN 1 ELSE 0 END AS failed
    FROM attempts
    WHERE span_id IN (SELECT next_span FROM stops WHERE decision = 'approved')
      AND is_finished(status, ending)
),
joined AS (
    SELECT
        /* by names */ tool, /* end by */
        -- a stop of an unknown attempt is a cluster of its own
        coalesce(stopped_cluster, stop_span) AS cluster,
        decision,
        altered,
        waited_ms,
        asked_at,
        CASE WHEN decision = 'approved' THEN failed END AS failed
    FROM stops
    LEFT JOIN stopped ON stopped_span = stop_span
    LEFT JOIN continued ON later_span = next_span
    WHERE $tool IS NULL OR stopped_span IS NOT NULL
),
per_cluster AS (
    SELECT
        /* by names */ tool, /* end by */
        cluster,
        min(asked_at) AS first,
        count(*) AS stops_n,
        count(*) FILTER (WHERE decision IN ('approved', 'declined')) AS decided,
        count(*) FILTER (WHERE decision = 'approved') AS approved,
        count(failed) AS resumed,
        count(*) FILTER (WHERE failed = 1) AS failures
    FROM joined
    GROUP BY ALL
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM per_cluster WHERE stops_n > 1 GROUP BY /* by names */ tool, /* end by */ first HAVING count(*) > 1
),
-- each cluster of several stops with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *,
        lag(decided) OVER in_time AS decided_before,
        lag(approved) OVER in_time AS approved_before,
        lag(resumed) OVER in_time AS resumed_before,
        lag(failures) OVER in_time AS failures_before
    FROM per_cluster
    WHERE stops_n > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY /* by names */ tool, /* end by */ 1 ORDER BY first)
    UNION ALL
    SELECT *, NULL AS decided_before, NULL AS approved_before, NULL AS resumed_before, NULL AS failures_before
    FROM per_cluster
    WHERE stops_n <= 1 OR first IN (SELECT first FROM tied)
),
-- row_no: the same number for the rows of one group in both
clustered AS (
    SELECT *, row_number() OVER (ORDER BY /* by names */ tool, /* end by */ 1) AS row_no
    FROM (
        SELECT
            /* by names */ tool, /* end by */
            count(*) AS clusters,
            chained_clusters(approved, decided, approved_before, decided_before) AS approved_effective,
            chained_clusters(failures, resumed, failures_before, resumed_before) AS failures_effective
        FROM in_order
        GROUP BY ALL
    )
),
counted AS (
    SELECT *, row_number() OVER (ORDER BY /* by names */ tool, /* end by */ 1) AS row_no
    FROM (
        SELECT
            /* by names */ tool, /* end by */
            count(*) AS n,
            count(*) FILTER (WHERE decision = 'approved') AS approved,
            count(*) FILTER (WHERE decision = 'declined') AS declined,
            count(*) FILTER (WHERE decision = 'expired') AS expired,
            count(*) FILTER (WHERE decision IS NULL) AS waiting,
            sum(altered) AS changed,
            quantile_cont(waited_ms, 0.5) AS wait_p50,
            quantile_cont(waited_ms, 0.95) AS wait_p95,
            count(failed) AS resumed,
            count(*) FILTER (WHERE failed = 1) AS failures
        FROM joined
        GROUP BY ALL
    )
),
with_effect AS (
    SELECT c.*, c.approved + c.declined AS decided, k.clusters, k.approved_effective, k.failures_effective
    FROM counted AS c
    JOIN clustered AS k ON k.row_no = c.row_no
)
SELECT
    /* by names */ tool, /* end by */
    n,
    approved,
    declined,
    expired,
    waiting,
    CAST(coalesce(changed, 0) AS BIGINT) AS changed,
    approved / nullif(decided, 0) AS approved_share,
    cluster_low(approved, decided, approved_effective) AS approved_low,
    cluster_high(approved, decided, approved_effective) AS approved_high,
    wait_p50,
    wait_p95,
    resumed,
    failures,
    failures / nullif(resumed, 0) AS failure_rate,
    cluster_low(failures, resumed, failures_effective) AS failure_low,
    cluster_high(failures, resumed, failures_effective) AS failure_high,
    approved - resumed AS unresumed,
    too_few_draws(clusters, n, $min_n) AS too_few,
    clusters,
    resumed / nullif(failures_effective, 0) AS design_effect
FROM with_effect
ORDER BY n DESC, /* by names */ tool, /* end by */ approved
