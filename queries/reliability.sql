-- How does the accuracy of a tool depend on its confidence?
--
-- One row per point of the diagram, with confidence on the horizontal axis and accuracy on the vertical one; a calibrated
-- tool lies on the diagonal. Each group has two series. 'bin' has ten bins of equal width (0.1 belongs to the second) and
-- the band that contains 95 % of the bins of a calibrated tool with these confidences. 'isotonic' has the steps of the best
-- fit that never falls, which needs no bins. The steps have no band, because the outcomes determine where they start and
-- end. Finished attempts that were labelled and report a confidence from 0 to 1 count. An attempt is right if its labels
-- say so (judged.correct).
--
-- Edges of bins are compared as integers in units of 1e-9. The isotonic fit uses confidences rounded to four decimals in a
-- group with more than 10000 different ones.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 93 to 99 % of them; for a calibrated tool a bin is outside in at most 4 %
-- (docs/explanation/coverage.md).
--
-- group: trust
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a point of fewer attempts is marked too_few
-- columns:
--   series           text            bin or isotonic
--   confidence_from  share           lowest confidence of the point
--   confidence_to    share           highest confidence of the point
--   confidence       share           mean confidence: horizontal position of the point
--   n                count           labelled attempts
--   accuracy         share           share right: vertical position of the point
--   low              low(accuracy)   95 % interval of accuracy; bins only
--   high             high(accuracy)  95 % interval of accuracy; bins only
--   band_low         share           lower end of the 95 % consistency band of a calibrated tool
--   band_high        share           upper end of the 95 % consistency band of a calibrated tool
--   outside          flag            accuracy lies outside the band
--   labelled_share   share           labelled attempts of a bin / finished attempts with such a confidence
--   labelled_low     low(labelled_share)   95 % interval of labelled_share
--   labelled_high    high(labelled_share)  95 % interval of labelled_share
--   too_few          mark            n < min_n, or they are from fewer than 5 clusters: read the interval, not the point
--   clusters         count           conversations among n, or traces without a conversation; bins only
--   design_effect    ratio           labelled attempts for each independent one that accuracy is as precise as; bins only
-- important: series, confidence, n, accuracy, outside
-- verdict: max(n) {group}: at a confidence of {confidence}, {accuracy} of {n:labelled attempt} were right.
-- next: query thresholds --tool {tool}
-- source: CORP, Dimitriadis, Gneiting and Jordan 2021; consistency band: Bröcker and Smith 2007, its exact form for the
--   binomial of n / design effect with the bin's mean confidence; Wilson score interval (Wilson 1927) of n / design
--   effect (Kish 1965; Korn and Graubard 1998)
WITH RECURSIVE scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    SELECT
        /* by */ tool, /* end by */
        CASE WHEN confidence BETWEEN 0 AND 1 THEN CAST(confidence AS DOUBLE) END AS p,
        started_at,
        cluster_hash AS cluster,
        span_id AS attempt_span
    FROM attempts
    WHERE is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- grp: a number of the group, faster to group and to join by than its names
with_group AS NOT MATERIALIZED (
    SELECT *, text_key(row(/* by names */ tool, /* end by */ 1)) AS grp FROM scoped
),
-- one row per bin of confidences and cluster; the bin is NULL for attempts without a confidence
cluster_bins AS (
    SELECT
        /* by names */ tool, /* end by */
        grp,
        CASE WHEN p IS NOT NULL THEN least(floor(round(p * 1e9) * 10 / 1e9), 9) END AS bin,
        cluster,
        min(started_at) AS first,
        CAST(count(*) AS DOUBLE) AS attempts
    FROM with_group
    GROUP BY ALL
),
names AS (
    SELECT DISTINCT /* by names */ tool, /* end by */ grp FROM cluster_bins WHERE bin IS NOT NULL
),
-- the start of the first attempt with any confidence or none
starts AS (
    SELECT grp, cluster, min(first) AS first FROM cluster_bins GROUP BY grp, cluster
),
labelled_attempts AS (
    SELECT s.grp, s.p, s.cluster, j.correct
    FROM with_group AS s
    JOIN judged AS j ON j.span_id = s.attempt_span
    WHERE s.p IS NOT NULL AND j.correct IS NOT NULL
),
-- one row per confidence and cluster
cells AS (
    SELECT
        grp,
        p,
        cluster,
        least(floor(round(p * 1e9) * 10 / 1e9), 9) AS bin,
        CAST(count(*) AS DOUBLE) AS n,
        CAST(count(*) FILTER (WHERE correct) AS DOUBLE) AS s
    FROM labelled_attempts
    GROUP BY grp, p, cluster
),
points AS (
    SELECT grp, p, sum(n) AS n, sum(s) AS s, count(*) OVER (PARTITION BY grp) AS n_levels
    FROM cells
    GROUP BY grp, p
),
-- isotonic regression: neighbouring halves are joined until one is left. If the left half ends above the start of the
-- right half, the blocks of the left above v and of the right below v are merged; v is the mean of these blocks. excess
-- is positive for a block below v, and negative for a block above v (computed in whole numbers)
halves AS (
    SELECT grp, row_number() OVER (PARTITION BY grp ORDER BY q) - 1 AS node, count(*) OVER (PARTITION BY grp) AS nodes,
        n, s, sp, p_from, p_to
    FROM (
        SELECT grp, CASE WHEN n_levels > 10000 THEN round(p, 4) ELSE p END AS q,
            sum(n) AS n, sum(s) AS s, sum(n * p) AS sp, min(p) AS p_from, max(p) AS p_to
        FROM points
        GROUP BY ALL
    )
    UNION ALL
    SELECT grp, pair AS node, nodes, sum(n) AS n, sum(s) AS s, sum(sp) AS sp, min(p_from) AS p_from, max(p_to) AS p_to
    FROM (
        SELECT grp, pair, (nodes + 1) // 2 AS nodes, n, s, sp, p_from, p_to,
            CASE WHEN is_right = 0 AND excess < 0 OR is_right = 1 AND excess > 0 THEN 2 ELSE s / n END AS block
        FROM (
            SELECT *,
                n * (sum((1 - is_right) * s) OVER from_here + sum(is_right * s) OVER to_here)
              - s * (sum((1 - is_right) * n) OVER from_here + sum(is_right * n) OVER to_here) AS excess
            FROM (
                SELECT *, node // 2 AS pair, node % 2 AS is_right FROM halves WHERE nodes > 1
            )
            WINDOW
                from_here AS (PARTITION BY grp, pair ORDER BY s / n RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING),
                to_here AS (PARTITION BY grp, pair ORDER BY s / n RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        )
    )
    GROUP BY grp, pair, nodes, block
),
steps AS (
    SELECT grp, min(p_from) AS p_from, max(p_to) AS p_to, sum(n) AS n, sum(s) AS s, sum(sp) AS sp
    FROM halves
    WHERE nodes = 1
    GROUP BY grp, s / n
),
bins_per_cluster AS (
    SELECT a.grp, a.bin, a.cluster, f.first, a.attempts, c.p_from, c.p_to, coalesce(c.n, 0.0) AS n, coalesce(c.s, 0.0) AS s,
        coalesce(c.sp, 0.0) AS sp
    FROM cluster_bins AS a
    JOIN starts AS f ON f.grp = a.grp AND f.cluster = a.cluster
    LEFT JOIN (
        SELECT grp, bin, cluster, min(p) AS p_from, max(p) AS p_to, sum(n) AS n, sum(s) AS s, sum(n * p) AS sp
        FROM cells
        GROUP BY grp, bin, cluster
    ) AS c ON c.grp = a.grp AND c.bin = a.bin AND c.cluster = a.cluster
    WHERE a.bin IS NOT NULL
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM bins_per_cluster WHERE attempts > 1 GROUP BY grp, bin, first HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *,
        lag(attempts) OVER in_time AS attempts_before,
        lag(n) OVER in_time AS n_before,
        lag(s) OVER in_time AS s_before
    FROM bins_per_cluster
    WHERE attempts > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY grp, bin ORDER BY first)
    UNION ALL
    SELECT *, NULL AS attempts_before, NULL AS n_before, NULL AS s_before
    FROM bins_per_cluster
    WHERE attempts <= 1 OR first IN (SELECT first FROM tied)
),
bins AS (
    SELECT
        grp,
        bin,
        min(p_from) AS p_from,
        max(p_to) AS p_to,
        sum(attempts) AS attempts,
        sum(n) AS n,
        sum(s) AS s,
        sum(sp) AS sp,
        count(*) FILTER (WHERE n > 0) AS clusters,
        chained_clusters(s, n, s_before, n_before) AS effective,
        chained_clusters(n, attempts, n_before, attempts_before) AS labelled_effective
    FROM in_order
    GROUP BY grp, bin
),
-- m: independent attempts that the bin is as precise as, in whole numbers
sized AS (
    SELECT *, CASE WHEN effective < n THEN greatest(1, floor(effective)) ELSE n END AS m, sp / n AS mean_p
    FROM bins
    WHERE n > 0
),
-- probability of at most k right attempts of m in a bin of a calibrated tool, for all k with a relevant probability
probabilities AS (
    SELECT grp, bin, m, k,
        sum(exp(lgamma(m + 1) - lgamma(k + 1) - lgamma(m - k + 1)
            + k * ln(greatest(mean_p, 1e-300)) + (m - k) * ln(greatest(1 - mean_p, 1e-300)))
        ) OVER (PARTITION BY grp, bin ORDER BY k) AS cumulative
    FROM (SELECT *, floor(m * mean_p) + unnest(range(-width, width)) AS k
          FROM (SELECT *, CAST(ceil(5 * sqrt(m * mean_p * (1 - mean_p)) + 20) AS BIGINT) AS width FROM sized))
    WHERE k BETWEEN 0 AND m
),
bands AS (
    SELECT grp, bin, m,
        min(CASE WHEN cumulative >= 0.025 THEN k END) AS k_low,
        -- rounding may end the sum just below the limit
        coalesce(min(CASE WHEN cumulative >= 0.975 THEN k END), m) AS k_high
    FROM probabilities
    GROUP BY grp, bin, m
),
series_points AS (
    SELECT b.grp, 'bin' AS series, b.p_from, b.p_to, b.n, b.s, b.sp, b.attempts, c.m, c.k_low, c.k_high,
        b.clusters, b.effective, b.labelled_effective
    FROM bins AS b
    JOIN bands AS c ON c.grp = b.grp AND c.bin = b.bin
    UNION ALL
    SELECT grp, 'isotonic' AS series, p_from, p_to, n, s, sp, NULL AS attempts, NULL AS m, NULL AS k_low, NULL AS k_high,
        NULL AS clusters, NULL AS effective, NULL AS labelled_effective
    FROM steps
)
SELECT
    /* by names */ tool, /* end by */
    series,
    p_from AS confidence_from,
    p_to AS confidence_to,
    sp / n AS confidence,
    CAST(n AS BIGINT) AS n,
    s / n AS accuracy,
    cluster_low(s, n, effective) AS low,
    cluster_high(s, n, effective) AS high,
    k_low / m AS band_low,
    k_high / m AS band_high,
    -- in units of m, where rounding cannot move a whole number
    s / n * m < k_low - 1e-9 OR s / n * m > k_high + 1e-9 AS outside,
    n / attempts AS labelled_share,
    cluster_low(n, attempts, labelled_effective) AS labelled_low,
    cluster_high(n, attempts, labelled_effective) AS labelled_high,
    CASE WHEN series = 'bin' THEN too_few_draws(clusters, n, $min_n) ELSE n < $min_n END AS too_few,
    clusters,
    n / effective AS design_effect
FROM series_points
JOIN names ON names.grp = series_points.grp
ORDER BY /* by names */ tool, /* end by */ series, p_from
