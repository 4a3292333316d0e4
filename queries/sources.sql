-- Which sources can be trusted?
--
-- One row per source and type in a group, over the finished attempts whose result names the source. An attempt counts once
-- per source, even if it names several places in it. A source is identified by its id, else by its url, else by its label.
-- An attempt is right if its labels say so (judged.correct). Confidence is compared with accuracy over the attempts that
-- have both: overconfident_by is their mean_confidence minus the share of them that was right.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 94 to 100 % of them (docs/explanation/coverage.md).
--
-- group: trust
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a source of fewer labelled attempts is marked too_few
-- columns:
--   source                    text   id of the source, else its url, else its label; NULL where it has none
--   type                      text   document, file, api, database, user_input or other
--   n                         count  attempts that name the source
--   missing_id_share          share  share of n that name it without an id
--   missing_id_low            low(missing_id_share)   95 % interval of missing_id_share
--   missing_id_high           high(missing_id_share)  95 % interval of missing_id_share
--   labelled                  count  labelled attempts among n
--   labelled_share            share  labelled / n
--   labelled_low              low(labelled_share)   95 % interval of labelled_share
--   labelled_high             high(labelled_share)  95 % interval of labelled_share
--   accuracy                  share  share of labelled that was right
--   low                       low(accuracy)             95 % interval of accuracy
--   high                      high(accuracy)            95 % interval of accuracy
--   missing_confidence_share  share  share of n without a confidence
--   missing_low               low(missing_confidence_share)   95 % interval of missing_confidence_share
--   missing_high              high(missing_confidence_share)  95 % interval of missing_confidence_share
--   compared                  count  labelled attempts with a confidence
--   mean_confidence           share  mean confidence of compared
--   overconfident_by          number  mean_confidence - share of compared that was right; negative if underconfident
--   overconfident_low         low(overconfident_by)     95 % interval; it covers the share right, with the confidences fixed
--   overconfident_high        high(overconfident_by)    95 % interval; it covers the share right, with the confidences fixed
--   group_missing_id_share    share  share of all pairs of attempt and source in the group without an id
--   group_missing_low         low(group_missing_id_share)   95 % interval of group_missing_id_share
--   group_missing_high        high(group_missing_id_share)  95 % interval of group_missing_id_share
--   unsourced_share           share  share of the finished attempts of the group without an error that name no source
--   unsourced_low             low(unsourced_share)   95 % interval of unsourced_share
--   unsourced_high            high(unsourced_share)  95 % interval of unsourced_share
--   too_few                   mark   labelled < min_n, or they are from fewer than 5 clusters: read the interval, not the rate
--   clusters                  count  conversations among labelled, or traces without a conversation
--   design_effect             ratio  labelled attempts for each independent one that accuracy is as precise as
-- content: all
-- important: source, type, n, accuracy, overconfident_by
-- verdict: max(n) {group} cites {source} most: {n} attempts, of which {missing_id_share} name no id.
-- next: query calibration --tool {tool}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
WITH finished AS (
    SELECT
        /* by */ tool, /* end by */
        span_id AS attempt_span,
        cluster_hash AS cluster,
        started_at,
        CASE WHEN confidence BETWEEN 0 AND 1 THEN confidence END AS valid_confidence,
        CASE WHEN status <> 'error' THEN 1 ELSE 0 END AS answered,
        CASE WHEN status <> 'error' AND coalesce(CAST(sources AS VARCHAR), '[]') = '[]' THEN 1 ELSE 0 END AS unsourced
    FROM attempts
    WHERE is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
cited AS (
    SELECT
        span_id AS attempt_span,
        coalesce(nullif(id, ''), nullif(url, ''), nullif(label, '')) AS source,
        type,
        max(CASE WHEN nullif(id, '') IS NULL THEN 1 ELSE 0 END) AS without_id
    FROM sources
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
    GROUP BY ALL
),
-- each attempt once per source, and once without a source
attempt_sources AS (
    SELECT
        /* by names */ tool, /* end by */
        cluster,
        f.started_at,
        true AS sourced,
        source,
        type,
        without_id,
        0 AS answered,
        0 AS unsourced,
        valid_confidence,
        j.correct,
        CASE WHEN j.correct IS NOT NULL THEN valid_confidence END AS compared_confidence
    FROM finished AS f
    JOIN cited AS c ON c.attempt_span = f.attempt_span
    LEFT JOIN judged AS j ON j.span_id = f.attempt_span
    UNION ALL
    SELECT /* by names */ tool, /* end by */ cluster, started_at, false, NULL, NULL, 0, answered, unsourced, NULL, NULL, NULL
    FROM finished
),
-- pair: a number of the group and cluster, faster to join by than their names
per_cluster AS (
    SELECT
        /* by names */ tool, /* end by */
        text_key(row(/* by names */ tool, /* end by */ cluster)) AS pair,
        cluster,
        sourced,
        source,
        type,
        min(started_at) AS first,
        count(*) AS n,
        sum(without_id) AS missing,
        sum(answered) AS answers,
        sum(unsourced) AS unsourced_n,
        count(correct) AS labelled,
        count(*) FILTER (WHERE correct) AS correct_n,
        count(valid_confidence) AS confident,
        count(compared_confidence) AS compared,
        count(compared_confidence) FILTER (WHERE correct) AS compared_correct_n,
        sum(compared_confidence) AS confidence_sum
    FROM attempt_sources
    GROUP BY ALL
),
-- cluster_n, cluster_missing: pairs of attempt and source in the cluster, and those of them without an id
clusters AS (
    SELECT pair,
        CAST(sum(CASE WHEN sourced THEN n ELSE 0 END) AS DOUBLE) AS cluster_n,
        CAST(sum(missing) AS DOUBLE) AS cluster_missing
    FROM per_cluster
    GROUP BY pair
),
with_cluster AS (
    SELECT p.*, c.cluster_n, c.cluster_missing
    FROM per_cluster AS p
    JOIN clusters AS c ON c.pair = p.pair
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM with_cluster WHERE n > 1 GROUP BY /* by names */ tool, /* end by */ sourced, source, type, first HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *,
        lag(n) OVER in_time AS n_before,
        lag(missing) OVER in_time AS missing_before,
        lag(answers) OVER in_time AS answers_before,
        lag(unsourced_n) OVER in_time AS unsourced_n_before,
        lag(labelled) OVER in_time AS labelled_before,
        lag(correct_n) OVER in_time AS correct_n_before,
        lag(confident) OVER in_time AS confident_before,
        lag(compared) OVER in_time AS compared_before,
        lag(compared_correct_n) OVER in_time AS compared_correct_n_before
    FROM with_cluster
    WHERE n > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY /* by names */ tool, /* end by */ sourced, source, type ORDER BY first)
    UNION ALL
    SELECT *, NULL AS n_before, NULL AS missing_before, NULL AS answers_before, NULL AS unsourced_n_before, NULL AS labelled_before,
        NULL AS correct_n_before, NULL AS confident_before, NULL AS compared_before, NULL AS compared_correct_n_before
    FROM with_cluster
    WHERE n <= 1 OR first IN (SELECT first FROM tied)
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        sourced,
        source,
        type,
        CAST(sum(n) AS BIGINT) AS n,
        sum(missing) AS missing,
        sum(answers) AS answers,
        sum(unsourced_n) AS unsourced_n,
        CAST(sum(labelled) AS BIGINT) AS labelled,
        sum(correct_n) AS correct_n,
        sum(confident) AS confident,
        CAST(sum(compared) AS BIGINT) AS compared,
        sum(compared_correct_n) AS compared_correct_n,
        sum(confidence_sum) / nullif(sum(compared), 0) AS mean_confidence,
        count(*) FILTER (WHERE labelled > 0) AS clusters,
        chained_clusters(missing, n, missing_before, n_before) AS missing_effective,
        chained_clusters(labelled, n, labelled_before, n_before) AS labelled_effective,
        chained_clusters(correct_n, labelled, correct_n_before, labelled_before) AS correct_effective,
        chained_clusters(n - confident, n, n_before - confident_before, n_before) AS confident_effective,
        chained_clusters(compared_correct_n, compared, compared_correct_n_before, compared_before) AS compared_effective,
        chained_clusters(unsourced_n, answers, unsourced_n_before, answers_before) AS unsourced_effective,
        sum(missing * cluster_missing) AS missing_ss,
        sum(missing * cluster_n) AS missing_sn,
        sum(CASE WHEN sourced THEN n * cluster_n END) AS n_nn,
        sum(CASE WHEN sourced THEN n / cluster_n END) AS clusters_n
    FROM in_order
    GROUP BY ALL
),
totals AS (
    SELECT *,
        CAST(sum(CASE WHEN sourced THEN n END) OVER of_group AS BIGINT) AS group_n,
        sum(missing) OVER of_group AS group_missing,
        round(sum(clusters_n) OVER of_group) AS group_clusters,
        sum(missing_ss) OVER of_group AS group_ss,
        sum(missing_sn) OVER of_group AS group_sn,
        sum(n_nn) OVER of_group AS group_nn,
        sum(answers) OVER of_group AS group_answers,
        sum(unsourced_n) OVER of_group AS group_unsourced,
        max(CASE WHEN NOT sourced THEN unsourced_effective END) OVER of_group AS group_effective
    FROM counted
    WINDOW of_group AS (PARTITION BY /* by names */ tool, /* end by */ 1)
),
with_effect AS (
    SELECT *, effective_n(group_clusters, group_n, group_missing, group_ss, group_sn, group_nn) AS group_missing_effective
    FROM totals
)
SELECT
    /* by names */ tool, /* end by */
    source,
    type,
    n,
    missing / n AS missing_id_share,
    cluster_low(missing, n, missing_effective) AS missing_id_low,
    cluster_high(missing, n, missing_effective) AS missing_id_high,
    labelled,
    labelled / n AS labelled_share,
    cluster_low(labelled, n, labelled_effective) AS labelled_low,
    cluster_high(labelled, n, labelled_effective) AS labelled_high,
    correct_n / nullif(labelled, 0) AS accuracy,
    cluster_low(correct_n, labelled, correct_effective) AS low,
    cluster_high(correct_n, labelled, correct_effective) AS high,
    1 - confident / n AS missing_confidence_share,
    cluster_low(n - confident, n, confident_effective) AS missing_low,
    cluster_high(n - confident, n, confident_effective) AS missing_high,
    compared,
    mean_confidence,
    mean_confidence - compared_correct_n / nullif(compared, 0) AS overconfident_by,
    mean_confidence - cluster_high(compared_correct_n, compared, compared_effective) AS overconfident_low,
    mean_confidence - cluster_low(compared_correct_n, compared, compared_effective) AS overconfident_high,
    group_missing / group_n AS group_missing_id_share,
    cluster_low(group_missing, group_n, group_missing_effective) AS group_missing_low,
    cluster_high(group_missing, group_n, group_missing_effective) AS group_missing_high,
    group_unsourced / nullif(group_answers, 0) AS unsourced_share,
    cluster_low(group_unsourced, group_answers, group_effective) AS unsourced_low,
    cluster_high(group_unsourced, group_answers, group_effective) AS unsourced_high,
    too_few_draws(clusters, labelled, $min_n) AS too_few,
    clusters,
    labelled / nullif(correct_effective, 0) AS design_effect
FROM with_effect
WHERE sourced
ORDER BY n DESC, /* by names */ tool, /* end by */ source NULLS LAST, type
