-- How far is confidence from accuracy, and is that better or worse than before?
--
-- Two rows: 'now' is the window from `since` to `until`, and 'before' is the window from `before` to `since`. A window
-- without labelled attempts has no row. Finished attempts that were labelled and report a confidence from 0 to 1 count. All
-- tools are pooled unless `tool` is set, so one underconfident tool can hide an overconfident one: calibration shows each
-- tool, with more measures.
--
-- Attempts of one conversation are similar, so the interval counts clusters: a conversation is a cluster. Without a
-- conversation id, the attempts of a trace are a cluster, and an attempt that is alone in its trace is a cluster of its own.
-- The interval is that of calibration: it combines the interval of mean_confidence (Student's t) and that of accuracy. In
-- simulations with 5 to 50 clusters and intraclass correlations from 0 to 0.5 it contained the true gap in 93 % or more; of
-- ten independent attempts, in 90 % where nearly all are right.
--
-- group: trust
-- parameters:
--   since   timestamp = NULL  attempts that started at this time or later
--   until   timestamp = NULL  attempts that started before this time
--   before  timestamp = NULL  start of the window before, which ends at since; NULL omits it
--   tool    text = NULL       this tool only
--   min_n   integer = 20      a window of fewer labelled attempts is marked too_few
-- columns:
--   period           text       now or before
--   n                count      labelled attempts with a confidence
--   mean_confidence  share      mean confidence of n
--   accuracy         share      share of n that was right
--   gap              points     mean_confidence - accuracy: above 0 is overconfident
--   gap_low          low(gap)   95 % interval of gap; NULL if there is one cluster
--   gap_high         high(gap)  95 % interval of gap; NULL if there is one cluster
--   clusters         count      conversations (or traces, or attempts) that n belong to
--   design_effect    ratio      n / independent attempts that accuracy would be equally certain with; 1 if each cluster has one
--   too_few          mark       n < min_n, or fewer than 5 clusters of several attempts: read the interval, not the gap
-- hidden: n
-- verdict: first The mean confidence is {mean_confidence}, and {accuracy} of {n:labelled attempt} were right: a gap
--   of {gap}.
-- next: query calibration
-- source: Wilson score interval (Wilson 1927) of the effective number of attempts (Kish 1965, Korn and Graubard 1998);
--   interval of the difference: Zou 2007 (MOVER); z = 1.959963984540054
WITH judgements AS (
    -- one row per window and cluster: n attempts, s right, m: sum of confidence; first: the start of the first attempt,
    -- labelled or not
    SELECT
        period,
        draw,
        min(started_at) AS first,
        CAST(count(*) FILTER (WHERE judged) AS DOUBLE) AS n,
        sum(CASE WHEN judged THEN CAST(confidence AS DOUBLE) ELSE 0.0 END) AS m,
        sum(CASE WHEN judged AND correct THEN 1.0 ELSE 0.0 END) AS s
    FROM (
        SELECT
            CASE WHEN $since IS NULL OR c.started_at >= $since THEN 'now' ELSE 'before' END AS period,
            c.cluster_hash AS draw,
            c.started_at,
            c.confidence,
            j.correct,
            coalesce(c.confidence BETWEEN 0 AND 1, false) AND j.correct IS NOT NULL AS judged
        FROM attempts AS c
        LEFT JOIN judged AS j ON j.span_id = c.span_id
        WHERE is_finished(c.status, c.ending)
          AND (coalesce($before, $since) IS NULL OR c.started_at >= coalesce($before, $since))
          AND ($until IS NULL OR c.started_at < $until)
          AND ($tool IS NULL OR c.tool = $tool)
    )
    GROUP BY period, draw
    HAVING count(*) FILTER (WHERE judged) > 0
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM judgements WHERE n > 1 GROUP BY period, first HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *, lag(n) OVER in_time AS n_before, lag(s) OVER in_time AS s_before, lag(m) OVER in_time AS m_before
    FROM judgements
    WHERE n > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY period ORDER BY first)
    UNION ALL
    SELECT *, NULL AS n_before, NULL AS s_before, NULL AS m_before
    FROM judgements
    WHERE n <= 1 OR first IN (SELECT first FROM tied)
),
sums AS (
    SELECT period, count(*) AS clusters, sum(n) AS n, sum(s) AS s, sum(m) AS m,
        sum(s * s) AS ss, sum(s * n) AS sn, sum(n * n) AS nn, sum(m * m) AS mm, sum(m * n) AS mn, sum(m * s) AS ms,
        sum(s * s_before) AS ss_next, sum(s * n_before + n * s_before) AS sn_next, sum(n * n_before) AS nn_next,
        sum(m * m_before) AS mm_next, sum(m * n_before + n * m_before) AS mn_next
    FROM in_order
    GROUP BY period
),
with_effective AS (
    SELECT *,
        chained_n(clusters, n, s, ss, sn, nn, ss_next, sn_next, nn_next) AS effective,
        chained_half(n, m, mm, mn, nn, mm_next, mn_next, nn_next) AS half,
        cluster_correlation(n, m, mm, mn, s, ss, sn, ms, nn) AS correlation
    FROM sums
)
SELECT
    period,
    CAST(n AS BIGINT) AS n,
    m / n AS mean_confidence,
    s / n AS accuracy,
    (m - s) / n AS gap,
    (m - s) / n - gap_half(half, cluster_high(s, n, effective) - s / n, correlation, n, nn) AS gap_low,
    (m - s) / n + gap_half(half, s / n - cluster_low(s, n, effective), correlation, n, nn) AS gap_high,
    clusters,
    n / effective AS design_effect,
    too_few_draws(clusters, n, $min_n) AS too_few
FROM with_effective
ORDER BY period DESC
