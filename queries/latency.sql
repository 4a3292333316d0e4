-- How long do tools take?
--
-- One row per group. A duration is the time in the tool alone, without the wait for a person and without the time that a
-- consumer held a stream. Finished attempts with a duration count, successes and failures alike (group by status to
-- separate them). An attempt that was cut off (cancelled by a deadline, lost, or a stream left before its first item) took at least its duration: it is a
-- censored time, which can only raise a percentile (Kaplan and Meier 1958). A percentile that so many cut-off attempts leave open is at_least:
-- it says the longest duration seen, and its interval has no upper end. Left out are other attempts that did not finish, and results
-- from a cache, because the tool did not run.
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
--   n                       count  finished and cut-off attempts with a duration
--   cut_off                 aside  attempts among n that were cut off: they took at least their duration
--   at_least                mark   p95 is a lower limit: more attempts were cut off than it leaves above it
--   p50                     ms     median
--   p90                     ms     90th percentile
--   p95                     ms     95th percentile
--   p99                     ms     99th percentile; close to the maximum if n < 100
--   max                     ms     longest duration
--   streams                 aside  attempts among n that produced a first item
--   time_to_first_item      ms     median time to the first item of a stream
--   time_to_first_item_p95  ms     95th percentile of the time to the first item
--   left_out                aside  attempts that did not finish and were not cut off, came from a cache, or have no duration
--   refused                 aside  attempts left out: refused, the tool was not run
--   cached                  aside  attempts among left_out that came from a cache
--   untimed                 aside  attempts among left_out that finished without a duration
--   untimed_share           share  untimed / finished attempts that ran: the share that the percentiles do not cover
--   untimed_low             low(untimed_share)   95 % interval of untimed_share
--   untimed_high            high(untimed_share)  95 % interval of untimed_share
--   too_few                 mark   n < min_n, or they are from fewer than 5 clusters: read the intervals
--   p50_low                 low(p50)    95 % interval of p50 from order statistics; NULL if unbounded
--   p50_high                high(p50)   95 % interval of p50
--   p95_low                 low(p95)    95 % interval of p95 from order statistics; NULL if unbounded
--   p95_high                high(p95)   95 % interval of p95; NULL for fewer than 72 independent attempts
--   clusters                count  conversations among n, or traces without a conversation
--   design_effect           ratio  attempts for each independent one that p50 is as precise as
-- hidden: n
-- verdict: max(p95) {group} is the slowest: the 95th percentile of {n:attempt} is {p95} ({p95_low} to {p95_high}), the
--   median {p50}.
-- next: query timeline --tool {tool}
-- source: censored times: Kaplan and Meier 1958; percentiles by linear interpolation between order statistics (Hyndman and Fan 1996, type 7); their intervals:
--   order statistics with the design effect (Woodruff 1952), ranks by the binomial distribution; Wilson score interval
--   (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
-- reasoner: latency
-- order: p95 desc, groups
WITH totals AS (
    SELECT
        {by},
        hash({by}, 1) AS grp,
        count(timed_ms) AS timed_n,
        percentiles(timed_ms) AS ms,
        count(cut_ms) AS cut_n,
        percentiles(cut_ms) AS cut,
        quantile_cont(timed_ms, 0.5) AS p50,
        quantile_cont(timed_ms, 0.9) AS p90,
        quantile_cont(timed_ms, 0.95) AS p95,
        quantile_cont(timed_ms, 0.99) AS p99,
        max(timed_ms) AS max,
        count(first_ms) AS streams,
        quantile_cont(first_ms, 0.5) AS time_to_first_item,
        quantile_cont(first_ms, 0.95) AS time_to_first_item_p95,
        count(*) - count(timed_ms) - count(cut_ms) - count(*) FILTER (WHERE ending = 'refused') AS left_out,
        count(*) FILTER (WHERE ending = 'refused') AS refused,
        count(*) FILTER (WHERE finished AND from_cache) AS cached,
        count(*) FILTER (WHERE finished AND NOT from_cache AND timed_ms IS NULL) AS untimed
    FROM (
        SELECT *, CASE WHEN timed_ms IS NOT NULL AND first_item_ms BETWEEN 0 AND 1e12 THEN first_item_ms END AS first_ms
        FROM (SELECT *, CASE WHEN finished AND NOT from_cache THEN ms END AS timed_ms,
            CASE WHEN cut_off THEN ms END AS cut_ms FROM facts WHERE {window}) AS timed
    ) AS streamed
    GROUP BY ALL
),
-- for each group, the clusters: how many attempts of each took longer than the group's percentile
clustered AS (
    SELECT grp, sums(untimed, ran) AS untimed_share, sums(above_p50, n) AS p50, sums(above_p95, n) AS p95
    FROM (
        SELECT
            totals.grp,
            cluster,
            count(*) AS ran,
            count(*) FILTER (WHERE timed.ms IS NULL) AS untimed,
            count(timed.ms) AS n,
            count(*) FILTER (WHERE timed.ms > p50) AS above_p50,
            count(*) FILTER (WHERE timed.ms > p95) AS above_p95
        FROM (SELECT hash({by}, 1) AS grp, cluster, ms FROM facts WHERE {window} AND finished AND NOT from_cache) AS timed
        JOIN totals ON totals.grp = timed.grp
        GROUP BY ALL
    ) AS clusters
    GROUP BY grp
)
SELECT * FROM totals LEFT JOIN clustered USING (grp)
