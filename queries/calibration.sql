-- How well does the confidence of a tool match its accuracy?
--
-- One row per group. An attempt is right if its labels say so (judged.correct), not because it did not raise. Finished
-- attempts count; n of them were labelled and report a confidence from 0 to 1. A confidence that is not a number or lies
-- outside that range counts as missing. The columns answer two separate questions. Calibration (gap, ece, mcb, cox_*): are
-- calls with confidence 0.8 right eight times in ten? Discrimination (auroc, aurc, dsc): are calls with a higher confidence
-- right more often? An ece is above 0 by chance alone, so a tool is marked miscalibrated only if its ece is above the 95th
-- percentile of the ece that a perfectly calibrated tool with the same confidences shows. Tools are not pooled unless `by`
-- omits the tool.
--
-- Attempts of one conversation are similar, so the intervals and tests count clusters: a conversation is a cluster.
-- Without a conversation id, the attempts of a trace are a cluster, and an attempt that is alone in its trace is a cluster
-- of its own. An accuracy is as certain as that of n / design_effect independent attempts. The ece of a calibrated tool is
-- multiplied by the root of design_effect, and cox_lr is divided by it for cox_p. The interval of gap combines those of
-- mean_confidence (Student's t) and accuracy, with the correlation of both between clusters.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals contain
-- the true value in 93 % or more of them (of ten independent attempts, that of gap in 90 % where nearly all are right). A
-- calibrated tool was miscalibrated in at most 6 to 7 %, and had cox_p < 0.05 in at most 5 %, also if each call resembles
-- the one before across conversations (docs/explanation/coverage.md).
--
-- Results from a cache count as often as they were labelled. auroc, aurc, mce and the scores are not shares of calls and
-- have no interval.
--
-- There are ten bins of equal width; 0.1 belongs to the second, and edges are compared as integers in units of 1e-9. The
-- null distribution of ece is a simulation that gives the same result each time: 1000 draws of the number of right calls in
-- each bin, binomial with the bin's mean confidence if its variance is below 25, otherwise normal with the same skewness;
-- above 500 groups there are fewer draws. The bootstrap (200 Poisson draws) resamples clusters; more than 200 of
-- them are combined into 200 parts. ece_high is ece plus 1.96 bootstrap standard
-- deviations. ece_low is ece minus its bootstrap bias and 1.96 standard deviations, or 0 if ece is not above the null. If
-- there is one cluster alone, the intervals of gap and ece are NULL. Confidences of 0 and 1 are
-- treated as 1e-6 and 1 - 1e-6 for cox_*, and as 1e-15 and 1 - 1e-15 for log_loss. mcb, dsc and unc use confidences rounded
-- to four decimals in a group with more than 10000 different ones; all other columns are exact.
--
-- group: trust (first)
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer labelled attempts is marked too_few
-- columns:
--   n                         count           finished attempts that were labelled and report a confidence
--   labelled_share            share           finished attempts that were labelled / finished attempts
--   labelled_low              low(labelled_share)   95 % interval of labelled_share
--   labelled_high             high(labelled_share)  95 % interval of labelled_share
--   missing_confidence_share  share           finished attempts without a confidence / finished attempts
--   missing_low               low(missing_confidence_share)   95 % interval of missing_confidence_share
--   missing_high              high(missing_confidence_share)  95 % interval of missing_confidence_share
--   mean_confidence           share           mean confidence of n
--   accuracy                  share           share of n that was right
--   accuracy_low              low(accuracy)   95 % interval of accuracy
--   accuracy_high             high(accuracy)  95 % interval of accuracy
--   gap                       points          mean_confidence - accuracy: above 0 is overconfident
--   gap_low                   low(gap)        95 % interval of gap; NULL if there is one cluster
--   gap_high                  high(gap)       95 % interval of gap
--   ece                       share           expected calibration error: mean distance of confidence and accuracy over bins of equal width
--   ece_low                   low(ece)        95 % bootstrap interval of ece
--   ece_high                  high(ece)       95 % bootstrap interval of ece
--   ece_mass                  share           the same over ten bins of equal size; attempts with equal confidence share a bin
--   ece_null_mean             share           mean ece of a perfectly calibrated tool with these confidences and clusters
--   ece_null_p95              share           95th percentile of the ece of such a tool
--   miscalibrated             flag            ece is above ece_null_p95
--   debiased_ece2             number          squared distance over bins minus its bias; 0 if that is negative
--   debiased_below_zero       mark            debiased_ece2 was negative and is shown as 0
--   mce                       share           maximum calibration error: largest distance over bins
--   brier                     number          mean squared distance of confidence and outcome; equals mcb - dsc + unc
--   mcb                       number          miscalibration: how much isotonic recalibration would reduce brier
--   dsc                       number          discrimination: how much better recalibrated confidence predicts than accuracy alone
--   unc                       number          uncertainty: brier of a constant confidence equal to accuracy
--   log_loss                  number          mean of -ln(probability given to the outcome)
--   auroc                     share           probability that a right call has a higher confidence than a wrong one; NULL if all calls are right, or all wrong
--   aurc                      share           share wrong among the k most confident calls, averaged over k; lower is better
--   cox_intercept             number          a in logit(right) = a + b logit(confidence); 0 is calibrated
--   cox_slope                 number          b in the same model; 1 is calibrated, below 1 too extreme; NULL if not identified
--   cox_lr                    number          likelihood ratio statistic against a = 0, b = 1
--   cox_p                     number          p value of cox_lr / design_effect: chi square with 2 degrees of freedom
--   spiegelhalter_z           number          z score of brier against its expectation if calibrated
--   clusters                  count           conversations (or traces, or attempts) that n belong to
--   design_effect             ratio           n / independent attempts that accuracy would be equally certain with; 1 if each cluster has one
--   too_few                   mark            n < min_n, or fewer than 5 clusters of several attempts: read the intervals, not the values
-- important: n, accuracy, gap, mean_confidence, ece, miscalibrated
-- hidden: n
-- verdict: max(ece) {group}: the mean confidence is {mean_confidence}, and {accuracy} of {n} labelled attempts were
--   right ({accuracy_low} to {accuracy_high}).
-- next: query reliability --tool {tool}
-- source: ECE and MCE: Naeini 2015; its bias: Bröcker 2012, Kumar 2019 (a bin of one call counts 0); mcb, dsc, unc:
--   CORP, Dimitriadis, Gneiting and Jordan 2021; Cox 1958; Spiegelhalter 1986; AURC: Geifman 2019, expected over ties; clusters:
--   Kish 1965, Korn and Graubard 1998, Rao and Scott 1984; interval of gap: Zou 2007 (MOVER)
WITH RECURSIVE digits AS (
    SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
    UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9
),
-- 0 to 999
numbers AS (
    SELECT 100 * a.d + 10 * b.d + c.d AS i FROM digits AS a CROSS JOIN digits AS b CROSS JOIN digits AS c
),
scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    SELECT
        /* by */ tool, /* end by */
        CASE WHEN confidence BETWEEN 0 AND 1 THEN CAST(confidence AS DOUBLE) END AS p,
        started_at,
        cluster_hash AS cluster,
        draw_key(conversation_id, trace_id) AS unit,
        span_id AS attempt_span
    FROM attempts
    WHERE is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- grp: a number of the group, faster to group and to join by than its names; cluster: one of the conversation or trace; unit: what
-- clusters are ordered by, equal in both engines
with_group AS NOT MATERIALIZED (
    SELECT *, text_key(row(/* by names */ tool, /* end by */ 1)) AS grp FROM scoped
),
-- first: the start of the first attempt, labelled or not
clusters AS (
    SELECT
        /* by names */ tool, /* end by */
        text_key(row(/* by names */ tool, /* end by */ 1)) AS grp,
        cluster,
        min(started_at) AS first,
        CAST(count(*) AS DOUBLE) AS attempts,
        CAST(count(*) FILTER (WHERE p IS NULL) AS DOUBLE) AS unsure
    FROM scoped
    GROUP BY ALL
),
labelled_attempts AS (
    SELECT s.grp, s.p, s.cluster, s.unit, j.correct
    FROM with_group AS s
    JOIN judged AS j ON j.span_id = s.attempt_span
    WHERE j.correct IS NOT NULL
),
-- one row per confidence and cluster, and one per cluster for its labelled attempts without a confidence (p is NULL)
cells AS (
    SELECT
        grp,
        p,
        cluster,
        min(unit) AS unit,
        CAST(count(*) AS DOUBLE) AS labelled,
        CAST(count(p) AS DOUBLE) AS n,
        CAST(count(*) FILTER (WHERE p IS NOT NULL AND correct) AS DOUBLE) AS s
    FROM labelled_attempts
    GROUP BY grp, p, cluster
),
-- one row per confidence: n attempts, s of them right
levels AS (
    SELECT
        grp,
        p,
        sum(n) AS n,
        sum(s) AS s,
        least(floor(round(p * 1e9) * 10 / 1e9), 9) AS bin,
        ln(least(greatest(p, 1e-6), 1 - 1e-6) / (1 - least(greatest(p, 1e-6), 1 - 1e-6))) AS logit
    FROM cells
    WHERE p IS NOT NULL
    GROUP BY grp, p
),
-- n_to attempts up to this confidence, s_to of them right
points AS (
    SELECT u.grp, u.p, u.n, u.s, u.n_to, u.s_to, t.n_all, t.s_all, t.n_levels
    FROM (
        SELECT grp, p, n, s, sum(n) OVER up AS n_to, sum(s) OVER up AS s_to
        FROM levels
        WINDOW up AS (PARTITION BY grp ORDER BY p)
    ) AS u
    JOIN (
        SELECT grp, sum(n) AS n_all, sum(s) AS s_all, count(*) AS n_levels FROM levels GROUP BY grp
    ) AS t ON t.grp = u.grp
),
-- aurc is the mean over k of the share wrong among the k most confident attempts. Ties are averaged over their orders,
-- which needs sums of 1/k: exact up to 29, then by the Euler-Maclaurin formula
harmonic AS (
    SELECT CAST(i AS DOUBLE) AS k, sum(1 / greatest(i, 1)) OVER (ORDER BY i) - 1 AS h FROM numbers WHERE i < 30
),
risk_coverage AS (
    SELECT grp, sum((wrong - before * (t.n - s) / t.n) * CASE
            WHEN n = 1 THEN 1 / (before + 1)
            ELSE coalesce(upper.h, 0.5772156649015329
                    + ln(x) + 1 / (24 * x * x) - 7 / (960 * power(x, 4)) + 31 / (8064 * power(x, 6)))
               - coalesce(lower.h, 0.5772156649015329
                    + ln(y) + 1 / (24 * y * y) - 7 / (960 * power(y, 4)) + 31 / (8064 * power(y, 6)))
            END + n - s) / sum(n) AS aurc
    FROM (
        SELECT grp, n, s, n_all - n_to AS before, n_all - n_to - (s_all - s_to) AS wrong,
            n_all - n_to + n + 0.5 AS x, n_all - n_to + 0.5 AS y
        FROM points
    ) AS t
    LEFT JOIN harmonic AS upper ON upper.k = CASE WHEN t.n > 1 THEN t.before + t.n END
    LEFT JOIN harmonic AS lower ON lower.k = CASE WHEN t.n > 1 THEN t.before END
    GROUP BY grp
),
scores AS (
    SELECT
        grp,
        sum(n) AS n,
        sum(s) AS s,
        sum(n * p) AS sp,
        sum(s * (1 - p) * (1 - p) + (n - s) * p * p) / sum(n) AS brier,
        sum(-s * ln(greatest(p, 1e-15)) - (n - s) * ln(1 - least(p, 1 - 1e-15))) / sum(n) AS log_loss,
        sum((s - n * p) * (1 - 2 * p))
            / nullif(sqrt(sum(n * (1 - 2 * p) * (1 - 2 * p) * p * (1 - p))), 0) AS spiegelhalter_z,
        sum(s * (n_to - s_to - (n - s) / 2)) / nullif(sum(s) * sum(n - s), 0) AS auroc
    FROM points
    GROUP BY grp
),
bins AS (
    SELECT grp, bin, sum(n) AS n, sum(s) AS s, sum(n * p) AS sp,
        sum(n * p * (1 - p)) AS v,
        sum(n * p * (1 - p) * (1 - 2 * p)) AS skew
    FROM levels
    GROUP BY grp, bin
),
widths AS (
    SELECT
        grp,
        sum(abs(s - sp)) / sum(n) AS ece,
        max(abs(s - sp) / n) AS mce,
        sum(CASE WHEN n > 1 THEN (s - sp) * (s - sp) / n - s * (n - s) / (n * (n - 1)) ELSE 0 END) / sum(n) AS debiased
    FROM bins
    GROUP BY grp
),
masses AS (
    SELECT grp, sum(distance) / sum(n) AS ece_mass
    FROM (
        -- attempts with equal confidence go into the bin of their middle
        SELECT grp, least(floor((2 * n_to - n) * 10 / (2 * n_all)), 9) AS bin, abs(sum(s - n * p)) AS distance, sum(n) AS n
        FROM points
        GROUP BY ALL
    )
    GROUP BY grp
),
-- isotonic regression: neighbouring halves are joined until one is left. If the left half ends above the start of the
-- right half, the blocks of the left above v and of the right below v are merged; v is the mean of these blocks. excess
-- is positive for a block below v, and negative for a block above v (computed in whole numbers)
halves AS (
    SELECT grp, row_number() OVER (PARTITION BY grp ORDER BY q) - 1 AS node, count(*) OVER (PARTITION BY grp) AS nodes, n, s
    FROM (
        SELECT grp, CASE WHEN n_levels > 10000 THEN round(p, 4) ELSE p END AS q, sum(n) AS n, sum(s) AS s
        FROM points
        GROUP BY ALL
    )
    UNION ALL
    SELECT grp, pair AS node, nodes, sum(n) AS n, sum(s) AS s
    FROM (
        SELECT grp, pair, (nodes + 1) // 2 AS nodes, n, s,
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
isotonic AS (
    SELECT grp, sum(s - s * s / n) / sum(n) AS refitted
    FROM halves
    WHERE nodes = 1
    GROUP BY grp
),
-- Newton's method, started at a = 0 and b = 1. A step that would change a log-odds by m > 1.7 may overshoot, and is
-- shortened to ln(1 + m) / m of it, which always converges (Bach 2010)
cox AS (
    SELECT grp, 0 AS step, CAST(0 AS DOUBLE) AS a, CAST(1 AS DOUBLE) AS b, CAST(1 AS DOUBLE) AS moved
    FROM levels
    GROUP BY grp
    -- right and wrong attempts must overlap, else the likelihood has no maximum
    HAVING max(CASE WHEN s < n THEN logit END) > min(CASE WHEN s > 0 THEN logit END)
       AND max(CASE WHEN s > 0 THEN logit END) > min(CASE WHEN s < n THEN logit END)
    UNION ALL
    SELECT grp, step + 1 AS step,
        a + CASE WHEN m < 1.7 THEN 1 ELSE ln(1 + m) / m END * da AS a,
        b + CASE WHEN m < 1.7 THEN 1 ELSE ln(1 + m) / m END * db AS b,
        m AS moved
    FROM (
        SELECT *, greatest(abs(da + db * x_low), abs(da + db * x_high)) AS m
        FROM (
            SELECT *, (bb * ga - ab * gb) / (aa * bb - ab * ab) AS da, (aa * gb - ab * ga) / (aa * bb - ab * ab) AS db
            FROM (
                SELECT grp, step, a, b,
                    sum(s - n * e) AS ga,
                    sum((s - n * e) * logit) AS gb,
                    sum(n * e * (1 - e)) AS aa,
                    sum(n * e * (1 - e) * logit) AS ab,
                    sum(n * e * (1 - e) * logit * logit) AS bb,
                    min(logit) AS x_low,
                    max(logit) AS x_high
                FROM (
                    SELECT c.grp, c.step, c.a, c.b, q.n, q.s, q.logit, 1 / (1 + exp(-c.a - c.b * q.logit)) AS e
                    FROM cox AS c
                    JOIN levels AS q ON q.grp = c.grp
                    WHERE c.step < 100 AND c.moved > 1e-9
                )
                GROUP BY grp, step, a, b
            )
        )
    )
),
cox_fit AS (
    SELECT grp, a, b,
        greatest(0, 2 * sum(s * (r - logit) - n * (greatest(r, 0) + ln(1 + exp(-abs(r))) - ln(1 + exp(logit))))) AS lr
    FROM (
        SELECT c.grp, c.a, c.b, q.n, q.s, q.logit, c.a + c.b * q.logit AS r
        FROM cox AS c
        JOIN levels AS q ON q.grp = c.grp
        WHERE c.moved <= 1e-9
    )
    GROUP BY grp, a, b
),
-- 1000 evenly spaced probabilities for each bin, shuffled; z is their normal quantile (Tukey's lambda)
draws AS (
    SELECT bin, u, 4.91 * (power(u, 0.14) - power(1 - u, 0.14)) AS z, draw
    FROM (
        SELECT d AS bin, (i + 0.5) / 1000 AS u, row_number() OVER (PARTITION BY d ORDER BY md5(concat(d, '/', i))) AS draw
        FROM digits
        CROSS JOIN numbers
    )
),
used_draws AS (
    SELECT * FROM draws WHERE draw <= (SELECT greatest(100, 5e6 / greatest(count(*), 1)) FROM bins)
),
probabilities AS (
    SELECT grp, bin, k - sp AS deviation, pmf, sum(pmf) OVER (PARTITION BY grp, bin ORDER BY k) AS cumulative
    FROM (
        SELECT grp, bin, sp, k,
            exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
                + k * ln(greatest(sp / n, 1e-300)) + (n - k) * ln(greatest(1 - sp / n, 1e-300))) AS pmf
        FROM (SELECT b.*, floor(sp) + i - 40 AS k FROM bins AS b CROSS JOIN numbers WHERE v < 25 AND i < 82)
        WHERE k BETWEEN 0 AND n
    )
),
null_draws AS (
    SELECT c.grp, d.draw, abs(c.deviation) AS deviation
    FROM probabilities AS c
    JOIN used_draws AS d ON d.bin = c.bin AND d.u <= c.cumulative AND d.u > c.cumulative - c.pmf
    UNION ALL
    SELECT b.grp, d.draw,
        abs(greatest(0, least(n, round(sp + sqrt(v) * z + skew / v * (z * z - 1) / 6))) - sp) AS deviation
    FROM bins AS b
    JOIN used_draws AS d ON d.bin = b.bin
    WHERE v >= 25
),
null_ece AS (
    SELECT grp, avg(ece) AS mean, quantile_disc(ece, 0.95) AS p95
    FROM (SELECT x.grp, x.draw, sum(x.deviation) / max(q.n) AS ece FROM null_draws AS x JOIN scores AS q ON q.grp = x.grp GROUP BY ALL)
    GROUP BY grp
),
-- n attempts of each conversation in each bin; d: sum of their confidence minus the number right
units AS (
    SELECT grp, bin, n, d, dense_rank() OVER (PARTITION BY grp ORDER BY unit) AS unit
    FROM (
        SELECT grp, min(unit) AS unit, least(floor(round(p * 1e9) * 10 / 1e9), 9) AS bin, sum(n) AS n, sum(n * p - s) AS d
        FROM cells
        WHERE p IS NOT NULL
        GROUP BY grp, cluster, bin
    )
),
-- labelled, unsure: attempts with a label, and without confidence; n: those that count, s right, m: sum of confidence
all_units AS (
    SELECT
        a.*,
        coalesce(c.labelled, 0.0) AS labelled,
        coalesce(c.n, 0.0) AS n,
        coalesce(c.s, 0.0) AS s,
        coalesce(c.m, 0.0) AS m
    FROM clusters AS a
    LEFT JOIN (
        SELECT grp, cluster, sum(labelled) AS labelled, sum(n) AS n, sum(s) AS s, sum(CASE WHEN p IS NOT NULL THEN n * p ELSE 0.0 END) AS m
        FROM cells
        GROUP BY grp, cluster
    ) AS c ON c.grp = a.grp AND c.cluster = a.cluster
),
judged_units AS (
    SELECT grp, first, n, s, m FROM all_units WHERE n > 0
),
-- the starts that several clusters share: these clusters have no order
tied_judged AS (
    SELECT first FROM judged_units WHERE n > 1 GROUP BY grp, first HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
judged_in_order AS (
    SELECT *, lag(n) OVER in_time AS n_before, lag(s) OVER in_time AS s_before, lag(m) OVER in_time AS m_before
    FROM judged_units
    WHERE n > 1 AND first NOT IN (SELECT first FROM tied_judged)
    WINDOW in_time AS (PARTITION BY grp ORDER BY first)
    UNION ALL
    SELECT *, NULL AS n_before, NULL AS s_before, NULL AS m_before
    FROM judged_units
    WHERE n <= 1 OR first IN (SELECT first FROM tied_judged)
),
moments AS (
    SELECT grp, count(*) AS clusters, sum(n) AS n, sum(s) AS s, sum(m) AS m,
        sum(s * s) AS ss, sum(s * n) AS sn, sum(n * n) AS nn, sum(m * m) AS mm, sum(m * n) AS mn, sum(m * s) AS ms,
        sum(s * s_before) AS ss_next, sum(s * n_before + n * s_before) AS sn_next, sum(n * n_before) AS nn_next,
        sum(m * m_before) AS mm_next, sum(m * n_before + n * m_before) AS mn_next
    FROM judged_in_order
    GROUP BY grp
),
with_effective AS (
    SELECT *,
        chained_n(clusters, n, s, ss, sn, nn, ss_next, sn_next, nn_next) AS effective,
        chained_half(n, m, mm, mn, nn, mm_next, mn_next, nn_next) AS half,
        cluster_correlation(n, m, mm, mn, s, ss, sn, ms, nn) AS correlation
    FROM moments
),
gaps AS (
    SELECT *,
        (m - s) / n AS gap,
        gap_half(half, accuracy_high - s / n, correlation, n, nn) AS below,
        gap_half(half, s / n - accuracy_low, correlation, n, nn) AS above
    FROM (
        SELECT *,
            n / effective AS design_effect,
            cluster_low(s, n, effective) AS accuracy_low,
            cluster_high(s, n, effective) AS accuracy_high
        FROM with_effective
    )
),
-- at most 200 parts of the conversations, if there are two or more; weights: how often each part is drawn
parts AS (
    SELECT u.grp, u.unit % 200 AS part, u.bin, sum(u.n) AS n, sum(u.d) AS d
    FROM units AS u
    JOIN gaps AS g ON g.grp = u.grp
    WHERE g.clusters > 1
    GROUP BY ALL
),
weights AS (
    SELECT part, draw, CASE WHEN u < 0.367879 THEN 0 WHEN u < 0.735759 THEN 1 WHEN u < 0.919699 THEN 2
        WHEN u < 0.981012 THEN 3 WHEN u < 0.996340 THEN 4 ELSE 5 END AS w
    FROM (
        SELECT p.i AS part, (j.i + 0.5) / 200 AS u,
            row_number() OVER (PARTITION BY p.i ORDER BY md5(concat('part ', p.i, '/', j.i))) AS draw
        FROM numbers AS p
        JOIN numbers AS j ON p.i < 200 AND j.i < 200
    )
),
boot AS (
    SELECT grp, avg(ece) AS mean, CASE WHEN stddev_samp(ece) > 1e-9 THEN stddev_samp(ece) END AS sd
    FROM (
        SELECT grp, draw, sum(abs(d)) / nullif(sum(n), 0) AS ece
        FROM (
            SELECT p.grp, w.draw, p.bin, sum(w.w * p.n) AS n, sum(w.w * p.d) AS d
            FROM parts AS p
            JOIN weights AS w ON w.part = p.part
            WHERE w.draw <= (SELECT greatest(40, 1e7 / greatest(count(*), 1)) FROM parts)
            GROUP BY p.grp, w.draw, p.bin
        )
        GROUP BY grp, draw
    )
    GROUP BY grp
),
totals AS (
    SELECT
        /* by names */ tool, /* end by */
        grp,
        sum(attempts) AS attempts,
        sum(labelled) AS labelled,
        sum(unsure) AS unsure
    FROM all_units
    GROUP BY ALL
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM all_units WHERE attempts > 1 GROUP BY grp, first HAVING count(*) > 1
),
-- effective numbers of attempts, for the shares that were labelled and that have no confidence
shares AS (
    SELECT
        grp,
        chained_clusters(labelled, attempts, labelled_before, attempts_before) AS effective_labelled,
        chained_clusters(unsure, attempts, unsure_before, attempts_before) AS effective_unsure
    FROM (
        SELECT *,
            lag(attempts) OVER in_time AS attempts_before,
            lag(labelled) OVER in_time AS labelled_before,
            lag(unsure) OVER in_time AS unsure_before
        FROM all_units
        WHERE attempts > 1 AND first NOT IN (SELECT first FROM tied)
        WINDOW in_time AS (PARTITION BY grp ORDER BY first)
        UNION ALL
        SELECT *, NULL AS attempts_before, NULL AS labelled_before, NULL AS unsure_before
        FROM all_units
        WHERE attempts <= 1 OR first IN (SELECT first FROM tied)
    )
    GROUP BY grp
),
joined AS (
    SELECT t.*, p.*, w.*, m.ece_mass, i.refitted, c.a, c.b, c.lr, r.aurc, h.mean * sqrt(g.design_effect) AS null_mean,
        h.p95 * sqrt(g.design_effect) AS null_p95, g.gap, g.below, g.above, g.accuracy_low, g.accuracy_high, g.clusters,
        g.design_effect, u.effective_labelled, u.effective_unsure, b.mean AS boot_mean, b.sd AS boot_sd,
        w.ece > h.p95 * sqrt(g.design_effect) + 1e-12 AS above_null
    FROM totals AS t
    JOIN shares AS u ON u.grp = t.grp
    LEFT JOIN scores AS p ON p.grp = t.grp
    LEFT JOIN widths AS w ON w.grp = t.grp
    LEFT JOIN masses AS m ON m.grp = t.grp
    LEFT JOIN isotonic AS i ON i.grp = t.grp
    LEFT JOIN cox_fit AS c ON c.grp = t.grp
    LEFT JOIN risk_coverage AS r ON r.grp = t.grp
    LEFT JOIN null_ece AS h ON h.grp = t.grp
    LEFT JOIN gaps AS g ON g.grp = t.grp
    LEFT JOIN boot AS b ON b.grp = t.grp
)
SELECT
    /* by names */ tool, /* end by */
    CAST(coalesce(n, 0) AS BIGINT) AS n,
    labelled / attempts AS labelled_share,
    cluster_low(labelled, attempts, effective_labelled) AS labelled_low,
    cluster_high(labelled, attempts, effective_labelled) AS labelled_high,
    unsure / attempts AS missing_confidence_share,
    cluster_low(unsure, attempts, effective_unsure) AS missing_low,
    cluster_high(unsure, attempts, effective_unsure) AS missing_high,
    sp / n AS mean_confidence,
    s / n AS accuracy,
    accuracy_low,
    accuracy_high,
    gap,
    gap - below AS gap_low,
    gap + above AS gap_high,
    ece,
    CASE WHEN boot_sd IS NULL THEN NULL WHEN above_null
         THEN greatest(0, least(ece, 2 * ece - boot_mean) - 1.959963984540054 * boot_sd) ELSE 0 END AS ece_low,
    CASE WHEN ece + 1.959963984540054 * boot_sd > 1 THEN 1 ELSE ece + 1.959963984540054 * boot_sd END AS ece_high,
    ece_mass,
    null_mean AS ece_null_mean,
    null_p95 AS ece_null_p95,
    above_null AS miscalibrated,
    CASE WHEN debiased < 0 THEN 0 ELSE debiased END AS debiased_ece2,
    coalesce(debiased < 0, false) AS debiased_below_zero,
    mce,
    brier,
    brier - refitted AS mcb,
    s * (n - s) / (n * n) - refitted AS dsc,
    s * (n - s) / (n * n) AS unc,
    log_loss,
    auroc,
    aurc,
    a AS cox_intercept,
    b AS cox_slope,
    lr AS cox_lr,
    exp(-lr / 2 / design_effect) AS cox_p,
    spiegelhalter_z,
    coalesce(clusters, 0) AS clusters,
    design_effect,
    too_few_draws(coalesce(clusters, 0), coalesce(n, 0), $min_n) AS too_few
FROM joined
ORDER BY n DESC NULLS LAST, /* by names */ tool, /* end by */ attempts
