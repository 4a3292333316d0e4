-- How long do tools take?
--
-- One row per group. A duration is the time in the tool alone, without the wait for a person and without the time that a
-- consumer held a stream. Finished attempts with a duration count, successes and failures alike (group by status to
-- separate them). Left out are attempts that did not finish, because their duration was cut short, and results from a
-- cache, because the tool did not run.
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
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
--   cached                  aside  attempts among left_out that came from a cache
--   untimed                 aside  attempts among left_out that finished without a duration
--   untimed_share           share  untimed / finished attempts that ran: the share that the percentiles do not cover
--   untimed_low             low(untimed_share)   95 % interval of untimed_share
--   untimed_high            high(untimed_share)  95 % interval of untimed_share
--   too_few                 mark   n < min_n
-- source: percentiles by linear interpolation between order statistics (Hyndman and Fan 1996, type 7); Wilson score interval
--   (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
WITH scoped AS (
    SELECT *,
        is_finished(status, ending) AND NOT coalesce(cached, false) AS finished,
        is_finished(status, ending) AND coalesce(cached, false) AS from_cache,
        is_finished(status, ending) AND NOT coalesce(cached, false) AND known_ms(duration_ms) IS NOT NULL AS timed,
        known_ms(first_item_ms) AS first_ms
    FROM tool_calls
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
        count(*) FILTER (WHERE NOT timed) AS left_out,
        count(*) FILTER (WHERE from_cache) AS cached,
        count(*) FILTER (WHERE finished AND NOT timed) AS untimed,
        count(*) FILTER (WHERE finished) AS ran
    FROM scoped
    GROUP BY ALL
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
    cached,
    untimed,
    untimed / nullif(ran, 0) AS untimed_share,
    wilson_low(untimed, ran) AS untimed_low,
    wilson_high(untimed, ran) AS untimed_high,
    n < $min_n AS too_few
FROM summed
ORDER BY p95 DESC NULLS LAST, /* by names */ tool, /* end by */ n
