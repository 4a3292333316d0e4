-- Which errors happen most, since when, and are they worth a retry?
--
-- One row for each code and type of error in a group, the most frequent first.
--
-- by: tool (default), version, agent, conversation, day, hour, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 1       errors seen fewer times are left out
-- columns:
--   code             text   the tool's error code
--   type             text   class of the exception, or the type that the response names
--   n                count  failed attempts
--   share            share  n / all failed attempts in the window, those left out included
--   first_seen       time   start of the first
--   last_seen        time   start of the last
--   retryable_share  share  said to be retryable / said to be retryable or not; NULL where nobody said
--   unsaid           aside  failed attempts that do not say whether they are retryable
--   example_call_id  text   call of the last: tooltrace show has it whole
WITH failed AS (
    SELECT *
    FROM tool_calls
    WHERE status = 'error'
      AND ending IN ('returned', 'raised')
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
counted AS (
    SELECT
        /* by */ tool, /* end by */
        code,
        error_type AS type,
        count(*) AS n,
        min(started_at) AS first_seen,
        max(started_at) AS last_seen,
        count(*) FILTER (WHERE retryable) AS retryable_n,
        count(retryable) AS said,
        arg_max(call_id, started_at) AS example_call_id
    FROM failed
    GROUP BY ALL
),
shared AS (
    SELECT *, n / sum(n) OVER () AS share
    FROM counted
)
SELECT
    /* by names */ tool, /* end by */
    code,
    type,
    n,
    share,
    first_seen,
    last_seen,
    retryable_n / nullif(said, 0) AS retryable_share,
    n - said AS unsaid,
    example_call_id
FROM shared
WHERE n >= $min_n
ORDER BY n DESC, last_seen DESC, /* by names */ tool, /* end by */ code, type
