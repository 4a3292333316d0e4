-- At what confidence is a tool right often enough?
--
-- One row per requested precision: the lowest confidence t such that of the calls with confidence t or more at least that
-- share is right, with 95 % certainty. Thresholds are tested from high t to low: the test compares the lower 95 % bound of
-- the precision with the requested precision, and stops at the first t that fails. The order is fixed in advance, so no
-- correction for several tests is needed. Some t are skipped whatever their outcomes: those with fewer than min_n calls
-- above them, with fewer than a twentieth of all calls, and with too few for even a perfect record to pass (59 for 0.95,
-- 299 for 0.99; clusters where they have several attempts). A test that started with a handful of calls would mostly stop
-- there. An attempt is right if its labels say so (judged.correct).
--
-- Labelled attempts stand for all attempts: if results below a confidence are never used, and therefore never labelled,
-- this query says nothing about them. Thresholds are rounded down to four decimals in a group with more than 10000
-- different confidences.
--
-- Attempts of one conversation are similar, so the intervals of shares count clusters: a conversation is a cluster. Without
-- a conversation id, the attempts of a trace are a cluster, and an attempt that is alone in its trace is a cluster of its
-- own. The test and lower_bound count the independent attempts that those above t are as precise as; without any wrong
-- attempt, a cluster of several counts as one attempt.
--
-- Measured on simulated histories whose calibrated tool needs a threshold of its own, with independent calls, or with 5 or
-- more clusters that differ: at most 1 % of the thresholds had a lower precision than requested, and the 95 % intervals of
-- coverage contain the true value in 94 to 100 % of them (docs/explanation/coverage.md).
--
-- group: trust
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL                attempts that started at this time or later
--   until  timestamp = NULL                attempts that started before this time
--   tool   text = NULL                     this tool only
--   min_n  integer = 20                    minimum number of labelled attempts above a threshold
--   asked  shares = '0.8,0.9,0.95,0.99'    the requested precisions
-- columns:
--   precision_asked           share   requested share of right results
--   threshold                 share   use results with this confidence or more; NULL if no threshold passes
--   n                         count   labelled attempts at or above the threshold
--   precision                 share   share of n that was right
--   lower_bound               share   one-sided 95 % lower bound of precision
--   coverage                  share   n / judged: share of results that would be used
--   coverage_low              low(coverage)   95 % interval of coverage
--   coverage_high             high(coverage)  95 % interval of coverage
--   judged                    count   finished attempts that were labelled and report a confidence
--   labelled_share            share   finished attempts that were labelled / finished attempts
--   labelled_low              low(labelled_share)   95 % interval of labelled_share
--   labelled_high             high(labelled_share)  95 % interval of labelled_share
--   missing_confidence_share  share   finished attempts without a confidence / finished attempts
--   missing_low               low(missing_confidence_share)   95 % interval of missing_confidence_share
--   missing_high              high(missing_confidence_share)  95 % interval of missing_confidence_share
--   clusters                  count   conversations (or traces, or attempts) that the judged attempts belong to
--   design_effect             ratio   judged / independent attempts that the share of right results would be equally certain with; 1 if each cluster has one
--   too_few                   mark    judged < min_n, or fewer than 5 clusters of several attempts
-- hidden: judged
-- verdict: max(precision) {group}: from a confidence of {threshold} on, {precision} of {n:labelled attempt} were
--   right; that covers {coverage} of them.
-- next: query reliability --tool {tool}
-- source: Clopper and Pearson 1934, one-sided, of the effective number of attempts (Korn and Graubard 1998); fixed-sequence
--   testing; approximation of the test: Peizer and Pratt 1968, exact where it is close to the limit
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
    SELECT s.grp, s.p, s.cluster, j.correct
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
        CAST(count(*) AS DOUBLE) AS labelled,
        CAST(count(p) AS DOUBLE) AS n,
        CAST(count(*) FILTER (WHERE p IS NOT NULL AND correct) AS DOUBLE) AS s
    FROM labelled_attempts
    GROUP BY grp, p, cluster
),
of_clusters AS (
    SELECT
        a.*,
        coalesce(c.labelled, 0.0) AS labelled,
        coalesce(c.judged, 0.0) AS judged,
        coalesce(c.s, 0.0) AS s
    FROM clusters AS a
    LEFT JOIN (
        SELECT grp, cluster, sum(labelled) AS labelled, sum(n) AS judged, sum(s) AS s FROM cells GROUP BY grp, cluster
    ) AS c ON c.grp = a.grp AND c.cluster = a.cluster
),
totals AS (
    SELECT
        /* by names */ tool, /* end by */
        t.grp,
        t.attempts,
        t.labelled,
        t.unsure,
        t.judged,
        coalesce(c.n_levels, 0) AS n_levels
    FROM (
        SELECT
            /* by names */ tool, /* end by */
            grp,
            sum(attempts) AS attempts,
            sum(labelled) AS labelled,
            sum(unsure) AS unsure,
            sum(judged) AS judged
        FROM of_clusters
        GROUP BY ALL
    ) AS t
    LEFT JOIN (SELECT grp, count(DISTINCT p) AS n_levels FROM cells GROUP BY grp) AS c ON c.grp = t.grp
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM of_clusters WHERE attempts > 1 GROUP BY grp, first HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *,
        lag(attempts) OVER in_time AS attempts_before,
        lag(labelled) OVER in_time AS labelled_before,
        lag(unsure) OVER in_time AS unsure_before,
        lag(judged) OVER in_time AS judged_before,
        lag(s) OVER in_time AS s_before
    FROM of_clusters
    WHERE attempts > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY grp ORDER BY first)
    UNION ALL
    SELECT *, NULL AS attempts_before, NULL AS labelled_before, NULL AS unsure_before, NULL AS judged_before, NULL AS s_before
    FROM of_clusters
    WHERE attempts <= 1 OR first IN (SELECT first FROM tied)
),
shares AS (
    SELECT
        grp,
        count(*) FILTER (WHERE judged > 0) AS clusters,
        sum(judged * judged) AS judged_2,
        chained_clusters(s, judged, s_before, judged_before) AS effective,
        clustered_n(s, judged) / nullif(chained_clusters(s, judged, s_before, judged_before), 0) AS chain,
        chained_clusters(labelled, attempts, labelled_before, attempts_before) AS effective_labelled,
        chained_clusters(unsure, attempts, unsure_before, attempts_before) AS effective_unsure
    FROM in_order
    GROUP BY grp
),
-- n attempts of a cluster with this confidence, s of them right; n_to and s_to: with this confidence or more
running AS (
    SELECT grp, p, n, s, sum(n) OVER down AS n_to, sum(s) OVER down AS s_to
    FROM (
        SELECT c.grp, c.cluster, CASE WHEN t.n_levels > 10000 THEN floor(c.p * 10000) / 10000 ELSE c.p END AS p, c.n, c.s
        FROM cells AS c
        JOIN totals AS t ON t.grp = c.grp
        WHERE c.p IS NOT NULL
    )
    WINDOW down AS (PARTITION BY grp, cluster ORDER BY p DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
-- one row per confidence: sums over the clusters with this confidence or more; ss, sn, nn: of squares and of the product
points AS (
    SELECT grp, p, sum(n) OVER or_more AS n, sum(s) OVER or_more AS s, sum(clusters) OVER or_more AS clusters,
        sum(ss) OVER or_more AS ss, sum(sn) OVER or_more AS sn, sum(nn) OVER or_more AS nn
    FROM (
        SELECT grp, p, sum(n) AS n, sum(s) AS s, count(*) FILTER (WHERE n_to = n) AS clusters,
            sum(s * (2 * s_to - s)) AS ss, sum(s_to * n_to - (s_to - s) * (n_to - n)) AS sn, sum(n * (2 * n_to - n)) AS nn
        FROM running
        GROUP BY grp, p
    )
    WINDOW or_more AS (PARTITION BY grp ORDER BY p DESC)
),
requested AS (
    SELECT DISTINCT CAST(trim(word) AS DOUBLE) AS pi FROM (SELECT unnest(string_split($asked, ',')) AS word)
),
-- m: independent attempts that n are as precise as; k of them were right
candidates AS (
    SELECT q.grp, q.p, w.pi, q.n, q.s, q.m, CASE WHEN q.m < q.n THEN q.s / q.n * q.m ELSE q.s END AS k
    FROM (
        SELECT o.*, effective_n(clusters, n, s, ss, sn, nn) / CASE WHEN nn > n THEN coalesce(h.chain, 1.0) ELSE 1.0 END AS m
        FROM points AS o
        JOIN (SELECT grp AS of_grp, chain FROM shares) AS h ON h.of_grp = o.grp
    ) AS q
    JOIN totals AS t ON t.grp = q.grp
    CROSS JOIN requested AS w
    WHERE q.n >= $min_n AND q.n >= 0.05 * t.judged AND q.n * q.n / q.nn * ln(w.pi) <= ln(0.05)
),
-- z: normal quantile of the probability of fewer than k right of m at the requested precision
approximated AS (
    SELECT *,
        CASE WHEN k < m * pi + 0.6 THEN 0.0 ELSE
            (k - m * pi - (1 + pi) / 3 + 0.02 * ((1 - pi) / k - pi / (m - k + 1) + (0.5 - pi) / (m + 1))) / (k - 0.5 - m * pi)
            * sqrt(12 * m / (6 * m + 1) * ((k - 0.5) * ln((k - 0.5) / (m * pi))
                + (m - k + 0.5) * ln((m - k + 0.5) / (m * (1 - pi))))) END AS z
    FROM candidates
),
-- the exact probability of k or more right, where the approximation cannot tell whether it is above 0.05: a sum that needs
-- no whole numbers, of the negative binomial distribution of right attempts before m - k + 1 wrong ones, or the reverse
tails AS (
    SELECT grp, pi, p, CASE WHEN pi < 0.5 THEN sum(chance) ELSE 1 - sum(chance) END AS tail
    FROM (
        SELECT grp, pi, p,
            exp(lgamma(a + b + i) - lgamma(a + 1 + i) - lgamma(b) + (a + i) * ln(y) + b * ln(1 - y)) AS chance
        FROM (
            SELECT *, unnest(range(CAST(12 * sqrt(b * y) / (1 - y) + 40 / (1 - y) AS BIGINT))) AS i
            FROM (
                SELECT *, least(pi, 1 - pi) AS y, CASE WHEN pi < 0.5 THEN k ELSE m - k + 1 END AS a,
                    CASE WHEN pi < 0.5 THEN m - k + 1 ELSE k END AS b
                FROM approximated
                WHERE abs(z - 1.6448536269514722) < 0.02 / (1 + least(m - k, 40))
            )
        )
    )
    GROUP BY grp, pi, p
),
tested AS (
    SELECT a.*, sum(CASE WHEN coalesce(x.tail > 0.05, z < 1.6448536269514722) THEN 1 ELSE 0 END)
        OVER (PARTITION BY a.grp, a.pi ORDER BY a.p DESC) AS failed
    FROM approximated AS a
    LEFT JOIN tails AS x ON x.grp = a.grp AND x.pi = a.pi AND x.p = a.p
),
found AS (
    SELECT grp, pi, p, n, s, m, k
    FROM (SELECT *, row_number() OVER (PARTITION BY grp, pi ORDER BY p) AS lowest FROM tested WHERE failed = 0)
    WHERE lowest = 1
),
-- effective number of judged attempts, for the share at or above each threshold
covered AS (
    SELECT c.grp, c.pi, effective_n(max(h.clusters), max(c.judged), sum(c.n), sum(c.n * c.n), sum(c.n * u.judged), max(h.judged_2))
        AS effective
    FROM (
        SELECT f.grp, f.pi, c.cluster, sum(c.n) AS n, max(t.judged) AS judged
        FROM found AS f
        JOIN totals AS t ON t.grp = f.grp
        JOIN cells AS c ON c.grp = f.grp AND c.p >= f.p
        GROUP BY f.grp, f.pi, c.cluster
    ) AS c
    JOIN of_clusters AS u ON u.grp = c.grp AND u.cluster = c.cluster
    JOIN shares AS h ON h.grp = c.grp
    GROUP BY c.grp, c.pi
),
-- the bound is the x at which k or more right of m have probability 0.05: Newton's method, started at the steepest point.
-- If k <= 1, the slope has no maximum: the first term of the sum gives a lower limit of x
bounds AS (
    SELECT grp, pi, m, k, 0 AS step, CAST(1 AS DOUBLE) AS moved,
        CASE WHEN k = m THEN power(0.05, 1 / m)
             WHEN k > 1 THEN (k - 1) / (m - 1)
             ELSE exp((ln(0.05) + lgamma(k + 1) + lgamma(m - k + 1) - lgamma(m + 1)) / k) END AS x
    FROM found
    UNION ALL
    SELECT grp, pi, m, k, step + 1 AS step, abs(wrong / slope) AS moved, x - wrong / slope AS x
    FROM (
        SELECT grp, pi, m, k, step, x,
            CASE WHEN x < 0.5 THEN sum(chance) - 0.05 ELSE 0.95 - sum(chance) END AS wrong,
            exp(lgamma(m + 1) - lgamma(k) - lgamma(m - k + 1) + (k - 1) * ln(x) + (m - k) * ln(1 - x)) AS slope
        FROM (
            -- chance: as in tails; terms beyond 12 standard deviations are negligible
            SELECT *, exp(lgamma(a + b + i) - lgamma(a + 1 + i) - lgamma(b) + (a + i) * ln(y) + b * ln(1 - y)) AS chance
            FROM (
                SELECT *, unnest(range(CAST(12 * sqrt(b * y) / (1 - y) + 40 / (1 - y) AS BIGINT))) AS i
                FROM (
                    SELECT *, least(x, 1 - x) AS y, CASE WHEN x < 0.5 THEN k ELSE m - k + 1 END AS a,
                        CASE WHEN x < 0.5 THEN m - k + 1 ELSE k END AS b
                    FROM bounds
                    WHERE k < m AND step < 40 AND moved > 1e-14
                )
            )
        )
        GROUP BY grp, pi, m, k, step, x
    )
),
bounded AS (
    SELECT grp, pi, x FROM (SELECT *, row_number() OVER (PARTITION BY grp, pi ORDER BY step DESC) AS newest FROM bounds)
    WHERE newest = 1
),
with_intervals AS (
    SELECT
        /* by names */ tool, /* end by */
        w.pi,
        f.p,
        f.n,
        f.s,
        b.x,
        t.attempts,
        t.labelled,
        t.unsure,
        t.judged,
        h.clusters,
        h.effective,
        h.effective_labelled,
        h.effective_unsure,
        v.effective AS effective_covered
    FROM totals AS t
    JOIN shares AS h ON h.grp = t.grp
    CROSS JOIN requested AS w
    LEFT JOIN covered AS v ON v.grp = t.grp AND v.pi = w.pi
    LEFT JOIN found AS f ON f.grp = t.grp AND f.pi = w.pi
    LEFT JOIN bounded AS b ON b.grp = t.grp AND b.pi = w.pi
)
SELECT
    /* by names */ tool, /* end by */
    pi AS precision_asked,
    p AS threshold,
    CAST(n AS BIGINT) AS n,
    s / n AS precision,
    x AS lower_bound,
    n / judged AS coverage,
    cluster_low(n, judged, effective_covered) AS coverage_low,
    cluster_high(n, judged, effective_covered) AS coverage_high,
    CAST(judged AS BIGINT) AS judged,
    labelled / attempts AS labelled_share,
    cluster_low(labelled, attempts, effective_labelled) AS labelled_low,
    cluster_high(labelled, attempts, effective_labelled) AS labelled_high,
    unsure / attempts AS missing_confidence_share,
    cluster_low(unsure, attempts, effective_unsure) AS missing_low,
    cluster_high(unsure, attempts, effective_unsure) AS missing_high,
    clusters,
    judged / nullif(effective, 0) AS design_effect,
    too_few_draws(clusters, judged, $min_n) AS too_few
FROM with_intervals
ORDER BY /* by names */ tool, /* end by */ pi
