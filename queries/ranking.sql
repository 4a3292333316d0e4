-- Which tools should be looked at first?
--
-- One row per tool, in the order of at_least: the failed calls and cut-off attempts that are certain, by the lower limits of both
-- intervals. Tools of which none is certain follow in the order of hurt_ms, the time in failed calls. A call failed if its last finished
-- attempt failed. Attempts that were cut off are beside them, and a tool of which no attempt finished has a row without a rate. Other
-- attempts that did not finish are left out, with the time in them. A tool whose calls were all refused has no row: see refusals.
--
-- The order is of the time range alone. Whether a tool fails more than before, and since when, is the question of states, which
-- reads the whole history.
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
--   at_least         number                 failed calls and cut-off attempts, at the lower limits of their intervals
--   attempts         count                  finished attempts of these calls
--   amplification    ratio                  attempts / calls: 1 means that nothing was retried
--   cost_ms          ms                     mean time of a failed call, over all its attempts
--   hurt_ms          ms                     failed_calls * cost_ms
--   hurt_share       share                  hurt_ms / hurt_ms of all groups
--   p95              ms                     95th percentile of the duration of an attempt, without results from a cache
--   last_failed_at   time                   start of the last failed attempt
--   too_few          mark                   calls < min_n, or they are from fewer than 5 clusters: read the interval, not the rate
--   clusters         count                  conversations among calls, or traces without a conversation
--   design_effect    ratio                  calls for each independent one that rate is as precise as
--   code             text                   error code of most failed calls
--   message          text                   error message of the last failed call with that code, at most 500 characters
--   last_called_at   time                   start of the last finished or cut-off attempt
--   cut_off          aside                  attempts that did not end by themselves: cancelled by a deadline, lost, or a stream left before its first item
--   cut_off_share    share                  cut_off / (attempts + cut_off)
--   cut_off_low      low(cut_off_share)     95 % interval of cut_off_share
--   cut_off_high     high(cut_off_share)    95 % interval of cut_off_share
--   refused          aside                  attempts left out: refused, the tool was not run
--   pattern          parts                  message with <text>, <url>, <path>, <id> and <n> for the parts that vary
-- content: message, pattern
-- important: failed_calls, rate, cut_off, code, message, calls, hurt_ms, cost_ms
-- hidden: failed_calls
-- verdict: first {group} is first: {failed_calls} of {calls:call} failed ({rate}, {low} to {high}) and {cut_off:attempt}
--   were cut off, last with {code} {message}.
-- next: query errors --tool {tool}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
-- reasoner: ranking
WITH scoped AS (
    SELECT *,
        hash({by}, 1) AS grp,
        failed AND ($rules = 'all' OR failed_certain) AS bad,
        ends_call AND failed AND ($rules = 'all' OR failed_certain) AS bad_call
    FROM facts
    WHERE {window} AND (finished OR cut_off OR ending = 'refused')
),
groups AS (
    SELECT
        {by},
        grp,
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE cut_off) AS cut_off,
        count(*) FILTER (WHERE ending = 'refused') AS refused,
        avg(ms_of_call) FILTER (WHERE bad_call) AS cost_ms,
        quantile_cont(ms, 0.95) FILTER (WHERE finished AND NOT from_cache) AS p95,
        max(started_at) FILTER (WHERE bad) AS last_failed_at,
        max(started_at) FILTER (WHERE finished OR cut_off) AS last_called_at
    FROM scoped
    GROUP BY ALL
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
causes AS (
    SELECT
        grp,
        coalesce(code, '') AS cause,
        count(*) AS caused,
        arg_max(left(error_message, 500), started_at) AS message,
        arg_max(message_kind, started_at) AS pattern
    FROM scoped
    WHERE bad_call
    GROUP BY ALL
)
SELECT * FROM groups JOIN rates USING (grp) LEFT JOIN causes USING (grp)
