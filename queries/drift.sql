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
-- after any attempt, all rates and all places equally likely beforehand. For latency the rate is of attempts above the
-- overall median, and before and after are medians. The most likely place is named where a change is `evidence` times
-- as likely as none; else it is NULL, and so are before and after. In 300 attempts without a change, fewer than 1 of
-- 100 get a place.
--
-- Both take attempts as independent. Failures that come in bursts are a change too: see incidents. A new version
-- is another tool: ask by tool and version.
--
-- by: tool (default), version, agent, conversation, attributes
-- parameters:
--   since      timestamp = NULL  attempts that started at this time or later
--   until      timestamp = NULL  attempts that started before this time
--   tool       text = NULL       this tool only
--   reference  integer = 100     so many first attempts are what the others are measured against
--   odds       integer = 3       the alarm is for odds of bad so many times as high; 2 or more
--   evidence   integer = 20      a change is named where it is so many times as likely as none
--   min_n      integer = 40      fewer attempts are marked too_few
-- columns:
--   statistic         text          failure_rate, latency or accuracy
--   n                 count         attempts that tell
--   unseen_share      share         attempts of the group that do not: unfinished, without a duration, not judged
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
--   too_few           mark          n < min_n
-- source: CUSUM (Page 1954), its limit by Ville's inequality; change point with uniform priors, Beta(1,1) (Smith 1975),
--   20 times is "strong" (Kass and Raftery 1995); Wilson score interval (Wilson 1927), z^2 = 3.841458820694124, and at
--   z = 1.2815515655446004 for the reference
WITH seen AS (
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
        SELECT *, status IS NOT NULL AND ending IN ('returned', 'raised') AS finished
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
    FROM seen
),
-- put in their order once for all three statistics
ordered AS (
    SELECT *, row_number() OVER (PARTITION BY history ORDER BY started_at, attempt, span_id) AS place
    FROM halved
),
-- what each attempt tells: a value, and whether that is a yes
told AS (
    SELECT history, started_at, place, CAST(failed AS DOUBLE) AS value, failed = 1 AS yes
    FROM ordered
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
        FROM told
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
-- logarithm of the likelihood of one rate up to t and another after it
weighed AS (
    SELECT
        t.history,
        t.t,
        t.s,
        lgamma(t.s + 1) + lgamma(t.t - t.s + 1) - lgamma(t.t + 2) + lgamma(z.yes - t.s + 1)
            + lgamma(z.n - t.t - z.yes + t.s + 1) - lgamma(z.n - t.t + 2) AS log_here
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
    SELECT
        w.history,
        max(t.log_top) + ln(sum(exp(w.log_here - t.log_top))) - ln(count(*)) AS log_change,
        min(CASE WHEN w.log_here >= t.log_top - 1e-9 THEN w.t END) AS place
    FROM weighed AS w
    JOIN tops AS t ON t.history = w.history
    GROUP BY w.history
),
decided AS (
    SELECT
        history,
        log_bayes_factor,
        CASE WHEN log_bayes_factor >= ln(greatest($evidence, 1)) THEN place END AS place
    FROM (
        SELECT
            z.history,
            c.place,
            c.log_change - (lgamma(z.yes + 1) + lgamma(z.n - z.yes + 1) - lgamma(z.n + 2)) AS log_bayes_factor
        FROM sizes AS z
        LEFT JOIN changes AS c ON c.history = z.history
    ) AS compared
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
spread AS (
    SELECT
        s.*,
        CASE WHEN s.history % 3 = 1 THEN m.overall ELSE x / n END AS overall,
        CASE WHEN s.history % 3 = 1 THEN m.before ELSE x_before / nullif(n_before, 0) END AS before,
        CASE WHEN s.history % 3 = 1 THEN m.after ELSE x_after / nullif(n_after, 0) END AS after,
        -- half the width of each interval; NULL for a median
        z * sqrt(x * (n - x) / n + z * z / 4) AS half,
        z * sqrt(x_before * (n_before - x_before) / nullif(n_before, 0) + z * z / 4) AS half_before,
        z * sqrt(x_after * (n_after - x_after) / nullif(n_after, 0) + z * z / 4) AS half_after
    FROM (SELECT *, CASE WHEN history % 3 <> 1 THEN 1.959963984540054 END AS z FROM sides) AS s
    LEFT JOIN medians AS m ON m.history = s.history
),
groups_ AS (
    SELECT /* by names */ tool, /* end by */ history, count(*) AS total
    FROM halved
    GROUP BY ALL
)
SELECT
    /* by names */ tool, /* end by */
    k.statistic,
    coalesce(n, 0) AS n,
    1 - coalesce(n, 0) / g.total AS unseen_share,
    a.alarm_at,
    s.change_point,
    s.before,
    CASE WHEN x_before = 0 THEN 0 * half_before
         ELSE (x_before + 1.920729410347062 - half_before) / (n_before + 3.841458820694124) END AS before_low,
    CASE WHEN x_before = n_before THEN 1 + 0 * half_before
         ELSE (x_before + 1.920729410347062 + half_before) / (n_before + 3.841458820694124) END AS before_high,
    s.after,
    CASE WHEN x_after = 0 THEN 0 * half_after
         ELSE (x_after + 1.920729410347062 - half_after) / (n_after + 3.841458820694124) END AS after_low,
    CASE WHEN x_after = n_after THEN 1 + 0 * half_after
         ELSE (x_after + 1.920729410347062 + half_after) / (n_after + 3.841458820694124) END AS after_high,
    CASE WHEN s.change_point IS NOT NULL THEN n_before END AS n_before,
    CASE WHEN s.change_point IS NOT NULL THEN n_after END AS n_after,
    CASE WHEN k.statistic = 'accuracy' THEN s.after < s.before ELSE s.after > s.before END AS worse,
    s.log_bayes_factor,
    s.overall,
    CASE WHEN x = 0 THEN 0 * half ELSE (x + 1.920729410347062 - half) / (n + 3.841458820694124) END AS overall_low,
    CASE WHEN x = n THEN 1 + 0 * half ELSE (x + 1.920729410347062 + half) / (n + 3.841458820694124) END AS overall_high,
    coalesce(n, 0) < $min_n AS too_few
FROM groups_ AS g
CROSS JOIN (
    SELECT 0 AS place, 'failure_rate' AS statistic UNION ALL SELECT 1, 'latency' UNION ALL SELECT 2, 'accuracy'
) AS k
LEFT JOIN spread AS s ON s.history = g.history + k.place
LEFT JOIN alarms AS a ON a.history = g.history + k.place
ORDER BY CASE WHEN s.change_point IS NULL THEN 1 ELSE 0 END, /* by names */ tool, /* end by */ k.place
