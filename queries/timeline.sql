-- How do attempts, failures and durations change over time?
--
-- One row per interval in which attempts of the group started, in order; intervals without attempts are left out. All
-- intervals have the same length: the shortest round length, from a second to 365 days, for which the attempts, or `span_s`
-- seconds, span at most `parts` intervals. A failure is a finished attempt with status 'error'.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 96 to 100 % of them (docs/explanation/coverage.md).
--
-- group: failures
-- by: tool (default), version, code, agent, model, release, environment, conversation, status, rule, rule_grade, attributes
-- parameters:
--   since   timestamp = NULL  attempts that started at this time or later
--   until   timestamp = NULL  attempts that started before this time
--   tool    text = NULL       this tool only
--   parts   integer = 60      maximum number of intervals; one more if the first attempt starts inside an interval
--   span_s  positive = NULL   length of the window in seconds; NULL: that of the time between the first and the last attempt
--   min_n   integer = 20      an interval of fewer attempts is marked too_few
--   rules   rules = 'all'     certain: failures that only a heuristic rule found count as attempts that did not fail
-- columns:
--   started   time        start of the interval
--   seconds   count       length of the interval
--   attempts  count       finished attempts
--   failures  count       finished attempts with status 'error'
--   rate      share       failures / attempts
--   low       low(rate)   95 % interval of rate
--   high      high(rate)  95 % interval of rate
--   p50       ms          median of the time in the tool, without results from a cache
--   p95       ms          95th percentile of the time in the tool
--   cut_off   aside       attempts that did not end by themselves: cancelled by a deadline, lost, or a stream left before its first item
--   left_out  aside       other attempts that did not finish
--   refused   aside       attempts left out: refused, the tool was not run
--   too_few   mark        attempts < min_n, or they are from fewer than 5 clusters: read the interval, not the rate
--   clusters  count       conversations with finished attempts, or traces without a conversation
--   design_effect  ratio  attempts for each independent one that rate is as precise as
-- important: started, attempts, failures, rate, p95
-- verdict: max(rate) {group} failed most from {started} on: {failures} of {attempts:attempt} ({rate}).
-- next: query incidents --tool {tool}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
-- order: started, groups
WITH cut AS (
    SELECT
        {by},
        cluster,
        finished,
        failed AND ($rules = 'all' OR failed_certain) AS failed,
        ending,
        cut_off,
        CASE WHEN finished AND NOT from_cache THEN ms END AS timed_ms,
        seconds,
        floor(epoch(started_at) / seconds) * seconds AS started_s
    FROM facts
    CROSS JOIN (
        -- the last length also applies to windows that are too long for 'parts' intervals of it
        SELECT coalesce(min(seconds) FILTER (WHERE CAST(seconds AS DOUBLE) * greatest($parts, 1) >= length_s), 31536000) AS seconds
        FROM (
            SELECT unnest([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
                604800, 2592000, 31536000]) AS seconds
        ) AS lengths
        CROSS JOIN (
            SELECT coalesce($span_s, max(epoch(started_at)) - min(epoch(started_at))) AS length_s FROM facts WHERE {window}
        ) AS whole
    ) AS chosen
    WHERE {window}
),
-- part: a number of an interval of a group, by which the intervals are joined because names can be NULL
counted AS (
    SELECT
        {by},
        started_s,
        hash({by}, started_s) AS part,
        seconds,
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE failed) AS failures,
        count(*) FILTER (WHERE cut_off) AS cut_off,
        count(*) FILTER (WHERE NOT finished AND NOT cut_off AND coalesce(ending, '') <> 'refused') AS left_out,
        count(*) FILTER (WHERE ending = 'refused') AS refused,
        quantile_cont(timed_ms, 0.5) AS p50,
        quantile_cont(timed_ms, 0.95) AS p95
    FROM cut
    GROUP BY ALL
),
clustered AS (
    SELECT part, sums(f, n) AS rate
    FROM (
        SELECT hash({by}, started_s) AS part, cluster, count(*) FILTER (WHERE finished) AS n, count(*) FILTER (WHERE failed) AS f
        FROM cut
        GROUP BY ALL
    ) AS clusters
    GROUP BY part
)
SELECT *, make_timestamp(CAST(started_s * 1e6 AS BIGINT)) AS started FROM counted LEFT JOIN clustered USING (part)
