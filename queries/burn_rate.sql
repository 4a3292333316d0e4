-- Which tools spend their error budget too fast?
--
-- The budget is what the objective leaves: 1 % of attempts may fail where 99 % are to succeed. Burning at 1 spends it
-- in just the time that the objective is for; at 14.4, a budget for 30 days loses 2 % in an hour. Three pairs of
-- windows end at `until`: 1 h and 5 min above 14.4 (wake somebody), 6 h and 30 min above 6, 3 d and 6 h above 1. The
-- long window says that it is worth an alert, the short one that it still goes on: both must burn above the factor,
-- with failures enough to tell. A failure is a finished attempt with status 'error'. A tool without finished attempts
-- in a window burns nothing there that anybody could see: NULL, and no alert. Every tool seen before `until` is
-- listed, what alerts first.
--
-- By code, status, day or hour a row is a part of what the whole burns: the failures of its group against all attempts of
-- the history in the window. The burns of the parts add up to that of the whole, and a part alerts where it would alone.
--
-- by: tool (default), version, agent, conversation, attributes; code, status, day, hour
-- parameters:
--   objective     objective = 0.99  share of attempts that are to succeed: 0.99, or in percent 99
--   since         timestamp = NULL  attempts that started at this time or later; windows that reach further back see less
--   until         timestamp = NULL  the windows end before this time; NULL is now
--   tool          text = NULL       this tool only
--   min_failures  integer = 5       fewer failures in the long window do not alert
--   min_n         integer = 20      fewer attempts in the long window are marked too_few
-- columns:
--   objective       share            what is asked
--   windows         text             the long and the short window
--   factor          ratio            a burn above this alerts
--   burn            ratio            what both windows burn at least: the smaller of the two; NULL where one is empty
--   alerting        flag             burn > factor, and failures >= min_failures
--   attempts        count            finished attempts in the long window, of the whole history
--   failures        count            those of the group with status 'error'
--   burn_long       ratio            failures / attempts / (1 - objective)
--   burn_low        low(burn_long)   95 % interval of burn_long
--   burn_high       high(burn_long)  95 % interval of burn_long
--   short_attempts  count            finished attempts in the short window, of the whole history
--   short_failures  count            those of the group with status 'error'
--   burn_short      ratio            the same of the short window
--   short_low       low(burn_short)   95 % interval of burn_short
--   short_high      high(burn_short)  95 % interval of burn_short
--   left_out        aside            attempts of the group in the long window that did not finish
--   quiet           mark             no finished attempt of the history in the long or the short window: nothing is known
--   too_few         mark             attempts < min_n: read the interval
-- source: multiwindow, multi-burn-rate alerts (Beyer et al., The Site Reliability Workbook, 2018, chapter 5); Wilson
--   score interval (Wilson 1927), z^2 = 3.841458820694124
WITH pairs AS (
    SELECT 1 AS place, '1 h and 5 min' AS windows, 14.4e0 AS factor, 3600 AS long_s, 300 AS short_s
    UNION ALL SELECT 2, '6 h and 30 min', 6.0e0, 21600, 1800
    UNION ALL SELECT 3, '3 d and 6 h', 1.0e0, 259200, 21600
),
asked AS (
    SELECT
        CAST(coalesce($until, current_timestamp AT TIME ZONE 'UTC') AS TIMESTAMP) AS ends,
        CASE WHEN $objective > 1 THEN $objective / 100 ELSE $objective END AS objective
),
scoped AS (
    SELECT
        /* by */ tool, /* end by */
        (epoch_us((SELECT ends FROM asked)) - epoch_us(started_at)) / 1000000.0 AS age_s,
        is_finished(status, ending) AS finished,
        coalesce(status = 'error', false) AS failed
    FROM tool_calls
    WHERE started_at < (SELECT ends FROM asked)
      AND ($since IS NULL OR started_at >= $since)
      AND ($tool IS NULL OR tool = $tool)
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        place,
        windows,
        factor,
        count(*) FILTER (WHERE age_s <= long_s AND finished) AS part,
        count(*) FILTER (WHERE age_s <= long_s AND finished AND failed) AS failures,
        count(*) FILTER (WHERE age_s <= short_s AND finished) AS short_part,
        count(*) FILTER (WHERE age_s <= short_s AND finished AND failed) AS short_failures,
        count(*) FILTER (WHERE age_s <= long_s AND NOT finished) AS left_out
    FROM scoped
    CROSS JOIN pairs
    GROUP BY ALL
),
-- what a part burns is measured against all attempts of its history
shared AS (
    SELECT *,
        CAST(sum(part) OVER of_history AS BIGINT) AS attempts,
        CAST(sum(short_part) OVER of_history AS BIGINT) AS short_attempts
    FROM counted
    WINDOW of_history AS (PARTITION BY /* by history names */ tool, /* end by */ place)
),
budgeted AS (
    SELECT
        c.*,
        a.objective,
        CASE WHEN a.objective < 1 THEN 1 - a.objective END AS budget
    FROM shared AS c
    CROSS JOIN asked AS a
),
burnt AS (
    SELECT *,
        failures / nullif(attempts, 0) / budget AS burn_long,
        wilson_low(failures, attempts) / budget AS burn_low,
        wilson_high(failures, attempts) / budget AS burn_high,
        short_failures / nullif(short_attempts, 0) / budget AS burn_short,
        wilson_low(short_failures, short_attempts) / budget AS short_low,
        wilson_high(short_failures, short_attempts) / budget AS short_high
    FROM budgeted
),
weighed AS (
    SELECT *, CASE WHEN burn_long < burn_short THEN burn_long WHEN burn_long IS NOT NULL THEN burn_short END AS burn
    FROM burnt
)
SELECT
    /* by names */ tool, /* end by */
    objective,
    windows,
    factor,
    burn,
    -- 144 failures of 1000 burn at 14.4, not above it: floating point is given no say
    coalesce(burn - factor > 1e-9 AND failures >= $min_failures, false) AS alerting,
    attempts,
    failures,
    burn_long,
    burn_low,
    burn_high,
    short_attempts,
    short_failures,
    burn_short,
    short_low,
    short_high,
    left_out,
    attempts = 0 OR short_attempts = 0 AS quiet,
    attempts < $min_n AS too_few
FROM weighed
ORDER BY
    max(alerting) OVER (PARTITION BY /* by names */ tool, /* end by */ 1) DESC,
    /* by names */ tool, /* end by */
    place
