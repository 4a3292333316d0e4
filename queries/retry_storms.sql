-- When did retries and failures rise together?
--
-- One row per time window in which attempts finished, in order. A retry is a finished attempt that is not the first of its
-- call. Attempts that were cancelled, abandoned, paused, declined or expired are counted separately. Attempts before the
-- requested time are ignored: a retry of such an attempt counts as the first attempt of its call.
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since     timestamp = NULL  attempts that started at this time or later
--   until     timestamp = NULL  attempts that started before this time
--   tool      text = NULL       this tool only
--   min_n     integer = 20      a window of fewer attempts is marked too_few
--   window_s  positive = 300    seconds that a window lasts; windows are counted from 1970 on
-- columns:
--   window        time                start of the window
--   attempts      count               finished attempts that started in it
--   retries       count               finished attempts that are not the first of their call
--   retry_share   share               retries / attempts
--   retry_low     low(retry_share)    95 % interval of retry_share
--   retry_high    high(retry_share)   95 % interval of retry_share
--   failures      count               finished attempts with status 'error'
--   failure_rate  share               failures / attempts
--   failure_low   low(failure_rate)   95 % interval of failure_rate
--   failure_high  high(failure_rate)  95 % interval of failure_rate
--   rising        flag                retry_share > 10 %, and failure_rate above that of the last window with attempts; NULL if none
--   left_out      aside               attempts that did not finish
--   too_few       mark                attempts < min_n: a rise may be chance
-- source: a tenth: the retry budget of Site Reliability Engineering (Beyer and others 2016), chapter 21; intervals: Wilson
--   score (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
WITH scoped AS (
    SELECT *,
        is_finished(status, ending) AS finished
    FROM tool_calls
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- call ids with several attempts; most calls have one attempt and need no sorting
multi_attempt_calls AS (
    SELECT call_id FROM scoped GROUP BY call_id HAVING count(*) > 1
),
numbered AS (
    SELECT *, 1 AS attempt_no FROM scoped WHERE call_id NOT IN (SELECT call_id FROM multi_attempt_calls)
    UNION ALL
    SELECT *, row_number() OVER (
        PARTITION BY call_key(tool, call_id, conversation_id, host, pid) ORDER BY finished DESC, started_at, attempt
    ) AS attempt_no
    FROM scoped
    WHERE call_id IN (SELECT call_id FROM multi_attempt_calls)
),
counted AS (
    SELECT
        /* by */ tool, /* end by */
        floor(epoch_us(started_at) / (1e6 * $window_s)) * $window_s AS window_started_s,
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE finished AND attempt_no > 1) AS retries,
        count(*) FILTER (WHERE finished AND status = 'error') AS failures,
        count(*) FILTER (WHERE NOT finished) AS left_out
    FROM numbered
    GROUP BY ALL
),
with_intervals AS (
    SELECT *,
        failures / attempts AS failure_rate
    FROM counted
    WHERE attempts > 0
)
SELECT
    /* by names */ tool, /* end by */
    TIMESTAMP '1970-01-01 00:00:00' + to_seconds(CAST(window_started_s AS BIGINT)) AS "window",
    attempts,
    retries,
    retries / attempts AS retry_share,
    wilson_low(retries, attempts) AS retry_low,
    wilson_high(retries, attempts) AS retry_high,
    failures,
    failure_rate,
    wilson_low(failures, attempts) AS failure_low,
    wilson_high(failures, attempts) AS failure_high,
    retries / attempts > 0.1 AND failure_rate > lag(failure_rate) OVER (
        PARTITION BY /* by names */ tool, /* end by */ 1 ORDER BY window_started_s
    ) AS rising,
    left_out,
    attempts < $min_n AS too_few
FROM with_intervals
ORDER BY /* by names */ tool, /* end by */ "window"
