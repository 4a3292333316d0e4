-- When did retries and failures rise together?
--
-- One row per time window in which attempts finished, in order. A retry is a finished attempt that is not the first of its
-- call, whenever that was. Attempts that were cancelled, abandoned, paused, declined or expired are counted separately.
--
-- rising: the failure rate of a window is compared with that of all other windows of its group. Among many windows some are
-- high by chance, so rise_p is multiplied by the number of windows (Bonferroni). Attempts of one conversation (without one,
-- of one trace) within a window are alike: the test and the intervals count independent attempts.
--
-- Measured on simulated histories with constant rates and up to three attempts per call, 5 to 200 conversations with an
-- intraclass correlation of up to 0.5, in windows of 1 hour to 1 day: at most 5 of 100 histories had a rising window
-- (docs/explanation/coverage.md).
--
-- group: costs
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since     timestamp = NULL  attempts that started at this time or later
--   until     timestamp = NULL  attempts that started before this time
--   tool      text = NULL       this tool only
--   min_n     integer = 20      a window of fewer attempts is marked too_few
--   window_s  positive = 300    seconds that a window lasts; windows are counted from 1970 on
-- columns:
--   window        time                start of the window
--   attempts      count               finished attempts that started in it
--   retries       count               finished attempts that are not the first of their call
--   retry_share   share               retries / attempts
--   retry_low     low(retry_share)    95 % interval of retry_share
--   retry_high    high(retry_share)   95 % interval of retry_share
--   failures      count               finished attempts with status 'error'
--   failure_rate  share               failures / attempts
--   failure_low   low(failure_rate)   95 % interval of failure_rate
--   failure_high  high(failure_rate)  95 % interval of failure_rate
--   rising        flag                many retries (retry_share > 10 %) and more failures than in other windows (rise_p < 0.05); NULL if there is no other window
--   base_rate     number              failures / attempts of all other windows of the group; NULL if there is none
--   rise_p        number              probability that any window has as many failures at a constant rate, at most 1
--   left_out      aside               attempts that did not finish
--   refused       aside               attempts left out: refused, the tool was not run
--   clusters      count               conversations (or traces, or attempts) that the attempts of the window belong to
--   design_effect ratio               attempts / independent attempts that failure_rate would be equally certain with
--   too_few       mark                attempts < min_n, or fewer than 5 clusters of several attempts
-- important: window, retries, retry_share, rising, failures, attempts
-- hidden: retries
-- verdict: max(retry_share) {group} retried most in the window from {window}: {retry_share} of {attempts:attempt}
--   were retries, {failure_rate} failed.
-- next: query retries --tool {tool}
-- source: a tenth: the retry budget of Site Reliability Engineering (Beyer and others 2016), chapter 21; rise_p: Fisher's exact
--   test (1935), mid-p (Lancaster 1961), its tail bounded by a geometric sequence, with effective counts (Rao and Scott
--   1992); intervals: Wilson score (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124, with the effective number
--   of attempts of Korn and Graubard 1998
-- reasoner: retry_storms
-- order: groups, window
SELECT
    {by},
    window_s,
    sum(n) AS attempts,
    sum(r) AS retries,
    sums(r, n) AS retry_share,
    sum(f) AS failures,
    sums(f, n) AS failure_rate,
    sum(left_out) AS left_out,
    sum(refused) AS refused
FROM (
    -- the attempts of a conversation in a window: n of them, f failed, r were retries
    SELECT
        {by},
        cluster,
        CAST(floor(epoch_us(started_at) / (1e6 * $window_s)) * $window_s AS BIGINT) AS window_s,
        count(*) FILTER (WHERE finished) AS n,
        count(*) FILTER (WHERE finished AND NOT begins_call) AS r,
        count(*) FILTER (WHERE failed) AS f,
        count(*) FILTER (WHERE NOT finished AND coalesce(ending, '') <> 'refused') AS left_out,
        count(*) FILTER (WHERE ending = 'refused') AS refused
    FROM facts
    WHERE {window}
    GROUP BY ALL
) AS clusters
GROUP BY ALL
HAVING sum(n) > 0
