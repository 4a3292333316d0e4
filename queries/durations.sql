-- How are the durations of a tool distributed?
--
-- One row per range of durations that contains attempts, the shortest first. Each power of ten is divided into ten ranges
-- of equal ratio. Finished attempts with a duration count; those that were cut off would have taken longer, and stand beside
-- them. Results from a cache are left out, as in latency.
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
--   cut_off   aside  attempts that were cut off after a duration in the range: by a deadline, or a stream left before its first item
--   share     share  n / attempts of the group
--   total_ms  ms     time of the finished attempts in the range
-- verdict: max(n) Most attempts of {group} took {from_ms} to {to_ms}: {n} of them ({share}).
-- next: query latency --tool {tool}
-- reasoner: durations
SELECT {by}, step, power(10, step / 10.0) AS from_ms, power(10, (step + 1) / 10.0) AS to_ms, count(*) FILTER (WHERE finished) AS n, count(*) FILTER (WHERE failed) AS failures,
    count(*) FILTER (WHERE cut_off) AS cut_off, sum(CASE WHEN finished THEN ms END) AS total_ms
FROM (
    -- below a microsecond is a microsecond
    SELECT *, floor(round(10 * log10(greatest(ms, 1e-3)), 9)) AS step
    FROM facts
    WHERE {window} AND (finished OR cut_off) AND NOT from_cache AND ms IS NOT NULL
) AS stepped
GROUP BY ALL
ORDER BY {by}, step
