-- Which tools spend their error budget too fast?
--
-- One row per tool and pair of windows, tools that alert first. The error budget is the share of attempts that may fail: 1
-- % if the objective is 99 %. The burn is the failure rate divided by the budget. A burn of 1 uses the budget in exactly the
-- period of the objective; a burn of 14.4 uses 2 % of a budget for 30 days in one hour. Each pair has a long and a short
-- window, which end at `until`: 1 h and 5 min with factor 14.4, 6 h and 30 min with factor 6, 3 d and 6 h with factor 1. The
-- long window shows that the problem is worth an alert, the short one that it continues. A row alerts if both burns are
-- above the factor and the long window has at least min_failures failures. A failure is a finished attempt with status
-- 'error', or one that was cut off: by a deadline, lost, or a stream left before its first item. If a window has neither these nor
-- finished attempts, its burn is NULL and the row does not alert. Every tool with an attempt before `until` is listed.
--
-- An alert compares numbers, and is not a statistical test: it counts attempts, so one conversation with many failures can
-- cause it, and a tool whose failure rate is near its budget alerts often by chance. Its false alarms were not measured.
-- The intervals count conversations.
--
-- Grouped by code, status, day or hour, a row is a part of the whole: the failures of its group divided by all attempts of
-- the history in the window. The burns of the parts add up to the burn of the whole, and a part alerts if it would alert
-- alone.
--
-- group: failures
-- by: tool (default), version, agent, model, release, environment, conversation, attributes; code, status, rule, rule_grade, day, hour
-- parameters:
--   objective     objective = 0.99  share of attempts that must succeed: 0.99, or 99 for percent
--   since         timestamp = NULL  attempts that started at this time or later; limits windows that reach further back
--   until         timestamp = NULL  end of the windows, exclusive; NULL is now
--   tool          text = NULL       this tool only
--   min_failures  integer = 5       a long window with fewer failures does not alert
--   min_n         integer = 20      a long window with fewer attempts is marked too_few
-- columns:
--   objective       share            share of attempts that must succeed
--   windows         text             the long and the short window
--   factor          ratio            a burn above this factor alerts
--   burn            ratio            the smaller burn of the two windows; NULL if one of them is empty
--   alerting        flag             burn > factor and failures >= min_failures
--   attempts        count            finished or cut off attempts of the whole history in the long window
--   failures        count            failures of the group in the long window
--   burn_long       ratio            failures / attempts / (1 - objective)
--   burn_low        low(burn_long)   95 % interval of burn_long
--   burn_high       high(burn_long)  95 % interval of burn_long
--   short_attempts  count            finished or cut off attempts of the whole history in the short window
--   short_failures  count            failures of the group in the short window
--   burn_short      ratio            short_failures / short_attempts / (1 - objective)
--   short_low       low(burn_short)   95 % interval of burn_short
--   short_high      high(burn_short)  95 % interval of burn_short
--   cut_off         aside            failures of the long window that were cut off
--   left_out        aside            other attempts of the group in the long window that did not finish
--   refused         aside            attempts left out: refused, the tool was not run
--   quiet           mark             the long or the short window has no such attempt of the history: the burn is unknown
--   too_few         mark             attempts < min_n, or they are from fewer than 5 clusters: read the interval
--   clusters        count            conversations with attempts of the history in the long window, or traces without a conversation
--   design_effect   ratio            attempts for each independent one that burn_long is as precise as
-- important: windows, burn, alerting, attempts, failures, burn_long
-- hidden: failures, short_failures
-- verdict: max(burn) {group} uses its error budget {burn} times as fast as planned ({windows}): {failures} of
--   {attempts:attempt} failed.
-- next: query incidents --tool {tool}
-- source: multiwindow, multi-burn-rate alerts (Beyer et al., The Site Reliability Workbook, 2018, chapter 5); Wilson
--   score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
-- reasoner: burn_rate
SELECT
    {by},
    window_s,
    sum(n) AS group_n,
    sum(f) AS failures,
    sum(cut) AS cut_off,
    sum(left_out) AS left_out,
    sum(refused) AS refused,
    -- the products with all attempts of the cluster: added up over the groups of a history, they are the sums over clusters
    sum(CAST(f AS DOUBLE) * f) AS ss,
    sum(CAST(f AS DOUBLE) * cluster_n) AS sn,
    sum(CAST(n AS DOUBLE) * cluster_n) AS nn,
    sum(CAST(n AS DOUBLE) / nullif(cluster_n, 0)) AS clusters
FROM (
    SELECT *, sum(n) OVER (PARTITION BY {history}, window_s, cluster) AS cluster_n
    FROM (
        -- one row for each group, cluster and window
        SELECT
            {by},
            cluster,
            window_s,
            count(*) FILTER (WHERE finished OR cut_off) AS n,
            count(*) FILTER (WHERE failed OR cut_off) AS f,
            count(*) FILTER (WHERE cut_off) AS cut,
            count(*) FILTER (WHERE NOT finished AND NOT cut_off AND coalesce(ending, '') <> 'refused') AS left_out,
            count(*) FILTER (WHERE ending = 'refused') AS refused
        FROM facts
        CROSS JOIN (
            SELECT window_s, coalesce($until, CAST(current_timestamp AT TIME ZONE 'UTC' AS TIMESTAMP)) AS ends
            FROM (SELECT 300 AS window_s UNION ALL SELECT 1800 UNION ALL SELECT 3600 UNION ALL SELECT 21600 UNION ALL SELECT 259200) AS lengths
        ) AS windows
        WHERE {window} AND started_at < ends AND epoch_us(ends) - epoch_us(started_at) <= 1e6 * window_s
        GROUP BY ALL
        UNION ALL
        -- every group with an attempt before the end
        SELECT DISTINCT {by}, NULL, 0, 0, 0, 0, 0, 0
        FROM facts
        WHERE {window} AND started_at < coalesce($until, CAST(current_timestamp AT TIME ZONE 'UTC' AS TIMESTAMP))
    ) AS clusters
) AS with_cluster
GROUP BY ALL
