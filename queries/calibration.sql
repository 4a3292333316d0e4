-- Can the confidence of a tool be believed?
--
-- Confidence is held against outcomes: an attempt is right where those who judged it said so (judged.correct), never
-- because it did not raise. Seen are finished attempts; n of them were judged and state a confidence from 0 to 1 (one
-- that is not a number, or beyond, counts as missing). Two questions are kept apart. Calibration: do calls with
-- confidence 0.8 come right eight times in ten? Discrimination (auroc, aurc, dsc): are surer calls more often right?
-- An ece is above 0 by chance alone: a tool is called miscalibrated only where its ece is beyond the 95th percentile
-- of what a perfectly calibrated tool with the same confidences shows. Tools are not pooled unless 'by' leaves them out.
--
-- What a cache answered counts as often as it was judged. auroc, aurc, mce and the scores are no shares of calls, and stand
-- without an interval.
--
-- Bins have equal width, ten of them, 0.1 falling into the second; edges are compared as whole numbers of 1e-9.
-- The null is a simulation that is the same every time: 1000 draws of the number right in each bin, binomial with the
-- bin's mean confidence where its variance is below 25, else normal with its skewness; fewer draws beyond 500 groups. The
-- bootstrap (200 Poisson draws) resamples conversations, or calls where no conversation is known; beyond 200 of them, 200
-- parts of them. ece_high is the ece plus 1.96 of its standard deviations there; ece_low is the ece less its bias there
-- and less as much, and 0 where the ece is not beyond the null. One conversation alone, or conversations that do not
-- differ, give no interval: NULL.
-- Confidences of 0 and 1 count as 1e-6 and 1 - 1e-6 for cox_*, as 1e-15 and 1 - 1e-15 for log_loss. mcb, dsc, unc
-- see confidences rounded to four decimals in a group with more than 10000 different ones; all else is exact.
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer judged attempts is marked too_few
-- columns:
--   n                         count           finished attempts that were judged and state a confidence
--   labelled_share            share           finished attempts that were judged / finished attempts
--   labelled_low              low(labelled_share)   95 % interval of labelled_share
--   labelled_high             high(labelled_share)  95 % interval of labelled_share
--   missing_confidence_share  share           finished attempts without a confidence / finished attempts
--   missing_low               low(missing_confidence_share)   95 % interval of missing_confidence_share
--   missing_high              high(missing_confidence_share)  95 % interval of missing_confidence_share
--   mean_confidence           share           mean confidence
--   accuracy                  share           share that was right
--   accuracy_low              low(accuracy)   95 % interval of accuracy (Wilson)
--   accuracy_high             high(accuracy)  95 % interval of accuracy (Wilson)
--   gap                       points          mean_confidence - accuracy: above 0 is overconfident
--   gap_low                   low(gap)        95 % interval of gap: normal, calls of a conversation counted as one draw
--   gap_high                  high(gap)       95 % interval of gap
--   ece                       share           mean distance of confidence and accuracy over bins of equal width
--   ece_low                   low(ece)        95 % bootstrap interval of ece
--   ece_high                  high(ece)       95 % bootstrap interval of ece
--   ece_mass                  share           the same over ten bins of equal size; equal confidences stay together
--   ece_null_mean             share           mean ece of a perfectly calibrated tool with these confidences
--   ece_null_p95              share           95th percentile of that
--   miscalibrated             flag            ece is above ece_null_p95
--   debiased_ece2             number          squared distance over bins less its bias; 0 where that is below 0
--   debiased_below_zero       mark            debiased_ece2 was below 0 and is shown as 0
--   mce                       share           largest distance over bins
--   brier                     number          mean squared distance of confidence and outcome; = mcb - dsc + unc
--   mcb                       number          miscalibration: what isotonic recalibration would take off brier
--   dsc                       number          discrimination: what recalibrated confidence is better than accuracy alone
--   unc                       number          uncertainty: brier of always stating accuracy
--   log_loss                  number          mean of -ln(probability stated for what came)
--   auroc                     share           chance that a right call was surer than a wrong one; NULL for one class
--   aurc                      share           share wrong among the surest k calls, mean over k; lower is better
--   cox_intercept             number          a of logit(right) = a + b logit(confidence); 0 is calibrated
--   cox_slope                 number          b of it; 1 is calibrated, below 1 too extreme; NULL where not identified
--   cox_lr                    number          likelihood ratio against a = 0, b = 1
--   cox_p                     number          its p value, chi square with 2 degrees of freedom
--   spiegelhalter_z           number          z of brier against its expectation if calibrated
--   too_few                   mark            n < min_n: read the intervals, not the figures
-- source: ECE and MCE: Naeini 2015; its bias: Bröcker 2012, Kumar 2019 (a bin of one call counts 0); mcb, dsc, unc:
--   CORP, Dimitriadis, Gneiting and Jordan 2021; Cox 1958; Spiegelhalter 1986; AURC: Geifman 2019, expected over ties
WITH RECURSIVE digits AS (
    SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
    UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9
),
-- 0 to 999
numbers AS (
    SELECT 100 * a.d + 10 * b.d + c.d AS i FROM digits AS a CROSS JOIN digits AS b CROSS JOIN digits AS c
),
scoped AS (
    SELECT
        /* by */ tool, /* end by */
        CASE WHEN confidence BETWEEN 0 AND 1 THEN CAST(confidence AS DOUBLE) END AS p,
        correct,
        CASE WHEN conversation_id IS NULL THEN concat(call_id, '/', coalesce(host, ''), '/', coalesce(pid, 0))
             ELSE conversation_id END AS unit
    FROM tool_calls
    LEFT JOIN judged ON judged.span_id = tool_calls.span_id
    WHERE is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- one row for each confidence in each conversation, and one for what cannot be used (p NULL)
cells AS (
    SELECT
        /* by names */ tool, /* end by */
        CASE WHEN correct IS NOT NULL THEN p END AS p,
        CASE WHEN correct IS NOT NULL AND p IS NOT NULL THEN unit END AS unit,
        CAST(count(*) AS DOUBLE) AS attempts,
        CAST(count(correct) AS DOUBLE) AS labelled,
        CAST(count(*) FILTER (WHERE p IS NULL) AS DOUBLE) AS unsure,
        CAST(count(*) FILTER (WHERE p IS NOT NULL AND correct IS NOT NULL) AS DOUBLE) AS n,
        CAST(count(*) FILTER (WHERE p IS NOT NULL AND correct) AS DOUBLE) AS s
    FROM scoped
    GROUP BY ALL
),
-- grp: a number that the cells of a group have in common
numbered AS (
    SELECT *, min(cell) OVER (PARTITION BY /* by names */ tool, /* end by */ 1) AS grp
    FROM (SELECT *, row_number() OVER () AS cell FROM cells)
),
-- one row for each confidence: n calls, s of them right
levels AS (
    SELECT
        grp,
        p,
        sum(n) AS n,
        sum(s) AS s,
        least(floor(round(p * 1e9) * 10 / 1e9), 9) AS bin,
        ln(least(greatest(p, 1e-6), 1 - 1e-6) / (1 - least(greatest(p, 1e-6), 1 - 1e-6))) AS logit
    FROM numbered
    WHERE p IS NOT NULL
    GROUP BY grp, p
),
-- n_to and s_to count the calls, and the right ones, up to this confidence
points AS (
    SELECT u.grp, u.p, u.n, u.s, u.n_to, u.s_to, t.n_all, t.s_all, t.places
    FROM (
        SELECT grp, p, n, s, sum(n) OVER up AS n_to, sum(s) OVER up AS s_to
        FROM levels
        WINDOW up AS (PARTITION BY grp ORDER BY p)
    ) AS u
    JOIN (
        SELECT grp, sum(n) AS n_all, sum(s) AS s_all, count(*) AS places FROM levels GROUP BY grp
    ) AS t ON t.grp = u.grp
),
-- the mean over k of the share wrong among the surest k; for calls that tie, its mean over their orders, which
-- needs sums of 1/k: exact up to 29, then by the Euler-Maclaurin formula
harmonic AS (
    SELECT CAST(i AS DOUBLE) AS k, sum(1 / greatest(i, 1)) OVER (ORDER BY i) - 1 AS h FROM numbers WHERE i < 30
),
sureness AS (
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
plain AS (
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
    SELECT grp, sum(apart) / sum(n) AS ece_mass
    FROM (
        -- equal confidences go where the middle of them falls
        SELECT grp, least(floor((2 * n_to - n) * 10 / (2 * n_all)), 9) AS bin, abs(sum(s - n * p)) AS apart, sum(n) AS n
        FROM points
        GROUP BY ALL
    )
    GROUP BY grp
),
-- isotonic regression: neighbouring halves are joined until one is left. Where the left one ends above the beginning of
-- the right one, blocks of the left above v and of the right below v become one, v being the mean of just these; excess
-- is above 0 for a block below v, and below 0 for a block above it (all in whole numbers)
halves AS (
    SELECT grp, row_number() OVER (PARTITION BY grp ORDER BY q) - 1 AS node, count(*) OVER (PARTITION BY grp) AS nodes, n, s
    FROM (
        SELECT grp, CASE WHEN places > 10000 THEN round(p, 4) ELSE p END AS q, sum(n) AS n, sum(s) AS s
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
-- Newton's steps from what is claimed, a = 0 and b = 1. A step that would change a log-odds by m of more than 1.7 could
-- miss, and is cut to ln(1 + m) / m of it, which never does (Bach 2010)
cox AS (
    SELECT grp, 0 AS step, CAST(0 AS DOUBLE) AS a, CAST(1 AS DOUBLE) AS b, CAST(1 AS DOUBLE) AS moved
    FROM levels
    GROUP BY grp
    -- both classes overlap, else the likelihood has no maximum
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
coxed AS (
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
-- a thousand even steps of probability for each bin, shuffled; z is their normal quantile (Tukey's lambda)
draws AS (
    SELECT bin, u, 4.91 * (power(u, 0.14) - power(1 - u, 0.14)) AS z, draw
    FROM (
        SELECT d AS bin, (i + 0.5) / 1000 AS u, row_number() OVER (PARTITION BY d ORDER BY md5(concat(d, '/', i))) AS draw
        FROM digits
        CROSS JOIN numbers
    )
),
kept AS (
    SELECT * FROM draws WHERE draw <= (SELECT greatest(100, 5e6 / greatest(count(*), 1)) FROM bins)
),
chances AS (
    SELECT grp, bin, k - sp AS off, pmf, sum(pmf) OVER (PARTITION BY grp, bin ORDER BY k) AS upto
    FROM (
        SELECT grp, bin, sp, k,
            exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
                + k * ln(greatest(sp / n, 1e-300)) + (n - k) * ln(greatest(1 - sp / n, 1e-300))) AS pmf
        FROM (SELECT b.*, floor(sp) + i - 40 AS k FROM bins AS b CROSS JOIN numbers WHERE v < 25 AND i < 82)
        WHERE k BETWEEN 0 AND n
    )
),
nulls AS (
    SELECT c.grp, d.draw, abs(c.off) AS off
    FROM chances AS c
    JOIN kept AS d ON d.bin = c.bin AND d.u <= c.upto AND d.u > c.upto - c.pmf
    UNION ALL
    SELECT b.grp, d.draw,
        abs(greatest(0, least(n, round(sp + sqrt(v) * z + skew / v * (z * z - 1) / 6))) - sp) AS off
    FROM bins AS b
    JOIN kept AS d ON d.bin = b.bin
    WHERE v >= 25
),
chance AS (
    SELECT grp, avg(ece) AS mean, quantile_disc(ece, 0.95) AS p95
    FROM (SELECT x.grp, x.draw, sum(x.off) / max(q.n) AS ece FROM nulls AS x JOIN plain AS q ON q.grp = x.grp GROUP BY ALL)
    GROUP BY grp
),
-- n calls of each conversation in each bin; d is by how much their confidence is more than the right ones
units AS (
    SELECT grp, bin, n, d, dense_rank() OVER (PARTITION BY grp ORDER BY unit) AS unit
    FROM (
        SELECT grp, unit, least(floor(round(p * 1e9) * 10 / 1e9), 9) AS bin, sum(n) AS n, sum(n * p - s) AS d
        FROM numbered
        WHERE p IS NOT NULL
        GROUP BY ALL
    )
),
gaps AS (
    SELECT grp, gap, units, CASE WHEN sd > 1e-9 THEN sd END AS sd
    FROM (
        SELECT u.grp, q.gap, count(*) AS units,
            sqrt(count(*) / nullif(count(*) - 1, 0) * sum(power(u.d - u.n * q.gap, 2))) / sum(u.n) AS sd
        FROM (SELECT grp, unit, sum(n) AS n, sum(d) AS d FROM units GROUP BY grp, unit) AS u
        JOIN (SELECT grp, (sp - s) / n AS gap FROM plain) AS q ON q.grp = u.grp
        GROUP BY u.grp, q.gap
    )
),
-- at most 200 parts of them where there are two or more, and how often each part is drawn
parts AS (
    SELECT u.grp, u.unit % 200 AS part, u.bin, sum(u.n) AS n, sum(u.d) AS d
    FROM units AS u
    JOIN gaps AS g ON g.grp = u.grp
    WHERE g.units > 1
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
    FROM numbered
    GROUP BY ALL
),
answer AS (
    SELECT t.*, p.*, w.*, m.ece_mass, i.refitted, c.a, c.b, c.lr, r.aurc, h.mean AS null_mean, h.p95, g.gap, g.sd AS gap_sd,
        b.mean AS boot_mean, b.sd AS boot_sd,
        w.ece > h.p95 + 1e-12 AS beyond
    FROM totals AS t
    LEFT JOIN plain AS p ON p.grp = t.grp
    LEFT JOIN widths AS w ON w.grp = t.grp
    LEFT JOIN masses AS m ON m.grp = t.grp
    LEFT JOIN isotonic AS i ON i.grp = t.grp
    LEFT JOIN coxed AS c ON c.grp = t.grp
    LEFT JOIN sureness AS r ON r.grp = t.grp
    LEFT JOIN chance AS h ON h.grp = t.grp
    LEFT JOIN gaps AS g ON g.grp = t.grp
    LEFT JOIN boot AS b ON b.grp = t.grp
)
SELECT
    /* by names */ tool, /* end by */
    CAST(coalesce(n, 0) AS BIGINT) AS n,
    labelled / attempts AS labelled_share,
    wilson_low(labelled, attempts) AS labelled_low,
    wilson_high(labelled, attempts) AS labelled_high,
    unsure / attempts AS missing_confidence_share,
    wilson_low(unsure, attempts) AS missing_low,
    wilson_high(unsure, attempts) AS missing_high,
    sp / n AS mean_confidence,
    s / n AS accuracy,
    wilson_low(s, n) AS accuracy_low,
    wilson_high(s, n) AS accuracy_high,
    gap,
    gap - 1.959963984540054 * gap_sd AS gap_low,
    gap + 1.959963984540054 * gap_sd AS gap_high,
    ece,
    CASE WHEN boot_sd IS NULL THEN NULL WHEN beyond
         THEN greatest(0, least(ece, 2 * ece - boot_mean) - 1.959963984540054 * boot_sd) ELSE 0 END AS ece_low,
    CASE WHEN ece + 1.959963984540054 * boot_sd > 1 THEN 1 ELSE ece + 1.959963984540054 * boot_sd END AS ece_high,
    ece_mass,
    null_mean AS ece_null_mean,
    p95 AS ece_null_p95,
    beyond AS miscalibrated,
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
    exp(-lr / 2) AS cox_p,
    spiegelhalter_z,
    coalesce(n, 0) < $min_n AS too_few
FROM answer
ORDER BY n DESC NULLS LAST, /* by names */ tool, /* end by */ attempts
