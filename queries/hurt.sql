-- Which tools hurt most?
--
-- The hurt of a tool is its failed calls times what one costs: the time in all attempts of calls that failed. A call failed
-- where its last finished attempt did. Attempts that did not finish are no failures; the time in them is not seen here.
--
-- by: tool (default), version, agent, conversation, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer calls is marked too_few
-- columns:
--   calls           count           calls with at least one finished attempt
--   failed_calls    count           calls whose last finished attempt failed
--   rate            share           failed_calls / calls
--   low             low(rate)       95 % interval of rate
--   high            high(rate)      95 % interval of rate
--   attempts        count           finished attempts of those calls
--   amplification   ratio           attempts / calls: 1 is no retry at all
--   cost_ms         ms              mean time that a failed call took, over all its attempts
--   hurt_ms         ms              failed_calls * cost_ms
--   hurt_share      share           hurt_ms / hurt_ms of all groups
--   p95             ms              95th percentile of the time of an attempt, answers from a cache left out
--   last_failed_at  time            start of the last attempt that failed
--   too_few         mark            calls < min_n: read the interval, not the rate
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
-- attempts is tool_calls without what the model was given
WITH seen AS (
    SELECT
        /* by */ tool, /* end by */
        tool AS of_tool,
        call_id AS of_call,
        conversation_id AS place,
        host AS of_host,
        pid AS of_pid,
        started_at,
        status = 'error' AS failed,
        -- 0 to 1e12 ms (31 years): what was imported may say anything, and NaN is no duration
        CASE WHEN duration_ms BETWEEN 0 AND 1e12 THEN duration_ms END AS ms,
        coalesce(cached, false) AS from_cache
    FROM attempts
    WHERE status IS NOT NULL AND ending IN ('returned', 'raised')
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- most calls are tried once: their id need not be held against tool, conversation, host and process
again AS (
    SELECT *, of_call IN (SELECT of_call FROM seen GROUP BY of_call HAVING count(*) > 1) AS repeated
    FROM seen
),
called AS (
    SELECT
        /* by names */ tool, /* end by */
        1 AS attempts,
        ms,
        failed,
        CASE WHEN failed THEN started_at END AS last_failed_at
    FROM again
    WHERE NOT repeated
    UNION ALL
    SELECT
        /* by names */ tool, /* end by */
        count(*) AS attempts,
        sum(ms) AS ms,
        arg_max(failed, started_at) AS failed,
        max(CASE WHEN failed THEN started_at END) AS last_failed_at
    FROM again
    WHERE repeated
    GROUP BY /* by names */ tool, /* end by */ of_tool, of_call, coalesce(place, of_host),
        CASE WHEN place IS NULL THEN coalesce(of_pid, -1) END
),
timed AS (
    SELECT /* by names */ tool, /* end by */ quantile_cont(ms, 0.95) FILTER (WHERE NOT from_cache) AS p95
    FROM seen
    GROUP BY ALL
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        count(*) AS calls,
        count(*) FILTER (WHERE failed) AS failed_calls,
        sum(attempts) AS attempts,
        avg(ms) FILTER (WHERE failed) AS cost_ms,
        max(last_failed_at) AS last_failed_at
    FROM called
    GROUP BY ALL
),
spread AS (
    SELECT c.*, t.p95,
        CASE WHEN c.failed_calls = 0 THEN 0.0 ELSE c.failed_calls * c.cost_ms END AS hurt_ms,
        1.959963984540054 * sqrt(c.failed_calls * (c.calls - c.failed_calls) / nullif(c.calls, 0) + 0.960364705173531) AS half
    FROM (SELECT *, row_number() OVER (ORDER BY /* by names */ tool, /* end by */ 1) AS grp FROM counted) AS c
    JOIN (SELECT p95, row_number() OVER (ORDER BY /* by names */ tool, /* end by */ 1) AS grp FROM timed) AS t
        ON t.grp = c.grp
)
SELECT
    /* by names */ tool, /* end by */
    calls,
    failed_calls,
    failed_calls / nullif(calls, 0) AS rate,
    CASE WHEN failed_calls = 0 AND calls > 0 THEN 0.0
         ELSE (failed_calls + 1.920729410347062 - half) / (nullif(calls, 0) + 3.841458820694124) END AS low,
    CASE WHEN failed_calls = calls AND calls > 0 THEN 1.0
         ELSE (failed_calls + 1.920729410347062 + half) / (nullif(calls, 0) + 3.841458820694124) END AS high,
    CAST(attempts AS BIGINT) AS attempts,
    attempts / nullif(calls, 0) AS amplification,
    cost_ms,
    hurt_ms,
    hurt_ms / nullif(sum(hurt_ms) OVER (), 0) AS hurt_share,
    p95,
    last_failed_at,
    calls < $min_n AS too_few
FROM spread
ORDER BY coalesce(hurt_ms, 0) DESC, failed_calls DESC, calls DESC, /* by names */ tool, /* end by */ attempts
