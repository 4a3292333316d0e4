-- Which errors happen most often, since when, and are they worth a retry?
--
-- One row per code, type and kind of message in a group, the most frequent first. Messages are of one kind if they differ
-- only in quoted text, addresses, paths, ids and numbers; the first 500 characters are compared. Finished attempts with
-- status 'error' count.
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 1       errors with fewer failed attempts are left out
-- columns:
--   code             text                   error code
--   type             text                   class of the exception, or the type that the response names
--   n                count                  failed attempts with the error
--   share            share                  n / all failed attempts in the window, including errors below min_n
--   share_low        low(share)             95 % interval of share
--   share_high       high(share)            95 % interval of share
--   first_seen       time                   start of the first attempt with the error
--   last_seen        time                   start of the last attempt with the error
--   retryable_share  share                  attempts that reported retryable / attempts that reported retryable or not; NULL if none did
--   retryable_low    low(retryable_share)   95 % interval of retryable_share
--   retryable_high   high(retryable_share)  95 % interval of retryable_share
--   unsaid           aside                  failed attempts that did not report whether they are retryable
--   example_call_id  text                   call of the last attempt with the error; tooltrace show prints it
--   message          text                   error message; the parts that differ are replaced by <text>, <url>, <path>, <id> and <n>
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
WITH failed AS (
    SELECT *,
        left(error_message, 500) AS reported,
        regexp_replace(reported, '(\B|\b[bru])''.*?''\B|\B".*?"\B|`[^`]*`|“[^”]*”|「[^」]*」', '<text>', 'g') AS reported_1,
        regexp_replace(reported_1, '\b[A-Za-z][A-Za-z0-9+.-]*://[^\s<>()]+', '<url>', 'g') AS reported_2,
        regexp_replace(
            reported_2,
            '(\B(~|\.{1,2})?|\b[A-Za-z]:)[/\\]+[\w.@%+~-]+([/\\]+[\w.@%+~-]+)*[/\\]?'  -- absolute or relative
                || '|\b[\w.@+-]+([/\\][\w.@+-]+){2,}'  -- a/b/c; a/b may be "and/or"
                || '|\b[\w@+-]+[/\\][\w@+-]+\.\w+',  -- a/b.txt
            '<path>', 'g'
        ) AS reported_3,
        regexp_replace(
            reported_3,
            '\b[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b'  -- UUID
                || '|\b0x[0-9A-Fa-f]+\b|\b\d*[A-Fa-f][0-9A-Fa-f]{7,}\b|\b\d{4,}[A-Fa-f]+\b'  -- hex, with a letter in it
                || '|\b\w*\d[A-Za-z_]+\d\w*\b',  -- letters between digits
            '<id>', 'g'
        ) AS reported_4,
        regexp_replace(reported_4, '\d+([.,]\d+)*([eE][-+]\d+)?', '<n>', 'g') AS message
    FROM tool_calls
    WHERE status = 'error'
      AND is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
counted AS (
    SELECT
        /* by */ tool, /* end by */
        /* unless by code */ code, /* end unless */
        error_type AS type,
        message,
        count(*) AS n,
        min(started_at) AS first_seen,
        max(started_at) AS last_seen,
        count(*) FILTER (WHERE retryable) AS retryable_n,
        count(retryable) AS flagged_n,
        arg_max(call_id, started_at) AS example_call_id
    FROM failed
    GROUP BY ALL
),
totals AS (
    SELECT *, CAST(sum(n) OVER () AS BIGINT) AS total
    FROM counted
)
SELECT
    /* by names */ tool, /* end by */
    /* unless by code */ code, /* end unless */
    type,
    n,
    n / total AS share,
    wilson_low(n, total) AS share_low,
    wilson_high(n, total) AS share_high,
    first_seen,
    last_seen,
    retryable_n / nullif(flagged_n, 0) AS retryable_share,
    wilson_low(retryable_n, flagged_n) AS retryable_low,
    wilson_high(retryable_n, flagged_n) AS retryable_high,
    n - flagged_n AS unsaid,
    example_call_id,
    message
FROM totals
WHERE n >= $min_n
ORDER BY n DESC, last_seen DESC, /* by names */ tool, /* end by */ code, type, message
