-- Which tools fail, how often, and how certain is the rate?
--
-- One row per group. A failure is an attempt that reports status 'error', whether it returned or raised. An attempt that
-- was cancelled, abandoned, paused, declined, expired, lost, handed over or refused, or that reported no status, is not evidence about the tool: it
-- is excluded from numerator and denominator, and counted in a column of its own. One that a deadline cancelled, a stream that was not
-- read to its end, and one that was lost are evidence of a hang: cut_off_share is their share of themselves and the finished ones. A cancellation
-- without a stated reason is not counted there: most of them are a person's, who stopped the agent and not the tool. A call failed if its last finished
-- attempt failed; it is counted in the group and the window of that attempt.
--
-- Attempts of one conversation are similar, so the intervals count clusters: a conversation is a cluster. Without a
-- conversation id, the attempts of a trace are a cluster, and an attempt that is alone in its trace is a cluster of its
-- own. Grouped by conversation, a row describes one conversation, and each of its calls is a cluster: the interval shows what
-- further calls of this conversation would be like, not other conversations. The interval is that of attempts / design_effect independent attempts, which includes that few clusters do not
-- show how much clusters differ. With few failing clusters it also allows for clusters that fail as a whole: without any
-- failure, a cluster counts as one attempt. If each cluster has one attempt, design_effect is 1. It is about the rate of the
-- window: whether the rate changed within it is the question of drift and incidents.
--
-- A result that no rule can read counts as an attempt that did not fail: see unread. Failures that a rule recognised by
-- words or shapes only are in heuristic.
--
-- Results from a cache count like any other result. They make a tool look better than it is when it runs: see cached.
-- Grouped by code or status, the rows are parts of a whole: read attempts there, not rate.
--
-- group: failures (first)
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer attempts is marked too_few
--   rules  rules = 'all'     certain: failures that only a heuristic rule found count as attempts that did not fail
-- columns:
--   attempts      count               finished attempts: they returned or raised, and reported a status
--   failures      count               finished attempts with status 'error'
--   rate          share               failures / attempts
--   low           low(rate)           95 % interval of rate
--   high          high(rate)          95 % interval of rate
--   calls         count               calls with at least one finished attempt
--   failed_calls  count               calls whose last finished attempt failed
--   call_rate     share               failed_calls / calls
--   call_low      low(call_rate)      95 % interval of call_rate
--   call_high     high(call_rate)     95 % interval of call_rate
--   partial_rate  share               attempts with status 'partial' / attempts
--   partial_low   low(partial_rate)   95 % interval of partial_rate
--   partial_high  high(partial_rate)  95 % interval of partial_rate
--   cut_off       aside               attempts that did not end by themselves: cancelled by a deadline, lost, or a stream left before its first item
--   cut_off_share  share               cut_off / (attempts + cut_off)
--   cut_off_low   low(cut_off_share)   95 % interval of cut_off_share
--   cut_off_high  high(cut_off_share)  95 % interval of cut_off_share
--   cached        aside               finished attempts whose result came from a cache
--   cancelled     aside               attempts left out: cancelled from outside, by a deadline or not
--   abandoned     aside               attempts left out: a stream that was not read to its end
--   paused        aside               attempts left out: paused for a person
--   declined      aside               attempts left out: declined by a person
--   expired       aside               attempts left out: no answer in time
--   refused       aside               attempts left out: refused, the tool was not run
--   unreported    aside               attempts left out: ended without a status, or handed over
--   clusters      count               conversations (or traces, or attempts) that the finished attempts belong to
--   design_effect ratio               attempts / independent attempts that rate would be equally certain with; 1 if each cluster has one
--   too_few       mark                attempts < min_n, or fewer than 5 clusters of several attempts: read the interval, not the rate
--   unread        aside               attempts that returned, where nothing states whether they worked; counted as not failed
--   heuristic     aside               failures that a heuristic rule found, by words or shapes
--   asked         aside               attempts that the model asked for, whatever became of them: attempts and all that are left out
-- verdict: max(call_low) {group} fails most: {call_rate} of {calls:call} ({call_low} to {call_high}), {rate} of
--   {attempts:attempt}.
-- also: max(cut_off_low) {group} is cut off most: {cut_off:attempt}, {cut_off_share} ({cut_off_low} to {cut_off_high}).
-- next: query errors --tool {tool}
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124; effective number of
--   attempts by the variance between clusters (Kish 1965) and Student's t (Korn and Graubard 1998; Dean and Pagano 2015)
-- order: rate desc, attempts desc, groups
SELECT
    {by},
    sum(n) AS attempts,
    sum(f) AS failures,
    sums(f, n) AS rate,
    sum(c) AS calls,
    sum(fc) AS failed_calls,
    sums(fc, c) AS call_rate,
    sums(p, n) AS partial_rate,
    sum(cut) AS cut_off,
    sums(cut, seen) AS cut_off_share,
    sum(cached) AS cached,
    sum(cancelled) AS cancelled,
    sum(abandoned) AS abandoned,
    sum(paused) AS paused,
    sum(declined) AS declined,
    sum(expired) AS expired,
    sum(refused) AS refused,
    sum(started) - sum(n) - sum(cancelled) - sum(abandoned) - sum(paused) - sum(declined) - sum(expired) - sum(refused) AS unreported,
    sum(unread) AS unread,
    sum(heuristic) AS heuristic,
    sum(started) AS asked
FROM (
    -- one row for each group and cluster
    SELECT
        {by},
        cluster,
        count(*) AS started,
        count(*) FILTER (WHERE finished) AS n,
        count(*) FILTER (WHERE failed AND ($rules = 'all' OR failed_certain)) AS f,
        count(*) FILTER (WHERE partly) AS p,
        count(*) FILTER (WHERE ends_call) AS c,
        count(*) FILTER (WHERE ends_call AND failed AND ($rules = 'all' OR failed_certain)) AS fc,
        count(*) FILTER (WHERE finished AND from_cache) AS cached,
        count(*) FILTER (WHERE cut_off) AS cut,
        count(*) FILTER (WHERE finished OR cut_off) AS seen,
        count(*) FILTER (WHERE ending = 'cancelled') AS cancelled,
        count(*) FILTER (WHERE ending = 'abandoned') AS abandoned,
        count(*) FILTER (WHERE ending = 'paused') AS paused,
        count(*) FILTER (WHERE ending = 'declined') AS declined,
        count(*) FILTER (WHERE ending = 'expired') AS expired,
        count(*) FILTER (WHERE ending = 'refused') AS refused,
        count(*) FILTER (WHERE finished AND grade = 'unread') AS unread,
        count(*) FILTER (WHERE failed AND ($rules = 'all' OR failed_certain) AND grade = 'heuristic') AS heuristic
    FROM facts
    WHERE {window}
    GROUP BY ALL
) AS clusters
GROUP BY ALL
