-- Which tools spend their error budget too fast?
--
-- One row per tool and pair of windows, tools that alert first. The error budget is the share of attempts that may fail: 1
-- % if the objective is 99 %. The burn is the failure rate divided by the budget. A burn of 1 uses the budget in exactly the
-- period of the objective; a burn of 14.4 uses 2 % of a budget for 30 days in one hour. Each pair has a long and a short
-- window, which end at `until`: 1 h and 5 min with factor 14.4, 6 h and 30 min with factor 6, 3 d and 6 h with factor 1. The
-- long window shows that the problem is worth an alert, the short one that it continues. A row alerts if both burns are
-- above the factor and the long window has at least min_failures failures. A failure is a finished attempt with status
-- 'error'. If a window has no finished attempts, its burn is NULL and the row does not alert. Every tool with an attempt
-- before `until` is listed.
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
--   attempts        count            finished attempts of the whole history in the long window
--   failures        count            failures of the group in the long window
--   burn_long       ratio            failures / attempts / (1 - objective)
--   burn_low        low(burn_long)   95 % interval of burn_long
--   burn_high       high(burn_long)  95 % interval of burn_long
--   short_attempts  count            finished attempts of the whole history in the short window
--   short_failures  count            failures of the group in the short window
--   burn_short      ratio            short_failures / short_attempts / (1 - objective)
--   short_low       low(burn_short)   95 % interval of burn_short
--   short_high      high(burn_short)  95 % interval of burn_short
--   left_out        aside            attempts of the group in the long window that did not finish
--   refused         aside            attempts left out: refused, the tool was not run
--   quiet           mark             the long or the short window has no finished attempt of the history: the burn is unknown
--   too_few         mark             attempts < min_n, or they are from fewer than 5 clusters: read the interval
--   clusters        count            conversations with finished attempts of the history in the long window, or traces without a conversation
--   design_effect   ratio            attempts for each independent one that burn_long is as precise as
-- important: windows, burn, alerting, attempts, failures, burn_long
-- hidden: failures, short_failures
-- verdict: max(burn) {group} uses its error budget {burn} times as fast as planned ({windows}): {failures} of
--   {attempts:attempt} failed.
-- next: query incidents --tool {tool}
-- source: multiwindow, multi-burn-rate alerts (Beyer et al., The Site Reliability Workbook, 2018, chapter 5); Wilson
--   score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
WITH pairs AS (
    SELECT 1 AS pair_no, '1 h and 5 min' AS windows, 14.4e0 AS factor, 3600 AS long_s, 300 AS short_s
    UNION ALL SELECT 2, '6 h and 30 min', 6.0e0, 21600, 1800
    UNION ALL SELECT 3, '3 d and 6 h', 1.0e0, 259200, 21600
),
settings AS (
    SELECT
        CAST(coalesce($until, current_timestamp AT TIME ZONE 'UTC') AS TIMESTAMP) AS ends,
        CASE WHEN $objective > 1 THEN $objective / 100 ELSE $objective END AS objective
),
scoped AS (
    SELECT
        /* by */ tool, /* end by */
        cluster_hash AS own_cluster,
        (epoch_us((SELECT ends FROM settings)) - epoch_us(started_at)) / 1000000.0 AS age_s,
        is_finished(status, ending) AS finished,
        coalesce(ending = 'refused', false) AS refused,
        coalesce(status = 'error', false) AS failed
    FROM attempts
    WHERE started_at < (SELECT ends FROM settings)
      AND ($since IS NULL OR started_at >= $since)
      AND ($tool IS NULL OR tool = $tool)
),
-- attempts before the long window are only counted as a group without attempts: they need no cluster
per_cluster AS (
    SELECT
        /* by names */ tool, /* end by */
        CASE WHEN age_s <= long_s THEN own_cluster END AS cluster,
        pair_no,
        windows,
        factor,
        count(*) FILTER (WHERE age_s <= long_s AND finished) AS group_attempts,
        count(*) FILTER (WHERE age_s <= long_s AND finished AND failed) AS failures,
        count(*) FILTER (WHERE age_s <= short_s AND finished) AS short_group_attempts,
        count(*) FILTER (WHERE age_s <= short_s AND finished AND failed) AS short_failures,
        count(*) FILTER (WHERE age_s <= long_s AND NOT finished AND NOT refused) AS left_out,
        count(*) FILTER (WHERE age_s <= long_s AND refused) AS refused
    FROM scoped
    CROSS JOIN pairs
    GROUP BY ALL
),
-- cluster_n, short_cluster_n: attempts of the cluster in the windows, of all groups of its history
with_cluster AS (
    SELECT *,
        CAST(sum(group_attempts) OVER of_cluster AS DOUBLE) AS cluster_n,
        CAST(sum(short_group_attempts) OVER of_cluster AS DOUBLE) AS short_cluster_n
    FROM per_cluster
    WINDOW of_cluster AS (PARTITION BY /* by history names */ tool, /* end by */ pair_no, cluster)
),
-- ss, sn and nn: sums over clusters of squares and products of their failures and attempts
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        pair_no,
        windows,
        factor,
        sum(group_attempts) AS group_attempts,
        CAST(sum(failures) AS BIGINT) AS failures,
        sum(short_group_attempts) AS short_group_attempts,
        CAST(sum(short_failures) AS BIGINT) AS short_failures,
        CAST(sum(left_out) AS BIGINT) AS left_out,
        CAST(sum(refused) AS BIGINT) AS refused,
        sum(1.0 * failures * failures) AS ss,
        sum(failures * cluster_n) AS sn,
        sum(group_attempts * cluster_n) AS group_nn,
        sum(group_attempts / nullif(cluster_n, 0)) AS group_clusters,
        sum(1.0 * short_failures * short_failures) AS short_ss,
        sum(short_failures * short_cluster_n) AS short_sn,
        sum(short_group_attempts * short_cluster_n) AS short_group_nn,
        sum(short_group_attempts / nullif(short_cluster_n, 0)) AS short_group_clusters
    FROM with_cluster
    GROUP BY ALL
),
-- a group is measured against all attempts of its history
with_history AS (
    SELECT *,
        CAST(sum(group_attempts) OVER history AS BIGINT) AS attempts,
        CAST(sum(short_group_attempts) OVER history AS BIGINT) AS short_attempts,
        coalesce(round(sum(group_clusters) OVER history), 0) AS clusters,
        coalesce(round(sum(short_group_clusters) OVER history), 0) AS short_clusters,
        sum(group_nn) OVER history AS nn,
        sum(short_group_nn) OVER history AS short_nn
    FROM counted
    WINDOW history AS (PARTITION BY /* by history names */ tool, /* end by */ pair_no)
),
budgeted AS (
    SELECT
        c.*,
        a.objective,
        CASE WHEN a.objective < 1 THEN 1 - a.objective END AS budget,
        effective_n(clusters, attempts, failures, ss, sn, nn) AS effective,
        effective_n(short_clusters, short_attempts, short_failures, short_ss, short_sn, short_nn) AS short_effective
    FROM with_history AS c
    CROSS JOIN settings AS a
),
with_intervals AS (
    SELECT *,
        failures / nullif(attempts, 0) / budget AS burn_long,
        cluster_low(failures, attempts, effective) / budget AS burn_low,
        cluster_high(failures, attempts, effective) / budget AS burn_high,
        short_failures / nullif(short_attempts, 0) / budget AS burn_short,
        cluster_low(short_failures, short_attempts, short_effective) / budget AS short_low,
        cluster_high(short_failures, short_attempts, short_effective) / budget AS short_high
    FROM budgeted
),
with_burn AS (
    SELECT *, CASE WHEN burn_long < burn_short THEN burn_long WHEN burn_long IS NOT NULL THEN burn_short END AS burn
    FROM with_intervals
)
SELECT
    /* by names */ tool, /* end by */
    objective,
    windows,
    factor,
    burn,
    -- 144 failures of 1000 burn at 14.4, not above it: the tolerance absorbs floating-point error
    coalesce(burn - factor > 1e-9 AND failures >= $min_failures, false) AS alerting,
    attempts,
    failures,
    burn_long,
    burn_low,
    burn_high,
    short_attempts,
    short_failures,
    burn_short,
    short_low,
    short_high,
    left_out,
    refused,
    attempts = 0 OR short_attempts = 0 AS quiet,
    too_few_draws(clusters, attempts, $min_n) AS too_few,
    CAST(clusters AS BIGINT) AS clusters,
    attempts / nullif(effective, 0) AS design_effect
FROM with_burn
ORDER BY
    max(alerting) OVER (PARTITION BY /* by names */ tool, /* end by */ 1) DESC,
    /* by names */ tool, /* end by */
    pair_no
