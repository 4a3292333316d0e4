-- Did a tool get worse over time, and since when?
--
-- One row per group and statistic: failure_rate (finished attempts with status 'error'), cut_off_share (attempts that did not end by
-- themselves, of these and the finished ones; only where there are any), latency (milliseconds in the tool,
-- finished attempts) and accuracy (labelled finished attempts that were right, by the time of the call). Attempts are
-- ordered by start time, each counts as good or bad, and the sequence is examined in two ways.
--
-- alarm_at: when would a monitor have raised an alarm? The first `reference` attempts, at most half of all, show how often
-- attempts are bad: failed, wrong, or slower than nine of ten of them. For the attempts after them, a CUSUM tests whether
-- the odds of a bad attempt became `odds` times as high. The alarm is at the first attempt where it exceeds ln(5 n), with n
-- monitored attempts. The test compares with the upper end of the 90 % interval of the reference, so that a lucky start
-- does not cause an alarm. Without a change, an alarm occurs in fewer than 1 of 100 histories of 300 attempts, and in fewer
-- than 2 of 100 histories of 10,000. An alarm always means worse.
--
-- change_point: did the rate change once, in either direction, and where? One rate for all attempts is compared with one
-- rate before and another rate after each attempt. Rates have Jeffreys' prior, and all positions are equally likely
-- beforehand. For latency, the rate is that of attempts above the overall median, and before and after are medians. A
-- change is reported if it is `evidence` times as likely as no change (for n < 300 attempts sqrt(300 / n) times that,
-- because chance produces larger factors there); otherwise change_point, before and after are NULL. The reported position
-- is the one nearest to the median of the possible positions, among those with nearly the highest probability within 40
-- attempts. At evidence 1, up to 1 of 12 histories without a change get a change point, at 3 up to 1 of 50, at 20 fewer
-- than 1 of 100: a change less than 20 times as likely as none is marked weak. Of histories of 300 attempts with a change
-- at the 100th to 200th, the change point is within 40 attempts of it in 19 of 20 if the rate rises from 0.05 to 0.25 or
-- from 0.1 to 0.35, or the latency doubles; in 9 of 10 if it rises from 0.02 to 0.15 or from 0.1 to 0.3; and in 1 of 3 from
-- 0.1 to 0.2.
--
-- A failure rate that follows the time of day is no lasting change. Where a daily rhythm (two harmonics of 24 hours) explains a
-- history of 36 hours or more better than a change alone, daily_low and daily_high have the lowest and highest rate of the times of
-- day (latency: of attempts above the median), a change is one beside the rhythm, and the alarm expects the rate of the time of day.
-- A rate of 5 to 35 % in the course of each day of 2 to 28 got a change point in at most 1 of 12 histories, and one that
-- is not weak in at most 3 of 100.
--
-- Attempts of one conversation (without one, of one trace) are alike, and so are attempts one after the other. Both methods
-- and all intervals therefore count n / design_effect independent attempts. design_effect is the larger one of two
-- estimates, both from the hits around the position where the sides differ most: the variance between clusters, and the
-- correlation of each attempt with the two before it, if it exceeds 3.5 / sqrt(n). With few conversations, it is at least
-- a part of the size of a conversation. It is 1 if attempts are independent.
--
-- Measured on simulated histories without a change: a change that is not weak was reported in at most 3 of 100, and an
-- alarm in at most 3, with five or more conversations of 10 attempts and an intraclass correlation of up to 0.5. If each
-- attempt resembled the one before (correlation 0.5 or 0.8, 200 attempts without conversation ids), it was at most 7 of 100,
-- and 16 of 100 for accuracy, because half of the attempts were labelled: lasting chains look like a change
-- (docs/explanation/coverage.md).
-- Failures that come in longer bursts also appear as a change: see incidents. A new version is like another tool: group by
-- tool and version. Grouped by day or hour, each day or hour is a history of its own. Grouped by code or status, failure_rate is the rate of failures with that code or status among all attempts of the
-- history, while latency and accuracy use the attempts with that code or status only.
--
-- group: changes (first)
-- by: tool (default), version, agent, model, release, environment, conversation, day, hour, attributes; code, status, rule, rule_grade
-- parameters:
--   since      timestamp = NULL  attempts that started at this time or later
--   until      timestamp = NULL  attempts that started before this time
--   tool       text = NULL       this tool only
--   reference  positive = 100    number of first attempts that later attempts are compared with
--   odds       positive = 3      factor by which the odds of a bad attempt rise for an alarm; 1 is treated as 2
--   evidence   positive = 1      a change is reported if it is this many times as likely as no change
--   min_n      integer = 40      a row of fewer attempts is marked too_few
-- columns:
--   statistic         text          failure_rate, cut_off_share, latency or accuracy
--   n                 count         attempts that have the statistic
--   unseen_share      share         share of the attempts of the group without the statistic: unfinished, without a duration, or not labelled
--   unseen_low        low(unseen_share)   95 % interval of unseen_share
--   unseen_high       high(unseen_share)  95 % interval of unseen_share
--   refused           aside         attempts left out: refused, the tool was not run
--   alarm_at          time          start of the first attempt with an alarm; NULL if there is none
--   change_point      time          start of the first attempt after the change; NULL if no change is likely enough
--   before            number        rate, or median in ms, before the change
--   before_low        low(before)   95 % interval of a rate; NULL for latency
--   before_high       high(before)  95 % interval of a rate
--   after             number        rate, or median in ms, after the change
--   after_low         low(after)    95 % interval of a rate; NULL for latency
--   after_high        high(after)   95 % interval of a rate
--   n_before          count         attempts before the change
--   n_after           count         attempts after the change
--   worse             flag          the change was for the worse
--   log_bayes_factor  number        natural logarithm of how many times as likely a change is as no change; 3 is 20 times
--   overall           number        rate, or median in ms, of all n attempts
--   overall_low       low(overall)   95 % interval of a rate; NULL for latency
--   overall_high      high(overall)  95 % interval of a rate
--   daily_low         number        lowest rate of the times of day; NULL without a daily rhythm
--   daily_high        number        highest rate of the times of day; NULL without a daily rhythm
--   weak              mark          the change is less than 20 times as likely as no change: it may be chance
--   too_few           mark          n < min_n, or two to four conversations, or as unequal as fewer than four equal ones: they do not show how alike their attempts are
--   clusters          count         conversations among the n attempts; without conversations, traces
--   design_effect     ratio         attempts that say as much as one independent attempt
-- important: statistic, worse, alarm_at, change_point, before, after
-- hidden: n
-- verdict: max(log_bayes_factor) {group}: {statistic} changed from {before} to {after} at {change_point}, after
--   {n_before:attempt}.
-- next: query timeline --tool {tool}
-- source: CUSUM (Page 1954), its limit by Ville's inequality; change point (Smith 1975) with the priors Beta(1/2, 1/2) of
--   Jeffreys 1946; 20 times is "strong" (Kass and Raftery 1995); the factor under chance alone falls with the root
--   of n: Bartlett 1957; Wilson score interval (Wilson 1927), z^2 = 3.841458820694124, and at z = 1.6448536269514722
--   for the reference; design effect: Kish 1965, variance between clusters with four degrees of freedom less, for the
--   change itself; serial correlation: the sum of a geometric sequence through its first two values (Bartlett 1946); daily
--   rhythm: Laplace's approximation (Tierney and Kadane 1986), a change beside it: Wakefield 2009
-- reasoner: drift
SELECT
    {by},
    started_at,
    cluster,
    ending = 'refused' AS refused,
    CASE WHEN finished THEN CASE WHEN failed THEN 1.0 ELSE 0.0 END END AS failed,
    CASE WHEN finished OR cut_off THEN CASE WHEN cut_off THEN 1.0 ELSE 0.0 END END AS cut_off,
    CASE WHEN finished THEN ms END AS ms,
    CASE WHEN finished THEN CASE WHEN correct THEN 1.0 WHEN NOT correct THEN 0.0 END END AS correct
FROM facts
LEFT JOIN judged ON judged.span_id = facts.span_id
WHERE {window}
ORDER BY started_at, attempt, facts.span_id
