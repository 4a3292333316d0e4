-- When was a tool down, and how long until it worked again?
--
-- An incident begins with so many finished attempts in a row that failed (status 'error'), at the start of the first
-- of them, and ends where the first attempt in a row of `recovering` ones began that did not fail. Fewer failures
-- in a row are no incident. Attempts are taken in the order in which they began. One that did not finish says nothing
-- and interrupts no row. An incident that has not ended is open: its end and its time to recovery are NULL, not 0, and
-- a mean over the others alone is too short. One row for each incident, the open ones first, then the latest.
--
-- By code, status, day or hour no history is cut: an incident of the whole history is in the group of its first failure,
-- and so a night of failures is one incident, of the day on which it began.
--
-- by: tool (default), version, agent, conversation, attributes; code, status, day, hour
-- parameters:
--   since       timestamp = NULL  attempts that started at this time or later
--   until       timestamp = NULL  attempts that started before this time
--   tool        text = NULL       this tool only
--   min_n       integer = 5       an incident of fewer finished attempts is marked too_few
--   failing     positive = 3      number of consecutive failures that begins an incident
--   recovering  positive = 1      number of consecutive attempts without failure that ends it
-- columns:
--   started              time   start of its first failure
--   ended                time   start of the first attempt that worked again; NULL: open
--   failures             count  attempts in it that failed
--   attempts             count  attempts in it that finished
--   time_to_recovery_ms  ms     from started to ended; NULL: open
--   lasted_ms            ms     the same; where it is open, up to the last attempt seen: at least so long
--   code                 text   code of its first failure that has one
--   unfinished           aside  attempts in it that did not finish
--   may_be_older         mark   the first attempt in the window is in it: it may have begun before
--   too_few              mark   attempts < min_n: it may be chance
-- source: an open incident is a censored time to recovery (Kaplan and Meier 1958)
WITH scoped AS (
    SELECT
        /* by history */ tool, /* end by */
        started_at,
        attempt,
        span_id,
        code,
        CASE WHEN is_finished(status, ending)
             THEN CASE WHEN status = 'error' THEN 1 ELSE 0 END END AS failed
    FROM tool_calls
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
turned AS (
    SELECT *,
        row_number() OVER history AS place,
        last_value(failed IGNORE NULLS) OVER (
            PARTITION BY /* by history names */ tool, /* end by */ 1
            ORDER BY started_at, attempt, span_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before
    FROM scoped
    WINDOW history AS (PARTITION BY /* by history names */ tool, /* end by */ 1 ORDER BY started_at, attempt, span_id)
),
placed AS (
    SELECT *,
        sum(CASE WHEN failed <> before OR (before IS NULL AND failed IS NOT NULL) THEN 1 ELSE 0 END) OVER (
            PARTITION BY /* by history names */ tool, /* end by */ 1 ORDER BY place
        ) AS run
    FROM turned
),
-- a run: attempts one after another that all failed, or all did not
runs AS (
    SELECT
        /* by history names */ tool, /* end by */
        run,
        max(failed) AS failed,
        count(failed) AS attempts,
        count(*) - count(failed) AS unfinished,
        min(started_at) AS started,
        max(started_at) AS last_seen,
        arg_min(code, place) FILTER (WHERE failed = 1) AS code
    FROM placed
    WHERE run > 0
    GROUP BY ALL
),
judged_runs AS (
    SELECT *,
        CASE WHEN failed = 1 AND attempts >= $failing THEN 'down'
             WHEN failed = 0 AND attempts >= $recovering THEN 'up' END AS change
    FROM runs
),
stated AS (
    SELECT *,
        last_value(change IGNORE NULLS) OVER history AS state,
        count(CASE WHEN change = 'up' THEN 1 END) OVER history AS recoveries,
        min(CASE WHEN change = 'up' THEN started END) OVER (
            PARTITION BY /* by history names */ tool, /* end by */ 1
            ORDER BY run DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS up_at
    FROM judged_runs
    WINDOW history AS (
        PARTITION BY /* by history names */ tool, /* end by */ 1 ORDER BY run ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),
incidents AS (
    SELECT
        /* by history names */ tool, /* end by */
        recoveries,
        min(started) AS started_at,
        min(up_at) AS ended,
        CAST(sum(CASE WHEN failed = 1 THEN attempts ELSE 0 END) AS BIGINT) AS failures,
        CAST(sum(attempts) AS BIGINT) AS attempts,
        max(last_seen) AS last_seen,
        arg_min(code, run) AS code,
        CAST(sum(unfinished) AS BIGINT) AS unfinished,
        min(run) = 1 AS may_be_older
    FROM stated
    WHERE state = 'down'
    GROUP BY ALL
),
grouped AS (
    SELECT
        /* by history names */ tool, /* end by */
        /* by within */ /* end by */
        started_at AS started,
        ended,
        failures,
        attempts,
        last_seen,
        /* unless by code */ code, /* end unless */
        unfinished,
        may_be_older
    FROM (SELECT *, 'error' AS status FROM incidents) AS whole
)
SELECT
    /* by names */ tool, /* end by */
    started,
    ended,
    failures,
    attempts,
    (epoch_us(ended) - epoch_us(started)) / 1000.0 AS time_to_recovery_ms,
    (epoch_us(coalesce(ended, last_seen)) - epoch_us(started)) / 1000.0 AS lasted_ms,
    /* unless by code */ code, /* end unless */
    unfinished,
    may_be_older,
    attempts < $min_n AS too_few
FROM grouped
ORDER BY CASE WHEN ended IS NULL THEN 0 ELSE 1 END, started DESC, /* by names */ tool, /* end by */ failures
