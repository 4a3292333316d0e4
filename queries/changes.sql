-- Which tools, versions and error codes are new?
--
-- One row per tool, version of a tool or error code of a tool whose first attempt lies in the window, the newest first.
-- Without `since`, the window starts one day after the first attempt of each tool, because otherwise everything would be
-- new. Versions and codes of a tool that is new itself are left out.
--
-- parameters:
--   since  timestamp = NULL  first attempt at this time or later
--   until  timestamp = NULL  first attempt before this time
--   tool   text = NULL       this tool only
--   limit  integer = 50      maximum number of rows
-- columns:
--   kind         text   tool, version or code
--   tool         text   name of the tool
--   name         text   the version or the code
--   first_seen   time   start of the first attempt with it
--   attempts     count  attempts with it since then
--   failures     count  finished attempts with it that have status 'error'
--   rate         share  failures / finished attempts with it; NULL for a code, whose attempts all failed
--   low          low(rate)   95 % interval of rate
--   high         high(rate)  95 % interval of rate
--   before_rate  share  for a version: failure rate of the versions of the tool that are older
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
WITH days AS (
    SELECT tool, tool_version, code,
        min(started_at) AS first_seen,
        count(*) AS attempts,
        count(*) FILTER (WHERE is_finished(status, ending)) AS finished,
        count(*) FILTER (WHERE status = 'error' AND is_finished(status, ending)) AS failures
    FROM tool_calls
    WHERE ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
    GROUP BY ALL
),
tools AS (
    SELECT tool, min(first_seen) AS started FROM days GROUP BY tool
),
kinds AS (
    SELECT 'tool' AS kind, tool, CAST(NULL AS TEXT) AS name, min(first_seen) AS first_seen, sum(attempts) AS attempts,
        sum(finished) AS finished, sum(failures) AS failures
    FROM days
    GROUP BY tool
    UNION ALL
    SELECT 'version' AS kind, tool, tool_version AS name, min(first_seen) AS first_seen, sum(attempts) AS attempts,
        sum(finished) AS finished, sum(failures) AS failures
    FROM days
    WHERE tool_version IS NOT NULL
    GROUP BY tool, tool_version
    UNION ALL
    SELECT 'code' AS kind, tool, code AS name, min(first_seen) AS first_seen, sum(attempts) AS attempts,
        sum(finished) AS finished, sum(failures) AS failures
    FROM days
    WHERE code IS NOT NULL AND failures > 0
    GROUP BY tool, code
),
earlier AS (
    SELECT v.tool, v.name, sum(d.failures) AS failures, sum(d.finished) AS finished
    FROM kinds AS v
    JOIN days AS d ON d.tool = v.tool AND d.tool_version IS DISTINCT FROM v.name
    JOIN (SELECT tool, tool_version, min(first_seen) AS started FROM days GROUP BY ALL) AS o
        ON o.tool = d.tool AND o.tool_version IS NOT DISTINCT FROM d.tool_version
    WHERE v.kind = 'version' AND o.started < v.first_seen
    GROUP BY ALL
),
with_intervals AS (
    SELECT k.*,
        CASE WHEN e.finished > 0 THEN e.failures / e.finished END AS before_rate
    FROM kinds AS k
    JOIN tools AS t ON t.tool = k.tool
    LEFT JOIN earlier AS e ON k.kind = 'version' AND e.tool = k.tool AND e.name = k.name
    WHERE CASE WHEN $since IS NULL THEN k.first_seen >= t.started + to_seconds(86400) ELSE k.first_seen >= $since END
      -- for a new tool, its versions and codes add nothing
      AND (k.kind = 'tool' OR t.started < k.first_seen AND ($since IS NULL OR t.started < $since))
)
SELECT
    kind,
    tool,
    name,
    first_seen,
    CAST(attempts AS BIGINT) AS attempts,
    CAST(failures AS BIGINT) AS failures,
    CASE WHEN kind <> 'code' THEN failures / nullif(finished, 0) END AS rate,
    CASE WHEN kind <> 'code' THEN wilson_low(failures, finished) END AS low,
    CASE WHEN kind <> 'code' THEN wilson_high(failures, finished) END AS high,
    before_rate
FROM with_intervals
ORDER BY first_seen DESC, kind, tool, name
LIMIT $limit
