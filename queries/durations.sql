-- How are the durations of a tool distributed?
--
-- One row per range of durations that contains attempts, the shortest first. Each power of ten is divided into ten ranges
-- of equal ratio. Finished attempts with a duration count. Results from a cache are left out, as in latency.
--
-- group: costs
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
-- columns:
--   from_ms   ms     start of the range
--   to_ms     ms     end of the range, exclusive
--   n         count  attempts in the range
--   failures  count  attempts in the range with status 'error'
--   share     share  n / attempts of the group
-- verdict: max(n) Most attempts of {group} took {from_ms} to {to_ms}: {n} of them ({share}).
-- next: query latency --tool {tool}
SELECT
    /* by names */ tool, /* end by */
    power(10, step / 10.0) AS from_ms,
    power(10, (step + 1) / 10.0) AS to_ms,
    n,
    failures,
    n / sum(n) OVER (PARTITION BY /* by names */ tool, /* end by */ 1) AS share
FROM (
    SELECT
        /* by */ tool, /* end by */
        -- below a microsecond is a microsecond
        floor(round(10 * log10(greatest(duration_ms, 1e-3)), 9)) AS step,
        count(*) AS n,
        count(*) FILTER (WHERE status = 'error') AS failures
    FROM attempts
    WHERE is_finished(status, ending) AND NOT coalesce(cached, false)
      AND known_ms(duration_ms) IS NOT NULL
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
    GROUP BY ALL
)
ORDER BY /* by names */ tool, /* end by */ step
