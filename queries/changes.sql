-- Which tools, versions and error codes are new?
--
-- One row per tool, version of a tool or error code of a tool whose first attempt lies in the window, the newest first.
-- Without `since`, the window starts one day after the first attempt of each tool, because otherwise everything would be
-- new. Versions and codes of a tool that is new itself are left out.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 94 to 100 % of them (docs/explanation/coverage.md).
--
-- group: changes
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
--   clusters     count  conversations with finished attempts with it, or traces without a conversation
--   design_effect  ratio  finished attempts for each independent one that rate is as precise as; NULL for a code
--   too_few      mark   fewer than 20 finished attempts, or they are from fewer than 5 clusters: read the interval, not the rate; NULL for a code
-- important: kind, tool, name, first_seen, attempts, failures, rate
-- verdict: top The newest is {kind} {name} of {tool}, first seen at {first_seen}: {attempts} attempts, {failures}
--   failed.
-- next: query errors --tool {tool}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
WITH days AS (
    SELECT tool, tool_version, code,
        min(started_at) AS first_seen,
        min(CASE WHEN status = 'error' AND is_finished(status, ending) THEN started_at END) AS first_failure,
        count(*) FILTER (WHERE is_finished(status, ending)) AS finished,
        count(*) FILTER (WHERE status = 'error' AND is_finished(status, ending)) AS failures
    FROM attempts
    WHERE ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
    GROUP BY tool, tool_version, code
),
tools AS (
    SELECT tool, min(first_seen) AS started FROM days GROUP BY tool
),
-- what may be new: only its attempts are counted for each cluster. A code is at most as new as its first failure
new_kinds AS (
    SELECT k.kind, k.tool, k.name
    FROM (
        SELECT 'tool' AS kind, tool, CAST(NULL AS TEXT) AS name, min(first_seen) AS first_seen FROM days GROUP BY tool
        UNION ALL
        SELECT 'version' AS kind, tool, tool_version AS name, min(first_seen) AS first_seen
        FROM days
        WHERE tool_version IS NOT NULL
        GROUP BY tool, tool_version
        UNION ALL
        SELECT 'code' AS kind, tool, code AS name, min(first_failure) AS first_seen
        FROM days
        WHERE code IS NOT NULL AND failures > 0
        GROUP BY tool, code
    ) AS k
    JOIN tools AS t ON t.tool = k.tool
    WHERE CASE WHEN $since IS NULL THEN k.first_seen >= t.started + to_seconds(86400) ELSE k.first_seen >= $since END
      -- for a new tool, its versions and codes add nothing
      AND (k.kind = 'tool' OR t.started < k.first_seen AND ($since IS NULL OR t.started < $since))
),
new_groups AS (
    SELECT d.tool, d.tool_version, d.code,
        t.tool IS NOT NULL AS of_tool,
        v.tool IS NOT NULL AS of_version,
        c.tool IS NOT NULL AS of_code
    FROM days AS d
    LEFT JOIN (SELECT tool FROM new_kinds WHERE kind = 'tool') AS t ON t.tool = d.tool
    LEFT JOIN (SELECT tool, name FROM new_kinds WHERE kind = 'version') AS v ON v.tool = d.tool AND v.name = d.tool_version
    LEFT JOIN (SELECT tool, name FROM new_kinds WHERE kind = 'code') AS c ON c.tool = d.tool AND c.name = d.code
    WHERE t.tool IS NOT NULL OR v.tool IS NOT NULL OR c.tool IS NOT NULL
),
per_cluster AS (
    SELECT a.tool, a.tool_version, a.code, a.cluster_hash AS cluster, g.of_tool, g.of_version, g.of_code,
        min(a.started_at) AS first_seen,
        count(*) AS attempts,
        count(*) FILTER (WHERE is_finished(a.status, a.ending)) AS finished,
        count(*) FILTER (WHERE a.status = 'error' AND is_finished(a.status, a.ending)) AS failures
    FROM attempts AS a
    JOIN new_groups AS g
        ON g.tool = a.tool
        AND g.tool_version IS NOT DISTINCT FROM a.tool_version
        AND g.code IS NOT DISTINCT FROM a.code
    WHERE ($until IS NULL OR a.started_at < $until)
      AND ($tool IS NULL OR a.tool = $tool)
    GROUP BY ALL
),
kinds_per_cluster AS (
    SELECT 'tool' AS kind, tool, CAST(NULL AS TEXT) AS name, cluster, min(first_seen) AS first_seen, sum(attempts) AS attempts,
        sum(finished) AS finished, sum(failures) AS failures
    FROM per_cluster
    WHERE of_tool
    GROUP BY tool, cluster
    UNION ALL
    SELECT 'version' AS kind, tool, tool_version AS name, cluster, min(first_seen) AS first_seen, sum(attempts) AS attempts,
        sum(finished) AS finished, sum(failures) AS failures
    FROM per_cluster
    WHERE of_version
    GROUP BY tool, tool_version, cluster
    UNION ALL
    SELECT 'code' AS kind, tool, code AS name, cluster, min(first_seen) AS first_seen, sum(attempts) AS attempts,
        sum(finished) AS finished, sum(failures) AS failures
    FROM per_cluster
    WHERE of_code AND failures > 0
    GROUP BY tool, code, cluster
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first_seen FROM kinds_per_cluster WHERE finished > 1 GROUP BY kind, tool, name, first_seen HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *,
        lag(finished) OVER in_time AS finished_before,
        lag(failures) OVER in_time AS failures_before
    FROM kinds_per_cluster
    WHERE finished > 1 AND first_seen NOT IN (SELECT first_seen FROM tied)
    WINDOW in_time AS (PARTITION BY kind, tool, name ORDER BY first_seen)
    UNION ALL
    SELECT *, NULL AS finished_before, NULL AS failures_before
    FROM kinds_per_cluster
    WHERE finished <= 1 OR first_seen IN (SELECT first_seen FROM tied)
),
kinds AS (
    SELECT kind, tool, name, min(first_seen) AS first_seen, sum(attempts) AS attempts, sum(finished) AS finished,
        sum(failures) AS failures, count(*) FILTER (WHERE finished > 0) AS clusters,
        chained_clusters(failures, finished, failures_before, finished_before) AS effective
    FROM in_order
    GROUP BY kind, tool, name
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
    CASE WHEN kind <> 'code' THEN cluster_low(failures, finished, effective) END AS low,
    CASE WHEN kind <> 'code' THEN cluster_high(failures, finished, effective) END AS high,
    before_rate,
    clusters,
    CASE WHEN kind <> 'code' THEN finished / nullif(effective, 0) END AS design_effect,
    CASE WHEN kind <> 'code' THEN too_few_draws(clusters, finished, 20) END AS too_few
FROM with_intervals
ORDER BY first_seen DESC, kind, tool, name
LIMIT $limit
