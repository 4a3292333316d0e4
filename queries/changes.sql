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
--   cut_off      aside  attempts with it that did not end by themselves: cancelled by a deadline, lost, or a stream left before its first item
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
-- reasoner: changes
SELECT
    kind,
    tool,
    name,
    min(first_seen) AS first_seen,
    min(first_failure) AS first_failure,
    sum(attempts) AS attempts,
    sum(failures) AS failures,
    sum(cut_off) AS cut_off,
    sums(failures, finished) AS rate
FROM (
    -- one row for each tool, version and code, and cluster
    SELECT
        CASE WHEN grouping(version) = 0 THEN 'version' WHEN grouping(code) = 0 THEN 'code' ELSE 'tool' END AS kind,
        tool,
        CASE WHEN grouping(version) = 0 THEN version WHEN grouping(code) = 0 THEN code END AS name,
        cluster,
        min(started_at) AS first_seen,
        min(CASE WHEN failed OR cut_off THEN started_at END) AS first_failure,
        count(*) AS attempts,
        count(*) FILTER (WHERE finished) AS finished,
        count(*) FILTER (WHERE failed) AS failures,
        count(*) FILTER (WHERE cut_off) AS cut_off
    FROM facts
    WHERE ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
    GROUP BY GROUPING SETS ((tool, cluster), (tool, version, cluster), (tool, code, cluster))
) AS clusters
GROUP BY ALL
