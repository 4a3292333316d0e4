-- How are the tools doing, and is that better or worse than before?
--
-- Two rows: 'now' is the window from `since` to `until`, and 'before' is the window from `before` to `since`. An attempt is
-- finished if it ended with a status; a failure is a finished attempt with status 'error'. A call is retried if more than
-- one of its attempts finished; it belongs to the window of the last one. The query gap shows how far confidence can be trusted.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 93 to 100 % of them (docs/explanation/coverage.md).
--
-- group: failures
-- parameters:
--   since   timestamp = NULL  attempts that started at this time or later
--   until   timestamp = NULL  attempts that started before this time
--   before  timestamp = NULL  start of the window before, which ends at since; NULL omits it
--   tool    text = NULL       this tool only
--   min_n   integer = 20      a window of fewer attempts is marked too_few
--   rules   rules = 'all'     certain: failures that only a heuristic rule found count as attempts that did not fail
-- columns:
--   period           text                 now or before
--   calls            count                calls with at least one finished attempt
--   failed_calls     count                calls whose last finished attempt failed
--   call_rate        share                failed_calls / calls
--   call_low         low(call_rate)       95 % interval of call_rate
--   call_high        high(call_rate)      95 % interval of call_rate
--   attempts         count                finished attempts
--   failures         count                finished attempts with status 'error'
--   rate             share                failures / attempts
--   low              low(rate)            95 % interval of rate
--   high             high(rate)           95 % interval of rate
--   retried          count                calls with more than one finished attempt
--   retried_share    share                retried / calls
--   retried_low      low(retried_share)   95 % interval of retried_share
--   retried_high     high(retried_share)  95 % interval of retried_share
--   p95              ms                   95th percentile of the time in the tool, without results from a cache; a cut-off attempt took at least its time: see latency
--   p95_low          low(p95)             95 % interval of p95 from order statistics; NULL if unbounded
--   p95_high         high(p95)            95 % interval of p95
--   cut_off          aside                attempts that did not end by themselves: cancelled by a deadline, lost, or a stream left before its first item
--   cut_off_share    share                cut_off / (attempts + cut_off)
--   cut_off_low      low(cut_off_share)   95 % interval of cut_off_share
--   cut_off_high     high(cut_off_share)  95 % interval of cut_off_share
--   left_out         aside                attempts that did not finish
--   refused          aside                attempts left out: refused, the tool was not run
--   too_few          mark                 attempts < min_n, or they are from fewer than 5 clusters: read the intervals, not the rates
--   clusters         count                conversations among attempts, or traces without a conversation
--   design_effect    ratio                attempts for each independent one that rate is as precise as
--   unread           aside                attempts that returned, where nothing states whether they worked; counted as not failed
-- verdict: first {failed_calls} of {calls:call} failed ({call_rate}, {call_low} to {call_high}); {retried_share} were
--   retried, and 95 % of the attempts took at most {p95}.
-- next: query failure_rate
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998); interval of a
--   percentile: order statistics with the design effect (Woodruff 1952), ranks by the binomial distribution;
--   percentiles by linear interpolation (Hyndman and Fan 1996, type 7)
-- reasoner: overview
-- order: period desc
WITH timed AS (
    SELECT *, $since IS NULL OR started_at >= $since AS is_now, CASE WHEN finished AND NOT from_cache THEN ms END AS timed_ms,
        CASE WHEN cut_off THEN ms END AS cut_ms
    FROM facts
    WHERE (coalesce($before, $since) IS NULL OR started_at >= coalesce($before, $since))
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
counted AS (
    SELECT
        is_now,
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE failed AND ($rules = 'all' OR failed_certain)) AS failures,
        count(*) FILTER (WHERE NOT finished AND coalesce(ending, '') <> 'refused') AS left_out,
        count(*) FILTER (WHERE ending = 'refused') AS refused,
        count(*) FILTER (WHERE finished AND grade = 'unread') AS unread,
        count(*) FILTER (WHERE cut_off) AS cut_off,
        count(timed_ms) AS timed_n,
        percentiles(timed_ms) AS ms,
        count(cut_ms) AS cut_n,
        percentiles(cut_ms) AS cut,
        quantile_cont(timed_ms, 0.95) AS p95
    FROM timed
    GROUP BY is_now
),
clustered AS (
    SELECT
        is_now,
        sums(failures, attempts) AS rate,
        sums(failed_calls, calls) AS call_rate,
        sums(retried, calls) AS retried_share,
        sums(cut, seen) AS cut_off_share,
        sums(slow, n) AS p95
    FROM (
        SELECT
            timed.is_now,
            cluster,
            count(*) FILTER (WHERE finished) AS attempts,
            count(*) FILTER (WHERE failed AND ($rules = 'all' OR failed_certain)) AS failures,
            count(*) FILTER (WHERE ends_call) AS calls,
            count(*) FILTER (WHERE ends_call AND failed AND ($rules = 'all' OR failed_certain)) AS failed_calls,
            count(*) FILTER (WHERE ends_call AND attempts_of_call > 1) AS retried,
            count(*) FILTER (WHERE cut_off) AS cut,
            count(*) FILTER (WHERE finished OR cut_off) AS seen,
            count(timed_ms) AS n,
            count(*) FILTER (WHERE timed_ms > p95) AS slow
        FROM timed
        JOIN (SELECT is_now, p95 FROM counted) AS limits ON limits.is_now = timed.is_now
        GROUP BY ALL
    ) AS clusters
    GROUP BY is_now
)
SELECT *, CASE WHEN is_now THEN 'now' ELSE 'before' END AS period FROM counted LEFT JOIN clustered USING (is_now)
