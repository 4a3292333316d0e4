-- How often is a tool right when its confidence is low, middle or high?
--
-- One row per band of confidence: low is below 0.5, middle below 0.8, high from 0.8. Finished attempts that report a
-- confidence from 0 to 1 count; n of them were labelled. An attempt is right if its labels say so (judged.correct).
--
-- Attempts of one conversation are similar, so the intervals count clusters, as those of failure_rate do: a conversation is
-- a cluster. Without a conversation id, the attempts of a trace are a cluster, and an attempt that is alone in its trace is
-- a cluster of its own.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 95 to 100 % of them (docs/explanation/coverage.md).
--
-- group: trust
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a band of fewer labelled attempts is marked too_few
-- columns:
--   band             text            low, middle or high
--   n                count           labelled attempts of the band
--   accuracy         share           share of n that was right
--   low              low(accuracy)   95 % interval of accuracy
--   high             high(accuracy)  95 % interval of accuracy
--   mean_confidence  share           mean confidence of n
--   attempts         count           finished attempts with a confidence in the band
--   labelled_share   share           n / attempts
--   labelled_low     low(labelled_share)   95 % interval of labelled_share
--   labelled_high    high(labelled_share)  95 % interval of labelled_share
--   clusters         count           conversations (or traces, or attempts) that n belong to
--   design_effect    ratio           n / independent attempts that accuracy would be equally certain with; 1 if each cluster has one
--   too_few          mark            n < min_n, or fewer than 5 clusters of several attempts: read the interval, not the accuracy
-- important: band, n, accuracy, mean_confidence
-- hidden: n
-- verdict: max(n) {group}, confidence {band}: {accuracy} of {n} labelled attempts were right ({low} to {high}), with a
--   mean confidence of {mean_confidence}.
-- next: query calibration --tool {tool}
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124; effective number of
--   attempts: Kish 1965, Korn and Graubard 1998
WITH scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    SELECT
        /* by */ tool, /* end by */
        confidence,
        CASE WHEN confidence BETWEEN 0 AND 1
             THEN CASE WHEN confidence < 0.5 THEN 1 WHEN confidence < 0.8 THEN 2 ELSE 3 END END AS rank,
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
-- one row per band and cluster; the rank is NULL for attempts without a confidence
clustered AS (
    SELECT
        /* by names */ tool, /* end by */
        text_key(row(/* by names */ tool, /* end by */ 1)) AS grp,
        rank,
        cluster,
        min(started_at) AS first,
        CAST(count(*) AS DOUBLE) AS attempts
    FROM scoped
    GROUP BY ALL
),
names AS (
    SELECT DISTINCT /* by names */ tool, /* end by */ grp FROM clustered WHERE rank IS NOT NULL
),
labelled_attempts AS (
    SELECT s.grp, s.rank, s.cluster, s.confidence, j.correct
    FROM with_group AS s
    JOIN judged AS j ON j.span_id = s.attempt_span
    WHERE s.rank IS NOT NULL AND j.correct IS NOT NULL
),
labelled_clusters AS (
    SELECT
        grp,
        rank,
        cluster,
        CAST(count(*) AS DOUBLE) AS n,
        CAST(count(*) FILTER (WHERE correct) AS DOUBLE) AS s,
        sum(confidence) AS sum_confidence
    FROM labelled_attempts
    GROUP BY grp, rank, cluster
),
-- first_of_cluster: the start of the first attempt with any confidence or none
banded AS (
    SELECT c.grp, c.rank, c.attempts, f.first_of_cluster, coalesce(l.n, 0.0) AS n, coalesce(l.s, 0.0) AS s, l.sum_confidence
    FROM clustered AS c
    JOIN (SELECT grp, cluster, min(first) AS first_of_cluster FROM clustered GROUP BY grp, cluster) AS f
        ON f.grp = c.grp AND f.cluster = c.cluster
    LEFT JOIN labelled_clusters AS l ON l.grp = c.grp AND l.rank = c.rank AND l.cluster = c.cluster
    WHERE c.rank IS NOT NULL
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first_of_cluster FROM banded WHERE attempts > 1 GROUP BY grp, rank, first_of_cluster HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *, lag(attempts) OVER in_time AS attempts_before, lag(n) OVER in_time AS n_before, lag(s) OVER in_time AS s_before
    FROM banded
    WHERE attempts > 1 AND first_of_cluster NOT IN (SELECT first_of_cluster FROM tied)
    WINDOW in_time AS (PARTITION BY grp, rank ORDER BY first_of_cluster)
    UNION ALL
    SELECT *, NULL AS attempts_before, NULL AS n_before, NULL AS s_before
    FROM banded
    WHERE attempts <= 1 OR first_of_cluster IN (SELECT first_of_cluster FROM tied)
),
counted AS (
    SELECT
        grp,
        rank,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(s) AS BIGINT) AS s,
        sum(sum_confidence) AS sum_confidence,
        CAST(sum(attempts) AS BIGINT) AS attempts,
        count(*) FILTER (WHERE n > 0) AS clusters,
        chained_clusters(s, n, s_before, n_before) AS effective,
        chained_clusters(n, attempts, n_before, attempts_before) AS effective_labelled
    FROM in_order
    GROUP BY grp, rank
)
SELECT
    /* by names */ tool, /* end by */
    CASE rank WHEN 1 THEN 'low' WHEN 2 THEN 'middle' ELSE 'high' END AS band,
    n,
    s / nullif(n, 0) AS accuracy,
    cluster_low(s, n, effective) AS low,
    cluster_high(s, n, effective) AS high,
    sum_confidence / nullif(n, 0) AS mean_confidence,
    attempts,
    n / attempts AS labelled_share,
    cluster_low(n, attempts, effective_labelled) AS labelled_low,
    cluster_high(n, attempts, effective_labelled) AS labelled_high,
    clusters,
    n / nullif(effective, 0) AS design_effect,
    too_few_draws(clusters, n, $min_n) AS too_few
FROM counted
JOIN names ON names.grp = counted.grp
ORDER BY /* by names */ tool, /* end by */ rank
