-- Which tools fail, how often, and how sure is that?
--
-- One row per group. A failure is an attempt that reports status 'error', whether it returned or raised. An attempt that
-- was cancelled, abandoned, paused, declined or expired, or that reported no status, is not evidence about the tool: it
-- is excluded from numerator and denominator, and counted in a column of its own. A call failed if its last finished
-- attempt failed; it is counted in the group of that attempt. Attempts outside the window are ignored. Attempts of one
-- call are not independent: if many are retries, the true interval of rate is wider, and call_rate is the better
-- measure.
--
-- Results from a cache count like any other result. They make a tool look better than it is when it runs: see cached.
-- Grouped by code or status, the rows are parts of a whole: read attempts there, not rate.
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer attempts is marked too_few
-- columns:
--   attempts      count               finished attempts: they returned or raised, and reported a status
--   failures      count               finished attempts with status 'error'
--   rate          share               failures / attempts
--   low           low(rate)           95 % interval of rate
--   high          high(rate)          95 % interval of rate
--   calls         count               calls with at least one finished attempt
--   failed_calls  count               calls whose last finished attempt failed
--   call_rate     share               failed_calls / calls
--   call_low      low(call_rate)      95 % interval of call_rate
--   call_high     high(call_rate)     95 % interval of call_rate
--   partial_rate  share               attempts with status 'partial' / attempts
--   partial_low   low(partial_rate)   95 % interval of partial_rate
--   partial_high  high(partial_rate)  95 % interval of partial_rate
--   cached        aside               finished attempts whose result came from a cache
--   cancelled     aside               attempts left out: cancelled from outside
--   abandoned     aside               attempts left out: a stream that was not read to its end
--   paused        aside               attempts left out: paused for a person
--   declined      aside               attempts left out: declined by a person
--   expired       aside               attempts left out: no answer in time
--   unreported    aside               attempts left out: ended without a status
--   too_few       mark                attempts < min_n: read the interval, not the rate
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
WITH scoped AS (
    -- reads attempts, not tool_calls: the join with messages is not needed, and a window function would keep DuckDB from removing it
    SELECT
        /* by */ tool, /* end by */
        call_id,
        tool AS of_tool,
        -- the parts of call_key(): to carry the key itself for every attempt makes the query a tenth slower
        coalesce(conversation_id, host) AS conversation_or_host,
        CASE WHEN conversation_id IS NULL THEN coalesce(pid, -1) END AS process,
        started_at AS started,
        attempt AS attempt_no,
        is_finished(status, ending) AS finished,
        status = 'error' AS failed,
        status = 'partial' AS partly,
        coalesce(cached, false) AS from_cache,
        ending
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- attempts that were not the last of their call; only call ids with several attempts are sorted, because most have one
multi_attempt_calls AS (
    SELECT *
    FROM (
        SELECT *, row_number() OVER (
            PARTITION BY call_id, of_tool, conversation_or_host, process
            ORDER BY finished DESC, started DESC, attempt_no DESC
        ) AS from_last
        FROM scoped
        WHERE call_id IN (SELECT call_id FROM scoped GROUP BY call_id HAVING count(*) > 1)
    ) AS ranked
    WHERE from_last > 1
),
-- each attempt once, and each finished attempt a second time if a later finished attempt of its call follows
attempts_expanded AS (
    SELECT *, 0 AS from_last FROM scoped
    UNION ALL
    SELECT * FROM multi_attempt_calls WHERE finished
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        count(*) FILTER (WHERE finished AND from_last = 0) AS attempts,
        count(*) FILTER (WHERE finished AND from_last = 0 AND failed) AS failures,
        count(*) FILTER (WHERE finished AND from_last = 0 AND partly) AS partials,
        count(*) FILTER (WHERE finished AND from_last = 0 AND from_cache) AS cached,
        count(*) FILTER (WHERE finished AND from_last > 0) AS retried,
        count(*) FILTER (WHERE finished AND from_last > 0 AND failed) AS failed_retried,
        count(*) FILTER (WHERE from_last = 0 AND ending = 'cancelled') AS cancelled,
        count(*) FILTER (WHERE from_last = 0 AND ending = 'abandoned') AS abandoned,
        count(*) FILTER (WHERE from_last = 0 AND ending = 'paused') AS paused,
        count(*) FILTER (WHERE from_last = 0 AND ending = 'declined') AS declined,
        count(*) FILTER (WHERE from_last = 0 AND ending = 'expired') AS expired,
        count(*) FILTER (WHERE from_last = 0) AS total
    FROM attempts_expanded
    GROUP BY ALL
),
summed AS (
    SELECT *, attempts - retried AS calls, failures - failed_retried AS failed_calls
    FROM counted
)
SELECT
    /* by names */ tool, /* end by */
    attempts,
    failures,
    failures / nullif(attempts, 0) AS rate,
    wilson_low(failures, attempts) AS low,
    wilson_high(failures, attempts) AS high,
    calls,
    failed_calls,
    failed_calls / nullif(calls, 0) AS call_rate,
    wilson_low(failed_calls, calls) AS call_low,
    wilson_high(failed_calls, calls) AS call_high,
    partials / nullif(attempts, 0) AS partial_rate,
    wilson_low(partials, attempts) AS partial_low,
    wilson_high(partials, attempts) AS partial_high,
    cached,
    cancelled,
    abandoned,
    paused,
    declined,
    expired,
    total - attempts - cancelled - abandoned - paused - declined - expired AS unreported,
    attempts < $min_n AS too_few
FROM summed
ORDER BY rate DESC NULLS LAST, attempts DESC, /* by names */ tool, /* end by */ calls
