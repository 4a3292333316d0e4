-- How long do tools take?
--
-- One row per group. A duration is the time in the tool alone, without the wait for a person and without the time that a
-- consumer held a stream. Finished attempts with a duration count, successes and failures alike (group by status to
-- separate them). Left out are attempts that did not finish, because their duration was cut short, and results from a
-- cache, because the tool did not run.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 95 to 100 % of them (docs/explanation/coverage.md).
--
-- group: costs (first)
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer attempts is marked too_few
-- columns:
--   n                       count  finished attempts with a duration
--   p50                     ms     median
--   p90                     ms     90th percentile
--   p95                     ms     95th percentile
--   p99                     ms     99th percentile; close to the maximum if n < 100
--   max                     ms     longest duration
--   streams                 aside  attempts among n that produced a first item
--   time_to_first_item      ms     median time to the first item of a stream
--   time_to_first_item_p95  ms     95th percentile of the time to the first item
--   left_out                aside  attempts that did not finish, came from a cache, or have no duration
--   refused                 aside  attempts left out: refused, the tool was not run
--   cached                  aside  attempts among left_out that came from a cache
--   untimed                 aside  attempts among left_out that finished without a duration
--   untimed_share           share  untimed / finished attempts that ran: the share that the percentiles do not cover
--   untimed_low             low(untimed_share)   95 % interval of untimed_share
--   untimed_high            high(untimed_share)  95 % interval of untimed_share
--   too_few                 mark   n < min_n, or they are from fewer than 5 clusters: read the intervals
--   p50_low                 low(p50)    95 % interval of p50 from order statistics, precise to one part in a thousand; NULL if unbounded
--   p50_high                high(p50)   95 % interval of p50
--   p95_low                 low(p95)    95 % interval of p95 from order statistics, precise to one part in a thousand; NULL if unbounded
--   p95_high                high(p95)   95 % interval of p95; NULL for fewer than about 105 independent attempts
--   clusters                count  conversations among n, or traces without a conversation
--   design_effect           ratio  attempts for each independent one that p50 is as precise as
-- hidden: n
-- verdict: max(p95) {group} is the slowest: 95 % of {n:attempt} took at most {p95} ({p95_low} to {p95_high}), half of
--   them {p50}.
-- next: query timeline --tool {tool}
-- source: percentiles by linear interpolation between order statistics (Hyndman and Fan 1996, type 7); their intervals:
--   order statistics with the design effect (Woodruff 1952), normal approximation of the binomial; Wilson score interval
--   (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
WITH scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    SELECT *,
        cluster_hash AS cluster,
        CASE WHEN is_finished(status, ending) AND NOT coalesce(cached, false) THEN known_ms(duration_ms) END AS ms,
        is_finished(status, ending) AND NOT coalesce(cached, false) AS finished,
        is_finished(status, ending) AND coalesce(cached, false) AS from_cache,
        coalesce(ending = 'refused', false) AS refused,
        is_finished(status, ending) AND NOT coalesce(cached, false) AND known_ms(duration_ms) IS NOT NULL AS timed,
        known_ms(first_item_ms) AS first_ms
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
summed AS (
    SELECT
        /* by */ tool, /* end by */
        count(*) FILTER (WHERE timed) AS n,
        quantile_cont(duration_ms, 0.5) FILTER (WHERE timed) AS p50,
        quantile_cont(duration_ms, 0.9) FILTER (WHERE timed) AS p90,
        quantile_cont(duration_ms, 0.95) FILTER (WHERE timed) AS p95,
        quantile_cont(duration_ms, 0.99) FILTER (WHERE timed) AS p99,
        max(duration_ms) FILTER (WHERE timed) AS max,
        count(first_ms) FILTER (WHERE timed) AS streams,
        quantile_cont(first_ms, 0.5) FILTER (WHERE timed) AS time_to_first_item,
        quantile_cont(first_ms, 0.95) FILTER (WHERE timed) AS time_to_first_item_p95,
        count(*) FILTER (WHERE NOT timed AND NOT refused) AS left_out,
        count(*) FILTER (WHERE refused) AS refused,
        count(*) FILTER (WHERE from_cache) AS cached,
        count(*) FILTER (WHERE finished AND NOT timed) AS untimed,
        count(*) FILTER (WHERE finished) AS ran
    FROM scoped
    GROUP BY ALL
),
-- grp: a number of the group, faster to group and to join by than its names
totals AS (
    SELECT *, text_key(row(/* by names */ tool, /* end by */ 1)) AS grp FROM summed
),
with_group AS NOT MATERIALIZED (
    SELECT text_key(row(/* by names */ tool, /* end by */ 1)) AS grp, cluster, started_at, finished, ms
    FROM (SELECT /* by */ tool, /* end by */ cluster, started_at, finished, ms FROM scoped) AS named
),
per_cluster AS (
    SELECT
        a.grp,
        a.cluster,
        min(a.started_at) FILTER (WHERE a.finished) AS first,
        count(*) FILTER (WHERE a.finished) AS ran,
        count(*) FILTER (WHERE a.finished AND a.ms IS NULL) AS untimed,
        count(a.ms) AS n,
        count(*) FILTER (WHERE a.ms > t.p50) AS n_above_p50,
        count(*) FILTER (WHERE a.ms > t.p95) AS n_above_p95
    FROM with_group AS a
    JOIN totals AS t ON t.grp = a.grp
    GROUP BY a.grp, a.cluster
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM per_cluster WHERE ran > 1 GROUP BY grp, first HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *,
        lag(ran) OVER in_time AS ran_before,
        lag(untimed) OVER in_time AS untimed_before,
        lag(n) OVER in_time AS n_before,
        lag(n_above_p50) OVER in_time AS above_p50_before,
        lag(n_above_p95) OVER in_time AS above_p95_before
    FROM per_cluster
    WHERE ran > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY grp ORDER BY first)
    UNION ALL
    SELECT *, NULL AS ran_before, NULL AS untimed_before, NULL AS n_before, NULL AS above_p50_before, NULL AS above_p95_before
    FROM per_cluster
    WHERE ran <= 1 OR first IN (SELECT first FROM tied)
),
clustered AS (
    SELECT
        grp,
        count(*) FILTER (WHERE n > 0) AS clusters,
        chained_clusters(untimed, ran, untimed_before, ran_before) AS untimed_effective,
        chained_clusters(n_above_p50, n, above_p50_before, n_before) AS p50_effective,
        chained_clusters(n_above_p95, n, above_p95_before, n_before) AS p95_effective
    FROM in_order
    GROUP BY grp
),
numbered AS (
    SELECT s.*, coalesce(k.clusters, 0) AS clusters, k.untimed_effective, k.p50_effective, k.p95_effective
    FROM totals AS s
    LEFT JOIN clustered AS k ON k.grp = s.grp
),
-- durations equal to one part in a thousand, the shortest first; n_to: durations up to this one
steps AS (
    SELECT grp, lowest, highest, sum(n) OVER (PARTITION BY grp ORDER BY lowest) AS n_to
    FROM (
        SELECT grp, round(1000 * ln(greatest(ms, 1e-6))) AS step, min(ms) AS lowest, max(ms) AS highest, count(ms) AS n
        FROM with_group
        WHERE ms IS NOT NULL
        GROUP BY grp, step
    )
),
ranks AS (
    SELECT
        s.grp,
        min(CASE WHEN t.n_to >= 0.5 * n - 0.979981992270027 * n / sqrt(p50_effective) THEN t.lowest END) AS p50_from,
        min(CASE WHEN t.n_to >= 0.5 * n + 0.979981992270027 * n / sqrt(p50_effective) + 1 THEN t.highest END) AS p50_to,
        min(CASE WHEN t.n_to >= 0.95 * n - 0.427167 * n / sqrt(p95_effective) THEN t.lowest END) AS p95_from,
        min(CASE WHEN t.n_to >= 0.95 * n + 0.427167 * n / sqrt(p95_effective) + 1 THEN t.highest END) AS p95_to
    FROM numbered AS s
    JOIN steps AS t ON t.grp = s.grp
    GROUP BY s.grp
)
SELECT
    /* by names */ tool, /* end by */
    n,
    p50,
    p90,
    p95,
    p99,
    max,
    streams,
    time_to_first_item,
    time_to_first_item_p95,
    left_out,
    refused,
    cached,
    untimed,
    untimed / nullif(ran, 0) AS untimed_share,
    cluster_low(untimed, ran, untimed_effective) AS untimed_low,
    cluster_high(untimed, ran, untimed_effective) AS untimed_high,
    too_few_draws(clusters, n, $min_n) AS too_few,
    least(p50, p50_from) AS p50_low,
    CASE WHEN p50_to IS NOT NULL THEN greatest(p50, p50_to) END AS p50_high,
    least(p95, p95_from) AS p95_low,
    CASE WHEN p95_to IS NOT NULL THEN greatest(p95, p95_to) END AS p95_high,
    clusters,
    n / nullif(p50_effective, 0) AS design_effect
FROM numbered
LEFT JOIN ranks ON ranks.grp = numbered.grp
ORDER BY p95 DESC NULLS LAST, /* by names */ tool, /* end by */ n
