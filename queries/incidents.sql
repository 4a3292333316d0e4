-- When was a tool down, and how long did it take to recover?
--
-- One row per incident, open ones first, then the latest. An incident starts with `failing` or more finished attempts in a
-- row that failed (status 'error'), at the start of the first of them. It ends with `recovering` or more attempts in a row
-- that did not fail, at the start of the first of them. Attempts are ordered by start time. An attempt that did not finish
-- does not interrupt a row. An incident that has not ended is open: ended and time_to_recovery_ms are NULL, not 0, so a
-- mean over the other incidents alone is too short.
--
-- Grouped by code, status, day or hour, the history is not split: an incident of the whole history belongs to the group of
-- its first failure, so a night of failures is one incident of the day on which it started.
--
-- by: tool (default), version, agent, conversation, attributes; code, status, day, hour
-- parameters:
--   since       timestamp = NULL  attempts that started at this time or later
--   until       timestamp = NULL  attempts that started before this time
--   tool        text = NULL       this tool only
--   min_n       integer = 5       an incident of fewer finished attempts is marked too_few
--   failing     positive = 3      number of consecutive failures that starts an incident
--   recovering  positive = 1      number of consecutive attempts without failure that ends it
-- columns:
--   started              time   start of the first failure
--   ended                time   start of the first successful attempt after it; NULL if open
--   failures             count  failed attempts in the incident
--   attempts             count  finished attempts in the incident
--   time_to_recovery_ms  ms     from started to ended; NULL if open
--   lasted_ms            ms     the same; for an open incident the time until its last attempt, as a minimum
--   code                 text   error code of the first failure that has one
--   unfinished           aside  attempts in the incident that did not finish
--   may_be_older         mark   the incident contains the first attempt of the window, and may have started earlier
--   too_few              mark   attempts < min_n: the incident may be chance
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
with_previous AS (
    SELECT *,
        row_number() OVER history AS ordinal,
        last_value(failed IGNORE NULLS) OVER (
            PARTITION BY /* by history names */ tool, /* end by */ 1
            ORDER BY started_at, attempt, span_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS previous_failed
    FROM scoped
    WINDOW history AS (PARTITION BY /* by history names */ tool, /* end by */ 1 ORDER BY started_at, attempt, span_id)
),
with_run AS (
    SELECT *,
        sum(CASE WHEN failed <> previous_failed OR (previous_failed IS NULL AND failed IS NOT NULL) THEN 1 ELSE 0 END) OVER (
            PARTITION BY /* by history names */ tool, /* end by */ 1 ORDER BY ordinal
        ) AS run
    FROM with_previous
),
-- a run: consecutive attempts that all failed, or all did not fail
runs AS (
    SELECT
        /* by history names */ tool, /* end by */
        run,
        max(failed) AS failed,
        count(failed) AS attempts,
        count(*) - count(failed) AS unfinished,
        min(started_at) AS started,
        max(started_at) AS last_seen,
        arg_min(code, ordinal) FILTER (WHERE failed = 1) AS code
    FROM with_run
    WHERE run > 0
    GROUP BY ALL
),
classified_runs AS (
    SELECT *,
        CASE WHEN failed = 1 AND attempts >= $failing THEN 'down'
             WHEN failed = 0 AND attempts >= $recovering THEN 'up' END AS change
    FROM runs
),
with_state AS (
    SELECT *,
        last_value(change IGNORE NULLS) OVER history AS state,
        count(CASE WHEN change = 'up' THEN 1 END) OVER history AS recoveries,
        min(CASE WHEN change = 'up' THEN started END) OVER (
            PARTITION BY /* by history names */ tool, /* end by */ 1
            ORDER BY run DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS up_at
    FROM classified_runs
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
    FROM with_state
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
    FROM (SELECT *, 'error' AS status FROM incidents) AS all_incidents
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
