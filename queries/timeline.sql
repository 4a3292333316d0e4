-- How do the tools do over time?
--
-- One row for each stretch of time in which attempts of the group started, in order; stretches without any are left out. A
-- stretch lasts a round time, from a second to 365 days, the shortest for which the attempts take `parts` of them at most. A failure is a finished attempt with status 'error'.
--
-- by: tool (default), version, code, agent, conversation, status, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   parts  integer = 60      so many stretches at most, or one more where the attempts begin inside one
--   min_n  integer = 20      a stretch of fewer attempts is marked too_few
-- columns:
--   started   time        begin of the stretch
--   seconds   count       how long it is
--   attempts  count       finished attempts
--   failures  count       those with status 'error'
--   rate      share       failures / attempts
--   low       low(rate)   95 % interval of rate
--   high      high(rate)  95 % interval of rate
--   p50       ms          median of the time in the tool, answers from a cache left out
--   p95       ms          95th percentile of it
--   left_out  aside       attempts that did not finish
--   too_few   mark        attempts < min_n: read the interval, not the rate
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
WITH scoped AS (
    SELECT
        /* by */ tool, /* end by */
        epoch_us(started_at) / 1e6 AS at_s,
        is_finished(status, ending) AS finished,
        coalesce(status = 'error' AND is_finished(status, ending), false) AS failed,
        CASE WHEN is_finished(status, ending) AND NOT coalesce(cached, false) THEN known_ms(duration_ms) END AS ms
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- the last is for what is longer than that
lengths AS (
    SELECT unnest([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
        2592000, 31536000]) AS seconds
),
chosen AS (
    SELECT coalesce(min(l.seconds) FILTER (WHERE CAST(l.seconds AS DOUBLE) * greatest($parts, 1) >= w.lasts), 31536000) AS seconds
    FROM lengths AS l
    CROSS JOIN (
        SELECT max(at_s) - min(at_s) AS lasts FROM scoped
    ) AS w
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        floor(at_s / c.seconds) * c.seconds AS from_s,
        c.seconds,
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE failed) AS failures,
        count(*) FILTER (WHERE NOT finished) AS left_out,
        quantile_cont(ms, [0.5, 0.95]) AS percentiles
    FROM scoped
    CROSS JOIN chosen AS c
    GROUP BY ALL
)
SELECT
    /* by names */ tool, /* end by */
    make_timestamp(CAST(from_s * 1e6 AS BIGINT)) AS started,
    seconds,
    attempts,
    failures,
    failures / nullif(attempts, 0) AS rate,
    wilson_low(failures, attempts) AS low,
    wilson_high(failures, attempts) AS high,
    percentiles[1] AS p50,
    percentiles[2] AS p95,
    left_out,
    attempts < $min_n AS too_few
FROM counted
ORDER BY from_s, /* by names */ tool, /* end by */ attempts
