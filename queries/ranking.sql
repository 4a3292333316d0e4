-- Which tools should be looked at first?
--
-- One row per tool, the most urgent first: tools that are failing now, then by excess_low, the lower limit of the number
-- of failed calls beyond the baseline of the tool. Tools for which it is not above 0 follow in the order of hurt_ms, the
-- time in failed calls. A call failed if its last finished attempt failed. Attempts that were cut off are beside them: where the lower
-- limit of cut_off_share is above 5 %, those above it count as failed calls in the order, and a tool of which no attempt finished has a row
-- without a rate. Other attempts that did not finish are left out, with the time in them. A tool whose calls were all refused has no row: see refusals.
--
-- A tool is failing now if its last calls all failed and chance does not explain that many, neither at the baseline nor at
-- the rate of its other calls: fewer than 0.05 such runs are expected. See incidents for those that ended.
--
-- changed_at is the time since which more calls fail than before, if one change at that time is more than 20 times as
-- likely as a constant rate. The window is divided into 4,000 parts; the change is between two of them. Calls of one
-- conversation are alike, which counts against a change. code and message are those of the calls that failed since then,
-- without a change those of all failed calls. See drift for changes to the better and for latency.
--
-- The baseline of a tool is the share of its calls that failed in the 7 days before `since`, if it had 20 calls or more. If
-- more than half of these failed, the baseline is 5 % instead. For a tool without such a history, the baseline is the share
-- of its calls that failed in the first half of the time between the first and the last attempt of all tools; if that is
-- above 5 %, the baseline is 5 %. Every baseline includes 20 additional calls that failed at a rate of 5 %, so that a short
-- history has little weight; for excess_low they do not lower the baseline. Grouped by version, agent or others, a group is
-- compared with the baselines of its tools, so that a version that is broken from its first call is visible.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 96 to 100 % of them; without any change excess_low is above 0 in at most 3 %
-- (docs/explanation/coverage.md).
--
-- group: failures (first)
-- by: tool (default), version, agent, model, release, environment, conversation, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer calls is marked too_few
--   rules  rules = 'all'     certain: failures that only a heuristic rule found count as attempts that did not fail
-- columns:
--   calls            count                  calls with at least one finished attempt
--   failed_calls     count                  calls whose last finished attempt failed
--   rate             share                  failed_calls / calls
--   low              low(rate)              95 % interval of rate
--   high             high(rate)             95 % interval of rate
--   attempts         count                  finished attempts of these calls
--   amplification    ratio                  attempts / calls: 1 means that nothing was retried
--   cost_ms          ms                     mean time of a failed call, over all its attempts
--   hurt_ms          ms                     failed_calls * cost_ms
--   hurt_share       share                  hurt_ms / hurt_ms of all groups
--   p95              ms                     95th percentile of the duration of an attempt, without results from a cache
--   last_failed_at   time                   start of the last failed attempt
--   too_few          mark                   calls < min_n, or they or those of the baseline are from fewer than 5 clusters: read the interval, not the rate
--   baseline_rate    share                  share of calls that the baseline expects to fail; excess_low includes its uncertainty
--   baseline_calls   count                  calls that the baseline is computed from; 0 if it is 5 %
--   excess_failures  number                 failed_calls - baseline_rate * calls; negative if fewer failed than expected
--   excess_low       low(excess_failures)   95 % interval of excess_failures; a change in conversations that began before since is not seen as one
--   excess_high      high(excess_failures)  95 % interval of excess_failures
--   clusters         count                  conversations among calls, or traces without a conversation
--   design_effect    ratio                  calls for each independent one that rate is as precise as
--   open_failures    count                  failed calls in a row until now, if chance explains fewer; else 0
--   changed_at       time                   start of the first failed call since which more calls fail; NULL if no change is likely enough
--   before_rate      share                  share of calls that failed before changed_at
--   after_rate       share                  share of calls that failed since changed_at
--   failed_since     count                  failed calls since changed_at
--   version_since    text                   version of most calls that failed since changed_at, if most calls before had another one
--   version_before   text                   version of most calls before changed_at, if version_since is another one
--   code             text                   error code of most failed calls since changed_at, without a change of all failed calls
--   message          text                   error message of the last failed call with that code, at most 500 characters
--   last_called_at   time                   start of the last finished or cut-off attempt
--   cut_off          aside                  attempts that did not end by themselves: cancelled by a deadline, lost, or a stream left before its first item
--   cut_off_share    share                  cut_off / (attempts + cut_off)
--   cut_off_low      low(cut_off_share)     95 % interval of cut_off_share
--   cut_off_high     high(cut_off_share)    95 % interval of cut_off_share
--   refused          aside                  attempts left out: refused, the tool was not run
--   pattern          parts                  message with <text>, <url>, <path>, <id> and <n> for the parts that vary
-- content: message, pattern
-- important: failed_calls, rate, changed_at, code, message, excess_failures, calls, hurt_ms, cost_ms
-- hidden: failed_calls
-- verdict: first {group} is first: {failed_calls} of {calls:call} failed ({rate}, {low} to {high}) and {cut_off:attempt}
--   were cut off, last with {code} {message}.
-- next: query errors --tool {tool}
-- source: interval of the excess: Newcombe 1998, method 10, from the limits of both rates; interval of a rate: Wilson
--   score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998); change: Smith 1975, of a rise only
-- reasoner: ranking
WITH bounds AS (
    -- of all tools, so that a tool has the same baseline and the same change alone and beside others
    SELECT min(epoch(started_at)) AS first_s, max(epoch(started_at)) AS last_s
    FROM facts
    WHERE (finished OR cut_off) AND ($since IS NULL OR started_at >= $since) AND ($until IS NULL OR started_at < $until)
),
scoped AS (
    SELECT *,
        hash({by}, 1) AS grp,
        tool AS of_tool,
        version AS used_version,
        failed AND ($rules = 'all' OR failed_certain) AS bad,
        ends_call AND failed AND ($rules = 'all' OR failed_certain) AS bad_call,
        floor((epoch(started_at) - first_s) * 4e3 / (1e-6 + last_s - first_s)) AS part
    FROM facts
    CROSS JOIN bounds
    WHERE {window} AND (finished OR cut_off OR ending = 'refused')
),
-- by part of the window, tool, version and error of a failed call
parts AS (
    SELECT
        {by},
        grp,
        of_tool,
        part,
        used_version,
        CASE WHEN bad_call THEN coalesce(code, '') END AS cause,
        count(*) FILTER (WHERE ends_call) AS calls,
        count(*) FILTER (WHERE bad_call) AS failed_calls,
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE cut_off) AS cut_off,
        count(*) FILTER (WHERE ending = 'refused') AS refused,
        sum(ms_of_call) FILTER (WHERE bad_call) AS failed_ms,
        count(ms_of_call) FILTER (WHERE bad_call) AS timed,
        min(started_at) FILTER (WHERE bad_call) AS first_failed,
        max(started_at) FILTER (WHERE bad_call) AS last_failed,
        max(started_at) FILTER (WHERE bad) AS last_failed_attempt,
        max(started_at) FILTER (WHERE ends_call AND NOT bad) AS last_worked,
        max(started_at) FILTER (WHERE finished OR cut_off) AS last_called,
        arg_max(left(error_message, 500), started_at) FILTER (WHERE bad_call) AS message,
        arg_max(message_kind, started_at) FILTER (WHERE bad_call) AS pattern
    FROM scoped
    GROUP BY ALL
),
groups AS (
    SELECT grp, quantile_cont(ms, 0.95) FILTER (WHERE finished AND NOT from_cache) AS p95 FROM scoped GROUP BY grp
),
rates AS (
    SELECT grp, sums(f, n) AS rate, sums(cut, seen) AS cut_off_share
    FROM (
        SELECT
            grp,
            cluster,
            count(*) FILTER (WHERE ends_call) AS n,
            count(*) FILTER (WHERE bad_call) AS f,
            count(*) FILTER (WHERE cut_off) AS cut,
            count(*) FILTER (WHERE finished OR cut_off) AS seen
        FROM scoped
        GROUP BY ALL
    )
    GROUP BY grp
),
-- of each tool: the 7 days before since, and the first half of the window
earlier AS (
    SELECT of_tool, sums(old_f, old_n) AS history, sums(half_f, half_n) AS half
    FROM (
        SELECT
            tool AS of_tool,
            cluster,
            count(*) FILTER (WHERE started_at < $since) AS old_n,
            count(*) FILTER (WHERE started_at < $since AND failed AND ($rules = 'all' OR failed_certain)) AS old_f,
            count(*) FILTER (WHERE $since IS NULL OR started_at >= $since) AS half_n,
            count(*) FILTER (WHERE ($since IS NULL OR started_at >= $since) AND failed AND ($rules = 'all' OR failed_certain)) AS half_f
        FROM facts
        CROSS JOIN bounds
        WHERE ends_call
          AND ($since IS NULL OR started_at >= CAST($since AS TIMESTAMP) - INTERVAL '7 days')
          AND epoch(started_at) < (first_s + last_s) / 2
          AND ($tool IS NULL OR tool = $tool)
        GROUP BY ALL
    ) AS clusters
    GROUP BY of_tool
)
SELECT * FROM parts JOIN groups USING (grp) JOIN rates USING (grp) LEFT JOIN earlier USING (of_tool) ORDER BY part
