-- How are the tools doing, and is that better or worse than before?
--
-- Two rows: 'now' is the window from `since` to `until`, and 'before' is the window from `before` to `since`. An attempt is
-- finished if it ended with a status; a failure is a finished attempt with status 'error'. A call is retried if more than
-- one of its attempts in the window finished. The query gap shows how far confidence can be trusted.
--
-- parameters:
--   since   timestamp = NULL  attempts that started at this time or later
--   until   timestamp = NULL  attempts that started before this time
--   before  timestamp = NULL  start of the window before, which ends at since; NULL omits it
--   tool    text = NULL       this tool only
--   min_n   integer = 20      a window of fewer attempts is marked too_few
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
--   too_few          mark                 attempts < min_n: read the intervals, not the rates
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054, z^2 = 3.841458820694124; interval of a percentile:
--   order statistics (Conover 1999), normal approximation of the binomial; percentiles by linear interpolation
--   (Hyndman and Fan 1996, type 7)
WITH scoped AS (
    -- reads attempts: tool_calls without the messages to the model
    SELECT
        $since IS NULL OR started_at >= $since AS is_now,
        tool,
        call_id,
        started_at,
        conversation_id,
        host,
        pid,
        is_finished(status, ending) AS finished,
        coalesce(status = 'error' AND is_finished(status, ending), false) AS failed,
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
        count(*) FILTER (WHERE NOT finished) AS left_out,
        count(ms) AS timed,
        quantile_cont(ms, 0.95) AS p95
    FROM scoped
    GROUP BY is_now
),
-- only call ids with several finished attempts are grouped: most calls have one attempt
multi_attempt_calls AS (
    SELECT
        is_now,
        sum(finished - 1) AS extra_attempts,
        sum(failures) - count(*) FILTER (WHERE last_failed) AS recovered,
        count(*) FILTER (WHERE finished > 1) AS retried
    FROM (
        SELECT is_now, count(*) AS finished, count(*) FILTER (WHERE failed) AS failures,
            arg_max(failed, started_at) AS last_failed
        FROM scoped
        WHERE finished AND call_id IN (SELECT call_id FROM scoped WHERE finished GROUP BY call_id HAVING count(*) > 1)
        GROUP BY is_now, call_key(tool, call_id, conversation_id, host, pid)
    )
    GROUP BY is_now
),
calls_counted AS (
    SELECT
        a.is_now,
        CAST(a.attempts - coalesce(r.extra_attempts, 0) AS BIGINT) AS calls,
        CAST(a.failures - coalesce(r.recovered, 0) AS BIGINT) AS failed_calls,
        coalesce(r.retried, 0) AS retried
    FROM attempts_counted AS a
    LEFT JOIN multi_attempt_calls AS r ON r.is_now = a.is_now
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
        min(CASE WHEN s.n_to >= 0.95 * a.timed - 0.427167 * sqrt(a.timed) THEN s.lowest END) AS low,
        min(CASE WHEN s.n_to >= 0.95 * a.timed + 0.427167 * sqrt(a.timed) + 1 THEN s.highest END) AS high
    FROM attempts_counted AS a
    JOIN steps AS s ON s.is_now = a.is_now
    GROUP BY a.is_now
),
with_intervals AS (
    SELECT a.*, c.* EXCLUDE (is_now), p.low AS p95_from, p.high AS p95_to
    FROM attempts_counted AS a
    LEFT JOIN calls_counted AS c ON c.is_now = a.is_now
    LEFT JOIN percentile AS p ON p.is_now = a.is_now
)
SELECT
    CASE WHEN is_now THEN 'now' ELSE 'before' END AS period,
    coalesce(calls, 0) AS calls,
    coalesce(failed_calls, 0) AS failed_calls,
    failed_calls / nullif(calls, 0) AS call_rate,
    wilson_low(failed_calls, calls) AS call_low,
    wilson_high(failed_calls, calls) AS call_high,
    attempts,
    failures,
    failures / nullif(attempts, 0) AS rate,
    wilson_low(failures, attempts) AS low,
    wilson_high(failures, attempts) AS high,
    coalesce(retried, 0) AS retried,
    retried / nullif(calls, 0) AS retried_share,
    wilson_low(retried, calls) AS retried_low,
    wilson_high(retried, calls) AS retried_high,
    p95,
    least(p95, p95_from) AS p95_low,
    CASE WHEN p95_to IS NOT NULL THEN greatest(p95, p95_to) END AS p95_high,
    left_out,
    attempts < $min_n AS too_few
FROM with_intervals
ORDER BY is_now DESC
