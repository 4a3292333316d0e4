-- What does the reliability diagram of a tool look like?
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
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
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
--   too_few          mark            n < min_n: read the interval, not the point
-- source: CORP, Dimitriadis, Gneiting and Jordan 2021; consistency band: Bröcker and Smith 2007, its exact form for the
--   binomial with the bin's mean confidence; Wilson score interval (Wilson 1927)
WITH RECURSIVE scoped AS (
    SELECT
        /* by */ tool, /* end by */
        CAST(confidence AS DOUBLE) AS p,
        correct
    FROM tool_calls
    LEFT JOIN judged ON judged.span_id = tool_calls.span_id
    WHERE is_finished(status, ending)
      AND confidence BETWEEN 0 AND 1
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- one row per confidence
cells AS (
    SELECT
        /* by names */ tool, /* end by */
        p,
        CAST(count(*) AS DOUBLE) AS attempts,
        CAST(count(correct) AS DOUBLE) AS n,
        CAST(count(*) FILTER (WHERE correct) AS DOUBLE) AS s
    FROM scoped
    GROUP BY ALL
),
-- grp numbers the groups
numbered AS (
    SELECT *, dense_rank() OVER (ORDER BY /* by names */ tool, /* end by */ 1) AS grp
    FROM cells
),
names AS (
    SELECT /* by names */ tool, /* end by */ grp FROM numbered GROUP BY ALL
),
points AS (
    SELECT c.grp, c.p, c.n, c.s, t.n_levels
    FROM numbered AS c
    JOIN (SELECT grp, count(*) AS n_levels FROM numbered WHERE n > 0 GROUP BY grp) AS t ON t.grp = c.grp
    WHERE c.n > 0
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
bins AS (
    SELECT
        grp,
        least(floor(round(p * 1e9) * 10 / 1e9), 9) AS bin,
        min(CASE WHEN n > 0 THEN p END) AS p_from,
        max(CASE WHEN n > 0 THEN p END) AS p_to,
        sum(attempts) AS attempts,
        sum(n) AS n,
        sum(s) AS s,
        sum(n * p) AS sp
    FROM numbered
    GROUP BY ALL
),
-- probability of at most k right attempts in a bin of a calibrated tool, for all k with a relevant probability
probabilities AS (
    SELECT grp, bin, k,
        sum(exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
            + k * ln(greatest(sp / n, 1e-300)) + (n - k) * ln(greatest(1 - sp / n, 1e-300)))
        ) OVER (PARTITION BY grp, bin ORDER BY k) AS cumulative
    FROM (SELECT *, floor(sp) + unnest(range(-width, width)) AS k
          FROM (SELECT *, CAST(ceil(5 * sqrt(sp * (1 - sp / n)) + 20) AS BIGINT) AS width FROM bins WHERE n > 0))
    WHERE k BETWEEN 0 AND n
),
bands AS (
    SELECT grp, bin, min(CASE WHEN cumulative >= 0.025 THEN k END) AS k_low, min(CASE WHEN cumulative >= 0.975 THEN k END) AS k_high
    FROM probabilities
    GROUP BY grp, bin
),
series_points AS (
    SELECT b.grp, 'bin' AS series, b.p_from, b.p_to, b.n, b.s, b.sp, b.attempts, c.k_low, c.k_high
    FROM bins AS b
    JOIN bands AS c ON c.grp = b.grp AND c.bin = b.bin
    UNION ALL
    SELECT grp, 'isotonic' AS series, p_from, p_to, n, s, sp, NULL AS attempts, NULL AS k_low, NULL AS k_high
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
    CASE WHEN series = 'bin' THEN wilson_low(s, n) END AS low,
    CASE WHEN series = 'bin' THEN wilson_high(s, n) END AS high,
    k_low / n AS band_low,
    k_high / n AS band_high,
    s < k_low OR s > k_high AS outside,
    n / attempts AS labelled_share,
    wilson_low(n, attempts) AS labelled_low,
    wilson_high(n, attempts) AS labelled_high,
    n < $min_n AS too_few
FROM series_points
JOIN names ON names.grp = series_points.grp
ORDER BY /* by names */ tool, /* end by */ series, p_from
