-- Which tools wait for a person, for how long, and does what was approved then work?
--
-- One row for each group of stops for a person. A stop belongs to the attempt that was stopped; where that is not
-- known, its group is NULL. The wait is the person's, and no part of the tool's latency: of stops that a person
-- answered, whether yes or no. Failure after approval is that of the attempt that went on with the answer.
--
-- By code or status: that of the attempt that went on with the answer; NULL where none did, or where it did not finish.
--
-- by: tool (default), version, agent, conversation, day, hour, attributes; code, status
-- parameters:
--   since  timestamp = NULL  stops that were asked for at this time or later
--   until  timestamp = NULL  stops that were asked for before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer stops is marked too_few
-- columns:
--   n               count  stops
--   approved        count  a person said yes, gave what was missing, or did the work
--   declined        count  a person said no
--   expired         count  nobody answered in time
--   waiting         count  nobody has answered so far
--   changed         count  a person changed or gave arguments
--   approved_share  share  approved / (approved + declined)
--   approved_low    low(approved_share)   95 % interval
--   approved_high   high(approved_share)  95 % interval
--   wait_p50        ms     median wait for an answer
--   wait_p95        ms     95th percentile
--   resumed         count  of approved, those whose attempt afterwards is known and finished
--   failures        count  of resumed, those that report an error
--   failure_rate    share  failures / resumed
--   failure_low     low(failure_rate)     95 % interval
--   failure_high    high(failure_rate)    95 % interval
--   unresumed       aside  of approved, those of whose attempt afterwards nothing is known, or that did not finish
--   too_few         mark   n < min_n: read the intervals, not the rates
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124; percentiles by linear
--   interpolation between order statistics (Hyndman and Fan 1996, type 7)
WITH asked AS (
    SELECT
        span_id AS of_span,
        resumed_span_id AS next_span,
        decision,
        CASE WHEN coalesce(CAST(changed AS VARCHAR), '{}') NOT IN ('{}', 'null') THEN 1 ELSE 0 END AS altered,
        CASE WHEN decision IN ('approved', 'declined')
             THEN (epoch_us(answered_at) - epoch_us(asked_at)) / 1000.0 END AS waited_ms
    FROM gates
    WHERE ($since IS NULL OR asked_at >= $since)
      AND ($until IS NULL OR asked_at < $until)
),
stopped AS (
    SELECT /* by history */ tool, /* end by */ span_id AS stopped_span
    FROM tool_calls
    WHERE span_id IN (SELECT of_span FROM asked)
      AND ($tool IS NULL OR tool = $tool)
),
afterwards AS (
    SELECT /* by within */ /* end by */ span_id AS later_span, CASE WHEN status = 'error' THEN 1 ELSE 0 END AS failed
    FROM tool_calls
    WHERE span_id IN (SELECT next_span FROM asked WHERE decision = 'approved')
      AND is_finished(status, ending)
),
counted AS (
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
        count(failed) FILTER (WHERE decision = 'approved') AS resumed,
        count(*) FILTER (WHERE decision = 'approved' AND failed = 1) AS failures
    FROM asked
    LEFT JOIN stopped ON stopped_span = of_span
    LEFT JOIN afterwards ON later_span = next_span
    WHERE $tool IS NULL OR stopped_span IS NOT NULL
    GROUP BY ALL
),
with_intervals AS (
    SELECT *, approved + declined AS decided
    FROM counted
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
    wilson_low(approved, decided) AS approved_low,
    wilson_high(approved, decided) AS approved_high,
    wait_p50,
    wait_p95,
    resumed,
    failures,
    failures / nullif(resumed, 0) AS failure_rate,
    wilson_low(failures, resumed)
         AS failure_low,
    wilson_high(failures, resumed)
         AS failure_high,
    approved - resumed AS unresumed,
    n < $min_n AS too_few
FROM with_intervals
ORDER BY n DESC, /* by names */ tool, /* end by */ approved
