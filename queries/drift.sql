-- Did a tool get worse over time, and since when?
--
-- One row per group and statistic: failure_rate (finished attempts with status 'error'), latency (milliseconds in the tool,
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
--   statistic         text          failure_rate, latency or accuracy
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
--   change itself; serial correlation: the sum of a geometric sequence through its first two values (Bartlett 1946)
WITH scoped AS (
    SELECT
        /* by */ tool, /* end by */
        row_number() OVER () AS row_id,
        c.span_id,
        c.attempt,
        c.started_at,
        c.cluster_hash AS cluster,
        coalesce(c.ending = 'refused', false) AS refused,
        CASE WHEN c.finished THEN CASE WHEN c.status = 'error' THEN 1 ELSE 0 END END AS failed,
        -- neither NaN nor infinite nor negative
        CASE WHEN c.finished AND c.duration_ms >= 0 AND c.duration_ms < 1e300 THEN c.duration_ms END AS valid_ms,
        CASE WHEN c.finished THEN CASE WHEN j.correct THEN 1 WHEN NOT j.correct THEN 0 END END AS correct
    FROM (
        SELECT *, is_finished(status, ending) AS finished
        FROM attempts
    ) AS c
    LEFT JOIN judged AS j ON j.span_id = c.span_id
    WHERE ($since IS NULL OR c.started_at >= $since)
      AND ($until IS NULL OR c.started_at < $until)
      AND ($tool IS NULL OR c.tool = $tool)
),
-- history: a number shared by the attempts of a group; + 0 is for failures, + 1 for latency, + 2 for accuracy
with_history AS (
    SELECT *,
        3 * min(row_id) OVER (PARTITION BY /* by names */ tool, /* end by */ 1) AS history,
        valid_ms > quantile_cont(valid_ms, 0.5) OVER (PARTITION BY /* by names */ tool, /* end by */ 1) AS slower
    FROM scoped
),
-- sorted once for all three statistics
ordered AS (
    SELECT *, row_number() OVER (
        PARTITION BY /* by history names */ tool, /* end by */ 1 ORDER BY started_at, attempt, span_id
    ) AS ordinal
    FROM with_history
),
group_sizes AS (
    SELECT /* by names */ tool, /* end by */ history, count(*) FILTER (WHERE NOT refused) AS total, count(*) FILTER (WHERE refused) AS refused
    FROM with_history
    GROUP BY ALL
    HAVING count(*) FILTER (WHERE NOT refused) > 0
),
-- groups that differ only in a dimension that does not split a history share the attempts of that history
histories AS (
    SELECT *, CAST(sum(total) OVER same_history AS BIGINT) AS total_of_history, min(history) OVER same_history AS first_history
    FROM group_sizes
    WINDOW same_history AS (PARTITION BY /* by history names */ tool, /* end by */ 1)
),
pairs AS (
    SELECT a.history AS source_history, b.history AS target_history
    FROM histories AS a
    JOIN histories AS b ON b.first_history = a.first_history
),
-- one row per attempt and history: its value, and whether it is a hit (failed, slow or right)
history_values AS (
    SELECT target_history AS history, started_at, ordinal, cluster, CASE WHEN failed = 1 AND source_history = target_history THEN 1.0e0 ELSE 0 END AS value,
        failed = 1 AND source_history = target_history AS hit
    FROM ordered
    JOIN pairs ON source_history = history
    WHERE failed IS NOT NULL
    UNION ALL
    SELECT history + 1, started_at, ordinal, cluster, valid_ms, slower
    FROM ordered
    WHERE valid_ms IS NOT NULL
    UNION ALL
    SELECT history + 2, started_at, ordinal, cluster, CAST(correct AS DOUBLE), correct = 1
    FROM ordered
    WHERE correct IS NOT NULL
),
-- the attempts of each history in order, t = 1, 2, …; s of the first t are hits; x, x_1, x_2: whether this attempt and the
-- two before it are hits
sequenced AS (
    SELECT
        history,
        started_at,
        cluster,
        value,
        row_number() OVER in_order AS t,
        CAST(sum(x) OVER (
            PARTITION BY history ORDER BY ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS BIGINT) AS s,
        x,
        lag(x) OVER in_order AS x_1,
        lag(x, 2) OVER in_order AS x_2
    FROM (SELECT *, CASE WHEN hit THEN 1.0e0 ELSE 0 END AS x FROM history_values) AS hits
    WINDOW in_order AS (PARTITION BY history ORDER BY ordinal)
),
sizes AS (
    SELECT
        history,
        count(*) AS n,
        max(s) AS hits,
        least($reference, count(*) // 2) AS r
    FROM sequenced
    GROUP BY history
),
-- the position where both sides differ most, by the chi-square statistic
contrasts AS (
    SELECT t.history, t.t, t.s, power(1.0 * t.s * z.n - 1.0 * t.t * z.hits, 2) / (1.0 * t.t * (z.n - t.t)) AS contrast
    FROM sequenced AS t
    JOIN sizes AS z ON z.history = t.history
    WHERE t.t < z.n
),
cuts AS (
    SELECT c.history, min(c.t) AS cut, min(c.s) AS s_before
    FROM contrasts AS c
    JOIN (SELECT history, max(contrast) AS highest FROM contrasts GROUP BY history) AS m ON m.history = c.history
    WHERE c.contrast = m.highest
    GROUP BY c.history
),
-- level_before, level_after: shares of hits on the two sides of the cut; spread: variance of all attempts around them, summed
levels AS (
    SELECT
        z.history,
        z.n,
        coalesce(c.cut, z.n) AS cut,
        coalesce(c.s_before, z.hits) / coalesce(c.cut, z.n) AS level_before,
        coalesce((z.hits - c.s_before) / nullif(z.n - c.cut, 0), 0) AS level_after
    FROM sizes AS z
    LEFT JOIN cuts AS c ON c.history = z.history
),
-- residuals around the levels, so that a change does not look like dependence: summed by cluster, and times those before
residuals AS (
    SELECT
        t.history,
        t.cluster,
        1.0 * count(*) AS of_cluster,
        min(t.t) AS first_t,
        sum(t.x) AS hits,
        sum(t.x - CASE WHEN t.t <= v.cut THEN v.level_before ELSE v.level_after END) AS residual,
        sum((t.x - CASE WHEN t.t <= v.cut THEN v.level_before ELSE v.level_after END)
            * (t.x_1 - CASE WHEN t.t - 1 <= v.cut THEN v.level_before ELSE v.level_after END)) AS product_1,
        sum((t.x - CASE WHEN t.t <= v.cut THEN v.level_before ELSE v.level_after END)
            * (t.x_2 - CASE WHEN t.t - 2 <= v.cut THEN v.level_before ELSE v.level_after END)) AS product_2
    FROM sequenced AS t
    JOIN levels AS v ON v.history = t.history
    GROUP BY t.history, t.cluster
),
-- products of each cluster of several attempts and the one before it: neighbours in time may be alike
neighboured AS (
    SELECT
        history,
        sum(hits * hits_before) AS hh_next,
        sum(hits * size_before + of_cluster * hits_before) AS hn_next,
        sum(of_cluster * size_before) AS nn_next
    FROM (
        SELECT *, lag(hits) OVER in_time AS hits_before, lag(of_cluster) OVER in_time AS size_before
        FROM residuals
        WHERE of_cluster > 1
        WINDOW in_time AS (PARTITION BY history ORDER BY first_t)
    ) AS with_neighbours
    GROUP BY history
),
-- correlations with the attempt before and with the one before that; they are too low in short histories, as simulations show
correlations AS (
    SELECT
        v.history,
        v.n,
        g.clusters,
        g.equal_clusters,
        -- equal_clusters: clusters of equal size that would vary as much; the cut uses up to four of them
        g.squares / nullif(v.spread, 0) * g.equal_clusters / greatest(g.equal_clusters - 4, 1) AS of_clusters,
        g.sizes_squared / v.n AS mean_size,
        g.products_1 / nullif(v.spread, 0) AS lag_1,
        g.products_1 / nullif(v.spread, 0) * (1 + 20.0 / v.n) + 2.0 / v.n AS r_1,
        g.products_2 / nullif(v.spread, 0) * (1 + 20.0 / v.n) + 2.0 / v.n AS r_2,
        chained_n(g.clusters, v.n, g.hits, g.hits_squared, g.hits_by_size, g.sizes_squared, b.hh_next, b.hn_next, b.nn_next)
            AS effective
    FROM (
        SELECT *, cut * level_before * (1 - level_before) + (n - cut) * level_after * (1 - level_after) AS spread
        FROM levels
    ) AS v
    JOIN (
        SELECT history, count(*) AS clusters, power(sum(of_cluster), 2) / sum(of_cluster * of_cluster) AS equal_clusters, sum(residual * residual) AS squares, sum(of_cluster * of_cluster) AS sizes_squared,
            sum(product_1) AS products_1, sum(product_2) AS products_2, sum(hits) AS hits, sum(hits * hits) AS hits_squared,
            sum(hits * of_cluster) AS hits_by_size
        FROM residuals
        GROUP BY history
    ) AS g ON g.history = v.history
    LEFT JOIN neighboured AS b ON b.history = v.history
),
-- effect: number of attempts that say as much as one independent attempt; effective: those of a rate without a change. Few
-- clusters may look alike by chance: the fewer there are, the closer the effect is to the size of a cluster
effects AS (
    SELECT
        history,
        clusters,
        clusters > 1 AND clusters < n AND (clusters < 5 OR equal_clusters < 4) AS few_clusters,
        CASE WHEN clusters > 1 THEN effective ELSE CAST(n AS DOUBLE) END AS rate_effective,
        greatest(
            1.0,
            coalesce(CASE WHEN clusters > 1 AND clusters < n
                THEN least(mean_size,
                    greatest(coalesce(of_clusters, 0.0), 1 + (mean_size - 1) / greatest(equal_clusters - 3, 1.0))) END, 1.0),
            coalesce(CASE WHEN lag_1 > 3.5 / sqrt(n) THEN 1 + 2 * r_1 / (1 - least(greatest(r_2 / r_1, r_1), 0.97)) END, 1.0)
        ) AS effect
    FROM correlations
),
-- the reference: r attempts, reference_bad of them bad; slow: 90th percentile of their durations
slow_limits AS (
    SELECT t.history, quantile_cont(t.value, 0.9) AS slow
    FROM sequenced AS t
    JOIN sizes AS z ON z.history = t.history
    WHERE t.t <= z.r AND t.history % 3 = 1
    GROUP BY t.history
),
bad_attempts AS (
    SELECT t.history, t.started_at, t.t, z.r
    FROM sequenced AS t
    JOIN sizes AS z ON z.history = t.history
    LEFT JOIN slow_limits AS f ON f.history = t.history
    WHERE CASE t.history % 3 WHEN 0 THEN t.value = 1 WHEN 1 THEN t.value > f.slow ELSE t.value = 0 END
),
expected AS (
    SELECT
        z.history,
        z.r,
        e.effect * ln(5.0 * (z.n - z.r)) AS ceiling,
        ln(greatest($odds, 2)) AS step_up,
        -- uses the upper end of the 90 % Wilson interval of reference_bad / r
        ln(1 + (greatest($odds, 2) - 1) / (z.r / e.effect + 2.705543454095404) * (x.reference_bad / e.effect + 1.352771727047702
            + 1.6448536269514722 * sqrt(x.reference_bad * (z.r - x.reference_bad) / z.r / e.effect + 0.676385863523851))) AS step_down
    FROM sizes AS z
    JOIN (
        SELECT z.history, count(b.t) AS reference_bad
        FROM sizes AS z
        LEFT JOIN bad_attempts AS b ON b.history = z.history AND b.t <= b.r
        GROUP BY z.history
    ) AS x ON x.history = z.history
    JOIN effects AS e ON e.history = z.history
    WHERE z.r > 0
),
-- the CUSUM rises at each bad attempt and falls between them: its minima are just before bad attempts, its maxima at them
climbs AS (
    SELECT
        b.history,
        b.started_at,
        b.t,
        e.ceiling,
        e.step_up,
        row_number() OVER (PARTITION BY b.history ORDER BY b.t) * e.step_up - (b.t - b.r) * e.step_down AS cusum,
        e.step_up - e.step_down AS climb
    FROM bad_attempts AS b
    JOIN expected AS e ON e.history = b.history
    WHERE b.t > b.r
),
alarms AS (
    SELECT history, min(CASE WHEN excess > ceiling THEN started_at END) AS alarm_at
    FROM (
        SELECT *, cusum - min(cusum - climb) OVER (
            PARTITION BY history ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS excess
        FROM climbs
    ) AS sums
    GROUP BY history
),
-- log-likelihood of one rate up to t and another rate after t, in independent attempts; lgamma(1/2) = 0.5723649429247001
splits AS (
    SELECT
        t.history,
        t.t,
        lgamma(t.s / e.effect + 0.5) + lgamma((t.t - t.s) / e.effect + 0.5) - lgamma(t.t / e.effect + 1)
            + lgamma((z.hits - t.s) / e.effect + 0.5) + lgamma((z.n - t.t - z.hits + t.s) / e.effect + 0.5)
            - lgamma((z.n - t.t) / e.effect + 1) - 4 * 0.5723649429247001 AS log_likelihood
    FROM sequenced AS t
    JOIN sizes AS z ON z.history = t.history
    JOIN effects AS e ON e.history = t.history
    WHERE t.t < z.n
),
maxima AS (
    SELECT history, max(log_likelihood) AS log_maximum
    FROM splits
    GROUP BY history
),
change_likelihoods AS (
    SELECT w.history, max(t.log_maximum) + ln(sum(exp(w.log_likelihood - t.log_maximum))) AS log_all
    FROM splits AS w
    JOIN maxima AS t ON t.history = w.history
    GROUP BY w.history
),
compared AS (
    SELECT
        z.history,
        z.n / e.effect AS independent_n,
        c.log_all,
        c.log_all - ln(z.n - 1)
            - (lgamma(z.hits / e.effect + 0.5) + lgamma((z.n - z.hits) / e.effect + 0.5) - lgamma(z.n / e.effect + 1)
                - 2 * 0.5723649429247001)
            AS log_bayes_factor
    FROM sizes AS z
    JOIN effects AS e ON e.history = z.history
    LEFT JOIN change_likelihoods AS c ON c.history = z.history
),
-- probability of the change within 40 attempts of t (within_40) and up to t (cumulative), for histories with a change
posterior AS (
    SELECT
        w.history,
        w.t,
        sum(exp(w.log_likelihood - c.log_all)) OVER nearby AS within_40,
        sum(exp(w.log_likelihood - c.log_all)) OVER so_far AS cumulative
    FROM splits AS w
    JOIN compared AS c ON c.history = w.history
    WHERE c.log_bayes_factor >= ln($evidence * greatest(1, sqrt(300 / c.independent_n)))
      AND w.log_likelihood > c.log_all - 20
    WINDOW
        nearby AS (PARTITION BY w.history ORDER BY w.t RANGE BETWEEN 40 PRECEDING AND 40 FOLLOWING),
        so_far AS (PARTITION BY w.history ORDER BY w.t)
),
medians_of_posterior AS (
    SELECT history, max(within_40) AS max_within_40, min(CASE WHEN cumulative >= 0.5 THEN t END) AS median_t
    FROM posterior
    GROUP BY history
),
-- of the positions with nearly the highest probability within 40 attempts, the one nearest to the median
chosen AS (
    SELECT c.history, c.log_bayes_factor, d.last_before
    FROM compared AS c
    LEFT JOIN (
        SELECT k.history, arg_min(k.t, abs(k.t - m.median_t)) AS last_before
        FROM posterior AS k
        JOIN medians_of_posterior AS m ON m.history = k.history
        WHERE k.within_40 >= m.max_within_40 - 0.02
        GROUP BY k.history
    ) AS d ON d.history = c.history
),
sides AS (
    SELECT
        t.history,
        max(CASE WHEN t.t = d.last_before + 1 THEN t.started_at END) AS change_point,
        count(*) AS n,
        count(CASE WHEN t.t <= d.last_before THEN 1 END) AS n_before,
        count(CASE WHEN t.t > d.last_before THEN 1 END) AS n_after,
        sum(t.value) AS x,
        sum(CASE WHEN t.t <= d.last_before THEN t.value END) AS x_before,
        sum(CASE WHEN t.t > d.last_before THEN t.value END) AS x_after,
        max(d.log_bayes_factor) AS log_bayes_factor
    FROM sequenced AS t
    JOIN chosen AS d ON d.history = t.history
    GROUP BY t.history
),
medians AS (
    SELECT
        t.history,
        quantile_cont(t.value, 0.5) AS overall,
        quantile_cont(CASE WHEN t.t <= d.last_before THEN t.value END, 0.5) AS before,
        quantile_cont(CASE WHEN t.t > d.last_before THEN t.value END, 0.5) AS after
    FROM sequenced AS t
    JOIN chosen AS d ON d.history = t.history
    WHERE t.history % 3 = 1
    GROUP BY t.history
),
with_intervals AS (
    SELECT
        s.*,
        CASE WHEN s.history % 3 = 1 THEN m.overall ELSE x / n END AS overall,
        CASE WHEN s.history % 3 = 1 THEN m.before ELSE x_before / nullif(n_before, 0) END AS before,
        CASE WHEN s.history % 3 = 1 THEN m.after ELSE x_after / nullif(n_after, 0) END AS after,
        -- NULL for latency: a median has no Wilson interval
        CASE WHEN s.history % 3 <> 1 THEN x END AS share_x,
        CASE WHEN s.history % 3 <> 1 THEN x_before END AS share_x_before,
        CASE WHEN s.history % 3 <> 1 THEN x_after END AS share_x_after,
        e.effect,
        e.clusters,
        e.few_clusters,
        least(e.rate_effective, s.n / e.effect) AS effective
    FROM sides AS s
    JOIN effects AS e ON e.history = s.history
    LEFT JOIN medians AS m ON m.history = s.history
),
-- one row per group and statistic; without_statistic: attempts that do not have it
statistics AS (
    SELECT
        /* by names */ tool, /* end by */
        k.statistic_no,
        k.statistic,
        g.history + k.statistic_no AS history,
        g.refused,
        CASE WHEN k.statistic_no = 0 THEN g.total_of_history ELSE g.total END AS total,
        CASE WHEN k.statistic_no = 0 THEN g.total_of_history ELSE g.total END - coalesce(z.n, 0) AS without_statistic
    FROM histories AS g
    CROSS JOIN (
        SELECT 0 AS statistic_no, 'failure_rate' AS statistic UNION ALL SELECT 1, 'latency' UNION ALL SELECT 2, 'accuracy'
    ) AS k
    LEFT JOIN sizes AS z ON z.history = g.history + k.statistic_no
)
SELECT
    /* by names */ tool, /* end by */
    k.statistic,
    coalesce(n, 0) AS n,
    without_statistic / total AS unseen_share,
    wilson_low(without_statistic, total) AS unseen_low,
    wilson_high(without_statistic, total) AS unseen_high,
    k.refused,
    a.alarm_at,
    s.change_point,
    s.before,
    wilson_low(share_x_before / effect, n_before / effect) AS before_low,
    wilson_high(share_x_before / effect, n_before / effect) AS before_high,
    s.after,
    wilson_low(share_x_after / effect, n_after / effect) AS after_low,
    wilson_high(share_x_after / effect, n_after / effect) AS after_high,
    CASE WHEN s.change_point IS NOT NULL THEN n_before END AS n_before,
    CASE WHEN s.change_point IS NOT NULL THEN n_after END AS n_after,
    CASE WHEN k.statistic = 'accuracy' THEN s.after < s.before ELSE s.after > s.before END AS worse,
    s.log_bayes_factor,
    s.overall,
    cluster_low(share_x, n, effective) AS overall_low,
    cluster_high(share_x, n, effective) AS overall_high,
    s.change_point IS NOT NULL AND s.log_bayes_factor < ln(20) AS weak,
    coalesce(n, 0) < $min_n OR coalesce(s.few_clusters, false) AS too_few,
    s.clusters,
    s.effect AS design_effect
FROM statistics AS k
LEFT JOIN with_intervals AS s ON s.history = k.history
LEFT JOIN alarms AS a ON a.history = k.history
ORDER BY CASE WHEN s.change_point IS NULL THEN 1 ELSE 0 END, /* by names */ tool, /* end by */ k.statistic_no
