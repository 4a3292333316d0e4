-- How many attempts does success take?
--
-- km is the share of calls that succeed within k attempts if nobody gives up before (Kaplan-Meier: giving up is
-- censoring). It supposes that the calls that were given up were no worse off than those that went on. naive is the
-- share that did succeed within k attempts.
--
-- Only finished attempts are attempts here: one that was cancelled, abandoned, paused, declined or expired is none, and
-- is shown. Success is any status but 'error'; what comes after the first success is not looked at. A call is counted in
-- the group of its first finished attempt: by code, that is the error that came first. Only attempts inside the
-- window are seen.
--
-- The interval of km is Greenwood's on the log-log scale. That has none where nothing has succeeded yet (here: Wilson's of
-- none in at_risk) and where all that were left succeeded (here: the low end before, and Wilson's of all in at_risk).
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a row with fewer calls at risk is marked too_few
-- columns:
--   k           count        which attempt of its call: 1 the first
--   calls       count        calls of the group
--   at_risk     count        calls that made a k-th attempt, and had not succeeded before
--   succeeded   count        of those, the k-th attempt succeeded
--   gave_up     count        of those, the k-th attempt failed and was the last
--   km          share        calls that succeed within k attempts if nobody gives up
--   km_low      low(km)      95 % interval of km
--   km_high     high(km)     95 % interval of km
--   naive       share        calls that did succeed within k attempts / calls
--   naive_low   low(naive)   95 % interval of naive
--   naive_high  high(naive)  95 % interval of naive
--   censored    share        calls given up before the k-th attempt / calls: those that km has to suppose something about
--   censored_low   low(censored)   95 % interval of censored
--   censored_high  high(censored)  95 % interval of censored
--   left_out    aside        attempts that did not finish, of the calls that ended with the k-th
--   too_few     mark         at_risk < min_n
-- source: Kaplan and Meier 1958; variance by Greenwood 1926, log-log interval by Kalbfleisch and Prentice 1980; Wilson
--   score 1927; z = 1.959963984540054; z^2 = 3.841458820694124
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
    SELECT *, row_number() OVER (
        PARTITION BY call_key(tool, call_id, conversation_id, host, pid) ORDER BY finished DESC, started_at, attempt
    ) AS attempt_no
    FROM scoped
    WHERE call_id IN (SELECT call_id FROM multi_attempt_calls)
),
lived AS (
    SELECT *,
        count(*) FILTER (WHERE finished) OVER whole AS tries,
        count(*) FILTER (WHERE NOT finished) OVER whole AS unfinished,
        min(attempt_no) FILTER (WHERE finished AND status <> 'error') OVER whole AS success_turn
    FROM numbered
    WINDOW whole AS (PARTITION BY call_key(tool, call_id, conversation_id, host, pid))
),
-- one row for each call, its first attempt; then how many calls ended with the k-th, and how
ended AS (
    SELECT
        /* by */ tool, /* end by */
        greatest(coalesce(success_turn, tries), 1) AS k,
        count(success_turn) AS succeeded,
        count(*) FILTER (WHERE finished AND success_turn IS NULL) AS gave_up,
        sum(unfinished) AS left_out
    FROM (
        SELECT * EXCLUDE (attempt_no) FROM lived WHERE attempt_no = 1
        UNION ALL
        SELECT *,
            CASE WHEN finished THEN 1 ELSE 0 END AS tries,
            CASE WHEN finished THEN 0 ELSE 1 END AS unfinished,
            CASE WHEN finished AND status <> 'error' THEN 1 END AS success_turn
        FROM scoped
        WHERE call_id NOT IN (SELECT call_id FROM multi_attempt_calls)
    ) AS whole
    GROUP BY ALL
),
-- an attempt that ended no call has a row all the same
filled AS (
    SELECT /* by names */ tool, /* end by */ k, succeeded, gave_up, left_out FROM ended
    UNION ALL
    SELECT /* by names */ tool, /* end by */ turns.k, 0 AS succeeded, 0 AS gave_up, 0 AS left_out
    FROM (SELECT /* by names */ tool, /* end by */ max(k) AS last_k FROM ended GROUP BY ALL) AS groups
    JOIN (SELECT attempt_no AS k FROM numbered UNION SELECT 1) AS turns ON turns.k <= groups.last_k
),
steps AS (
    SELECT
        /* by names */ tool, /* end by */
        k,
        CAST(sum(succeeded) AS BIGINT) AS succeeded,
        CAST(sum(gave_up) AS BIGINT) AS gave_up,
        CAST(sum(left_out) AS BIGINT) AS left_out
    FROM filled
    GROUP BY ALL
),
followed AS (
    SELECT *,
        CAST(sum(succeeded + gave_up) OVER (PARTITION BY /* by names */ tool, /* end by */ 1) AS BIGINT) AS calls,
        CAST(sum(succeeded + gave_up) OVER (PARTITION BY /* by names */ tool, /* end by */ 1 ORDER BY k DESC) AS BIGINT)
            AS at_risk,
        CAST(sum(succeeded) OVER (PARTITION BY /* by names */ tool, /* end by */ 1 ORDER BY k) AS BIGINT) AS done
    FROM steps
),
curve AS (
    SELECT *,
        CASE WHEN succeeded = at_risk THEN 0.0
             ELSE exp(sum(ln(nullif(at_risk - succeeded, 0) / at_risk)) OVER so_far) END AS pending,
        sqrt(sum(succeeded / (at_risk * nullif(at_risk - succeeded, 0))) OVER so_far) AS greenwood,
        calls - at_risk - (done - succeeded) AS lost
    FROM followed
    WHERE at_risk > 0
    WINDOW so_far AS (PARTITION BY /* by names */ tool, /* end by */ 1 ORDER BY k)
),
with_intervals AS (
    SELECT *,
        CASE WHEN pending = 1 THEN 0.0
             WHEN pending > 0 THEN 1 - power(pending, exp(-1.959963984540054 * greenwood / abs(ln(pending)))) END AS low,
        CASE WHEN pending = 1 THEN wilson_high(0, at_risk)
             WHEN pending > 0 THEN 1 - power(pending, exp(1.959963984540054 * greenwood / abs(ln(pending))))
             ELSE 1.0 END AS high
    FROM curve
)
SELECT
    /* by names */ tool, /* end by */
    k,
    calls,
    at_risk,
    succeeded,
    gave_up,
    1 - pending AS km,
    coalesce(low, 1 - (1 - coalesce(lag(low) OVER (PARTITION BY /* by names */ tool, /* end by */ 1 ORDER BY k), 0))
        * wilson_high(0, at_risk)) AS km_low,
    high AS km_high,
    done / calls AS naive,
    wilson_low(done, calls) AS naive_low,
    wilson_high(done, calls) AS naive_high,
    lost / calls AS censored,
    wilson_low(lost, calls) AS censored_low,
    wilson_high(lost, calls) AS censored_high,
    left_out,
    at_risk < $min_n AS too_few
FROM with_intervals
ORDER BY /* by names */ tool, /* end by */ k
