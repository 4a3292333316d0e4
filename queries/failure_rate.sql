-- Which tools fail, how often, and how sure is that?
--
-- A failure is an attempt that reports status 'error', whether it returned or raised. An attempt that was
-- cancelled, abandoned, paused, declined or expired, or that reported nothing, says nothing about the tool:
-- it is in neither numerator nor denominator, and is shown. A call failed where its last finished attempt did;
-- it is counted in the group of that attempt. Only attempts inside the window are seen. Attempts of one call are not
-- independent: where many are retries, the true interval of rate is wider, and call_rate is the one to go by.
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer attempts is marked too_few
-- columns:
--   attempts      count               attempts that ended with a status
--   failures      count               attempts with status 'error'
--   rate          share               failures / attempts
--   low           low(rate)           95 % interval of rate
--   high          high(rate)          95 % interval of rate
--   calls         count               calls with at least one such attempt
--   failed_calls  count               calls whose last such attempt failed
--   call_rate     share               failed_calls / calls
--   call_low      low(call_rate)      95 % interval of call_rate
--   call_high     high(call_rate)     95 % interval of call_rate
--   partial_rate  share               attempts with status 'partial' / attempts
--   partial_low   low(partial_rate)   95 % interval of partial_rate
--   partial_high  high(partial_rate)  95 % interval of partial_rate
--   cancelled     aside               attempts left out: cancelled from outside
--   abandoned     aside               attempts left out: a stream that nobody finished
--   paused        aside               attempts left out: waiting for a person
--   declined      aside               attempts left out: a person said no
--   expired       aside               attempts left out: nobody answered in time
--   unreported    aside               attempts left out: ended without a status
--   too_few       mark                attempts < min_n: read the interval, not the rate
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
WITH seen AS (
    SELECT *,
        status IS NOT NULL AND ending IN ('returned', 'raised') AS finished,
        coalesce(conversation_id, host) AS place,
        CASE WHEN conversation_id IS NULL THEN coalesce(pid, -1) END AS of_pid
    FROM tool_calls
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
ranked AS (
    SELECT *, row_number() OVER (
        PARTITION BY call_id, tool, place, of_pid ORDER BY finished DESC, started_at DESC, attempt DESC
    ) AS from_last
    FROM seen
),
counted AS (
    SELECT
        /* by */ tool, /* end by */
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE finished AND status = 'error') AS failures,
        count(*) FILTER (WHERE finished AND status = 'partial') AS partials,
        count(*) FILTER (WHERE finished AND from_last = 1) AS calls,
        count(*) FILTER (WHERE finished AND from_last = 1 AND status = 'error') AS failed_calls,
        count(*) FILTER (WHERE ending = 'cancelled') AS cancelled,
        count(*) FILTER (WHERE ending = 'abandoned') AS abandoned,
        count(*) FILTER (WHERE ending = 'paused') AS paused,
        count(*) FILTER (WHERE ending = 'declined') AS declined,
        count(*) FILTER (WHERE ending = 'expired') AS expired,
        count(*) AS total
    FROM ranked
    GROUP BY ALL
),
spread AS (
    SELECT *,
        1.959963984540054 * sqrt(failures * (attempts - failures) / nullif(attempts, 0) + 0.960364705173531) AS half,
        1.959963984540054 * sqrt(failed_calls * (calls - failed_calls) / nullif(calls, 0) + 0.960364705173531) AS call_half,
        1.959963984540054 * sqrt(partials * (attempts - partials) / nullif(attempts, 0) + 0.960364705173531) AS partial_half
    FROM counted
)
SELECT
    /* by names */ tool, /* end by */
    attempts,
    failures,
    failures / nullif(attempts, 0) AS rate,
    CASE WHEN failures = 0 AND attempts > 0 THEN 0.0
         ELSE (failures + 1.920729410347062 - half) / (nullif(attempts, 0) + 3.841458820694124) END AS low,
    CASE WHEN failures = attempts AND attempts > 0 THEN 1.0
         ELSE (failures + 1.920729410347062 + half) / (nullif(attempts, 0) + 3.841458820694124) END AS high,
    calls,
    failed_calls,
    failed_calls / nullif(calls, 0) AS call_rate,
    CASE WHEN failed_calls = 0 AND calls > 0 THEN 0.0
         ELSE (failed_calls + 1.920729410347062 - call_half) / (nullif(calls, 0) + 3.841458820694124) END AS call_low,
    CASE WHEN failed_calls = calls AND calls > 0 THEN 1.0
         ELSE (failed_calls + 1.920729410347062 + call_half) / (nullif(calls, 0) + 3.841458820694124) END AS call_high,
    partials / nullif(attempts, 0) AS partial_rate,
    CASE WHEN partials = 0 AND attempts > 0 THEN 0.0
         ELSE (partials + 1.920729410347062 - partial_half) / (nullif(attempts, 0) + 3.841458820694124) END AS partial_low,
    CASE WHEN partials = attempts AND attempts > 0 THEN 1.0
         ELSE (partials + 1.920729410347062 + partial_half) / (nullif(attempts, 0) + 3.841458820694124) END AS partial_high,
    cancelled,
    abandoned,
    paused,
    declined,
    expired,
    total - attempts - cancelled - abandoned - paused - declined - expired AS unreported,
    attempts < $min_n AS too_few
FROM spread
ORDER BY rate DESC NULLS LAST, attempts DESC, /* by names */ tool, /* end by */ calls
