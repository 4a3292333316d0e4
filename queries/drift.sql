-- Did a tool get worse over time, and since when?
--
-- Three statistics for each group: failure_rate (finished attempts with status 'error'), latency (milliseconds in the
-- tool, finished attempts) and accuracy (finished attempts that somebody judged, by the time of the call). Each is
-- reduced to yes or no, attempt by attempt in the order in which they began, and asked twice.
--
-- alarm_at: when would a watch have spoken up? The first `reference` attempts, at most half, say how often it is bad:
-- failed, wrong, or slower than nine of ten of them. After them a CUSUM for the odds of bad becoming `odds` times as
-- high sounds at the first attempt where it passes ln(5 n), n the attempts watched. What is measured against is the
-- upper end of the reference's 80 % interval, so that a lucky beginning is no alarm. On histories without a change it
-- sounds in fewer than 1 of 100 of 300 attempts, and 3 of 100 of 100,000. An alarm is only ever for the worse.
--
-- change_point: did it change once, in whichever direction, and where? One rate for all against one before and one
-- after any attempt; rates have Jeffreys' prior, and all places are equally likely beforehand. For latency the rate is of
-- attempts above the overall median, and before and after are medians. A place is named where a change is `evidence` times
-- as likely as none (in n < 300 attempts sqrt(300 / n) times that, for there chance alone makes more of it); else it is
-- NULL, and so are before and after. It is the place nearest to the middle of where the change may be, of those that have
-- the most of it within 40 attempts. At evidence 1 up to 1 of 20 histories without a change get a place, at 3 up to 1 of 50,
-- at 20 fewer than 1 of 100: a change less than 20 times as likely as none is marked weak. Of 300 attempts with a change
-- at the 100th to 200th, it is named within 40 attempts of it in 19 of 20 for rates from 0.05 to 0.25 or from 0.1 to 0.35 and
-- for twice the latency, in 9 of 10 from 0.02 to 0.15 or from 0.1 to 0.3, and in 1 of 3 from 0.1 to 0.2.
--
-- Both take attempts as independent. Failures that come in bursts are a change too: see incidents. A new version
-- is another tool: ask by tool and version. By day or hour each is a history of its own. By code or status failure_rate
-- is the rate of failures with that code or status among all attempts of the history, and latency and accuracy are those
-- of the attempts with it alone.
--
-- by: tool (default), version, agent, conversation, day, hour, attributes; code, status
-- parameters:
--   since      timestamp = NULL  attempts that started at this time or later
--   until      timestamp = NULL  attempts that started before this time
--   tool       text = NULL       this tool only
--   reference  positive = 100    number of first attempts that the others are measured against
--   odds       positive = 3      the alarm is for odds of bad so many times as high; 1 is taken as 2
--   evidence   positive = 1      a change is named where it is so many times as likely as none
--   min_n      integer = 40      fewer attempts are marked too_few
-- columns:
--   statistic         text          failure_rate, latency or accuracy
--   n                 count         attempts that tell
--   unseen_share      share         attempts of the group that do not: unfinished, without a duration, not judged
--   unseen_low        low(unseen_share)   95 % interval of unseen_share
--   unseen_high       high(unseen_share)  95 % interval of unseen_share
--   alarm_at          time          start of the first attempt at which the CUSUM sounds; NULL: it never does
--   change_point      time          start of the first attempt after the change; NULL: no change is likely enough
--   before            number        rate, or median in ms, before the change
--   before_low        low(before)   95 % interval of a rate; NULL for latency
--   before_high       high(before)  95 % interval of a rate
--   after             number        the same after the change
--   after_low         low(after)    95 % interval of a rate; NULL for latency
--   after_high        high(after)   95 % interval of a rate
--   n_before          count         attempts before the change
--   n_after           count         attempts after it
--   worse             flag          the change was for the worse
--   log_bayes_factor  number        natural logarithm of how many times as likely a change is as none; 3 is 20 times
--   overall           number        rate, or median in ms, of all n
--   overall_low       low(overall)   95 % interval of a rate; NULL for latency
--   overall_high      high(overall)  95 % interval of a rate
--   weak              mark          the change is named, and less than 20 times as likely as none: it may be chance
--   too_few           mark          n < min_n
-- source: CUSUM (Page 1954), its limit by Ville's inequality; change point (Smith 1975) with the priors Beta(1/2, 1/2) of
--   Jeffreys 1946; 20 times is "strong" (Kass and Raftery 1995); that chance alone gives a factor that falls with the root of
--   n: Bartlett 1957; Wilson score interval (Wilson 1927), z^2 = 3.841458820694124, and at
--   z = 1.2815515655446004 for the reference
WITH scoped AS (
    SELECT
        /* by */ tool, /* end by */
        row_number() OVER () AS row_id,
        c.span_id,
        c.attempt,
        c.started_at,
        CASE WHEN c.finished THEN CASE WHEN c.status = 'error' THEN 1 ELSE 0 END END AS failed,
        -- neither NaN nor infinite nor negative
        CASE WHEN c.finished AND c.duration_ms >= 0 AND c.duration_ms < 1e300 THEN c.duration_ms END AS took_ms,
        CASE WHEN c.finished THEN CASE WHEN j.correct THEN 1 WHEN NOT j.correct THEN 0 END END AS correct
    FROM (
        SELECT *, is_finished(status, ending) AS finished
        FROM tool_calls
    ) AS c
    LEFT JOIN judged AS j ON j.span_id = c.span_id
    WHERE ($since IS NULL OR c.started_at >= $since)
      AND ($until IS NULL OR c.started_at < $until)
      AND ($tool IS NULL OR c.tool = $tool)
),
-- history: a number that the attempts of a group have in common; + 0 is failures, + 1 latency, + 2 accuracy
halved AS (
    SELECT *,
        3 * min(row_id) OVER (PARTITION BY /* by names */ tool, /* end by */ 1) AS history,
        took_ms > quantile_cont(took_ms, 0.5) OVER (PARTITION BY /* by names */ tool, /* end by */ 1) AS slower
    FROM scoped
),
-- put in their order once for all three statistics
ordered AS (
    SELECT *, row_number() OVER (
        PARTITION BY /* by history names */ tool, /* end by */ 1 ORDER BY started_at, attempt, span_id
    ) AS place
    FROM halved
),
groups_ AS (
    SELECT /* by names */ tool, /* end by */ history, count(*) AS total
    FROM halved
    GROUP BY ALL
),
-- whose attempts tell of whose failures: all that differ only in what does not part a history
whole AS (
    SELECT *, CAST(sum(total) OVER of_history AS BIGINT) AS total_of_history, min(history) OVER of_history AS of_first
    FROM groups_
    WINDOW of_history AS (PARTITION BY /* by history names */ tool, /* end by */ 1)
),
pairs AS (
    SELECT a.history AS source_history, b.history AS target_history
    FROM whole AS a
    JOIN whole AS b ON b.of_first = a.of_first
),
-- one row per attempt and history: the value, and whether it counts as a yes
history_values AS (
    SELECT target_history AS history, started_at, place, CASE WHEN failed = 1 AND source_history = target_history THEN 1.0e0 ELSE 0 END AS value,
        failed = 1 AND source_history = target_history AS yes
    FROM ordered
    JOIN pairs ON source_history = history
    WHERE failed IS NOT NULL
    UNION ALL
    SELECT history + 1, started_at, place, took_ms, slower
    FROM ordered
    WHERE took_ms IS NOT NULL
    UNION ALL
    SELECT history + 2, started_at, place, CAST(correct AS DOUBLE), correct = 1
    FROM ordered
    WHERE correct IS NOT NULL
),
-- the attempts of each history in their order, t = 1, 2, …; s of the first t were yes
placed AS (
    SELECT history, started_at, value, t, CASE WHEN yes THEN alike ELSE t - alike END AS s
    FROM (
        -- alike: how many so far told the same as this one; to number rows is faster than to count over them
        SELECT *,
            row_number() OVER (PARTITION BY history ORDER BY place) AS t,
            row_number() OVER (PARTITION BY history, yes ORDER BY place) AS alike
        FROM history_values
    ) AS counted
),
sizes AS (
    SELECT
        history,
        count(*) AS n,
        max(s) AS yes,
        least($reference, count(*) // 2) AS r
    FROM placed
    GROUP BY history
),
-- the reference: r attempts, r_bads of them bad; slow is what nine of ten of them stay below
slows AS (
    SELECT t.history, quantile_cont(t.value, 0.9) AS slow
    FROM placed AS t
    JOIN sizes AS z ON z.history = t.history
    WHERE t.t <= z.r AND t.history % 3 = 1
    GROUP BY t.history
),
bads AS (
    SELECT t.history, t.started_at, t.t, z.r
    FROM placed AS t
    JOIN sizes AS z ON z.history = t.history
    LEFT JOIN slows AS f ON f.history = t.history
    WHERE CASE t.history % 3 WHEN 0 THEN t.value = 1 WHEN 1 THEN t.value > f.slow ELSE t.value = 0 END
),
expected AS (
    SELECT
        z.history,
        z.r,
        ln(5.0 * (z.n - z.r)) AS ceiling,
        ln(greatest($odds, 2)) AS step_up,
        -- against the upper end of Wilson's 80 % interval of r_bads of r
        ln(1 + (greatest($odds, 2) - 1) / (z.r + 1.642374415149816) * (r_bads + 0.821187207574908
            + 1.2815515655446004 * sqrt(r_bads * (z.r - r_bads) / z.r + 0.410593603787454))) AS step_down
    FROM sizes AS z
    JOIN (
        SELECT z.history, count(b.t) AS r_bads
        FROM sizes AS z
        LEFT JOIN bads AS b ON b.history = z.history AND b.t <= b.r
        GROUP BY z.history
    ) AS x ON x.history = z.history
    WHERE z.r > 0
),
-- the CUSUM rises with each bad attempt and falls between them: it is lowest just before one, highest just at one
climbs AS (
    SELECT
        b.history,
        b.started_at,
        b.t,
        e.ceiling,
        e.step_up,
        row_number() OVER (PARTITION BY b.history ORDER BY b.t) * e.step_up - (b.t - b.r) * e.step_down AS cusum,
        e.step_up - e.step_down AS climb
    FROM bads AS b
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
    ) AS watched
    GROUP BY history
),
-- logarithm of the likelihood of one rate up to t and another after it; lgamma(1/2) = 0.5723649429247001
weighed AS (
    SELECT
        t.history,
        t.t,
        lgamma(t.s + 0.5) + lgamma(t.t - t.s + 0.5) - lgamma(t.t + 1) + lgamma(z.yes - t.s + 0.5)
            + lgamma(z.n - t.t - z.yes + t.s + 0.5) - lgamma(z.n - t.t + 1) - 4 * 0.5723649429247001 AS log_here
    FROM placed AS t
    JOIN sizes AS z ON z.history = t.history
    WHERE t.t < z.n
),
tops AS (
    SELECT history, max(log_here) AS log_top
    FROM weighed
    GROUP BY history
),
changes AS (
    SELECT w.history, max(t.log_top) + ln(sum(exp(w.log_here - t.log_top))) AS log_all
    FROM weighed AS w
    JOIN tops AS t ON t.history = w.history
    GROUP BY w.history
),
compared AS (
    SELECT
        z.history,
        z.n,
        c.log_all,
        c.log_all - ln(z.n - 1)
            - (lgamma(z.yes + 0.5) + lgamma(z.n - z.yes + 0.5) - lgamma(z.n + 1) - 2 * 0.5723649429247001)
            AS log_bayes_factor
    FROM sizes AS z
    LEFT JOIN changes AS c ON c.history = z.history
),
-- how likely the change is at each place of a history that has changed, how likely within 40 of it, and how likely by then
likely AS (
    SELECT
        w.history,
        w.t,
        sum(exp(w.log_here - c.log_all)) OVER near AS around,
        sum(exp(w.log_here - c.log_all)) OVER upto AS done
    FROM weighed AS w
    JOIN compared AS c ON c.history = w.history
    WHERE c.log_bayes_factor >= ln($evidence * greatest(1, sqrt(300 / c.n)))
      AND w.log_here > c.log_all - 20
    WINDOW
        near AS (PARTITION BY w.history ORDER BY w.t RANGE BETWEEN 40 PRECEDING AND 40 FOLLOWING),
        upto AS (PARTITION BY w.history ORDER BY w.t)
),
middles AS (
    SELECT history, max(around) AS most, min(CASE WHEN done >= 0.5 THEN t END) AS middle
    FROM likely
    GROUP BY history
),
-- the nearest to the middle, of the places that have nearly the most around them
decided AS (
    SELECT c.history, c.log_bayes_factor, d.place
    FROM compared AS c
    LEFT JOIN (
        SELECT k.history, arg_min(k.t, abs(k.t - m.middle)) AS place
        FROM likely AS k
        JOIN middles AS m ON m.history = k.history
        WHERE k.around >= m.most - 0.02
        GROUP BY k.history
    ) AS d ON d.history = c.history
),
sides AS (
    SELECT
        t.history,
        max(CASE WHEN t.t = d.place + 1 THEN t.started_at END) AS change_point,
        count(*) AS n,
        count(CASE WHEN t.t <= d.place THEN 1 END) AS n_before,
        count(CASE WHEN t.t > d.place THEN 1 END) AS n_after,
        sum(t.value) AS x,
        sum(CASE WHEN t.t <= d.place THEN t.value END) AS x_before,
        sum(CASE WHEN t.t > d.place THEN t.value END) AS x_after,
        max(d.log_bayes_factor) AS log_bayes_factor
    FROM placed AS t
    JOIN decided AS d ON d.history = t.history
    GROUP BY t.history
),
medians AS (
    SELECT
        t.history,
        quantile_cont(t.value, 0.5) AS overall,
        quantile_cont(CASE WHEN t.t <= d.place THEN t.value END, 0.5) AS before,
        quantile_cont(CASE WHEN t.t > d.place THEN t.value END, 0.5) AS after
    FROM placed AS t
    JOIN decided AS d ON d.history = t.history
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
        CASE WHEN s.history % 3 <> 1 THEN x_after END AS share_x_after
    FROM sides AS s
    LEFT JOIN medians AS m ON m.history = s.history
),
-- one row for each group and statistic, and how many attempts do not tell of it
asked AS (
    SELECT
        /* by names */ tool, /* end by */
        k.place,
        k.statistic,
        g.history + k.place AS history,
        CASE WHEN k.place = 0 THEN g.total_of_history ELSE g.total END AS total,
        CASE WHEN k.place = 0 THEN g.total_of_history ELSE g.total END - coalesce(z.n, 0) AS unseen
    FROM whole AS g
    CROSS JOIN (
        SELECT 0 AS place, 'failure_rate' AS statistic UNION ALL SELECT 1, 'latency' UNION ALL SELECT 2, 'accuracy'
    ) AS k
    LEFT JOIN sizes AS z ON z.history = g.history + k.place
)
SELECT
    /* by names */ tool, /* end by */
    k.statistic,
    coalesce(n, 0) AS n,
    unseen / total AS unseen_share,
    wilson_low(unseen, total) AS unseen_low,
    wilson_high(unseen, total) AS unseen_high,
    a.alarm_at,
    s.change_point,
    s.before,
    wilson_low(share_x_before, n_before) AS before_low,
    wilson_high(share_x_before, n_before) AS before_high,
    s.after,
    wilson_low(share_x_after, n_after) AS after_low,
    wilson_high(share_x_after, n_after) AS after_high,
    CASE WHEN s.change_point IS NOT NULL THEN n_before END AS n_before,
    CASE WHEN s.change_point IS NOT NULL THEN n_after END AS n_after,
    CASE WHEN k.statistic = 'accuracy' THEN s.after < s.before ELSE s.after > s.before END AS worse,
    s.log_bayes_factor,
    s.overall,
    wilson_low(share_x, n) AS overall_low,
    wilson_high(share_x, n) AS overall_high,
    s.change_point IS NOT NULL AND s.log_bayes_factor < ln(20) AS weak,
    coalesce(n, 0) < $min_n AS too_few
FROM asked AS k
LEFT JOIN with_intervals AS s ON s.history = k.history
LEFT JOIN alarms AS a ON a.history = k.history
ORDER BY CASE WHEN s.change_point IS NULL THEN 1 ELSE 0 END, /* by names */ tool, /* end by */ k.place
