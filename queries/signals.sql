-- Which confidence signals are informative?
--
-- One row per signal: how often results are right with it and without it. An attempt has a signal if it names the signal
-- with a value other than false, 0, null or empty. A signal whose value is text counts as one signal per text, such as
-- match=exact. All other labelled attempts of the group are without it. Finished attempts count. An attempt is right if its
-- labels say so (judged.correct). A difference does not prove that the signal is the cause.
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
--   min_n  integer = 20      a signal with fewer labelled attempts on either side is marked too_few
-- columns:
--   signal            text              name of the signal
--   n_with            count             labelled attempts with the signal
--   n_without         count             labelled attempts without the signal
--   accuracy_with     share             share right with the signal
--   with_low          low(accuracy_with)      95 % interval of accuracy_with
--   with_high         high(accuracy_with)     95 % interval of accuracy_with
--   accuracy_without  share             share right without the signal
--   without_low       low(accuracy_without)   95 % interval of accuracy_without
--   without_high      high(accuracy_without)  95 % interval of accuracy_without
--   difference        points            accuracy_with - accuracy_without
--   low               low(difference)   95 % interval of difference
--   high              high(difference)  95 % interval of difference
--   labelled_share    share             n_with / finished attempts with the signal
--   labelled_low      low(labelled_share)   95 % interval of labelled_share
--   labelled_high     high(labelled_share)  95 % interval of labelled_share
--   clusters          count             conversations (or traces, or attempts) of the side that has fewer
--   design_effect     ratio             labelled attempts / independent attempts that the accuracy would be equally certain with, of the side where it is larger
--   too_few           mark              n_with or n_without < min_n, or fewer than 5 clusters of several attempts: read the interval, not the difference
-- content: all
-- important: signal, difference, n_with, n_without, accuracy_with, accuracy_without
-- hidden: n_without
-- verdict: max(difference) {group}: with the signal {signal}, {accuracy_with} of the results were right, without it
--   {accuracy_without}.
-- next: query confidence_bands --tool {tool}
-- source: Wilson score intervals (Wilson 1927), z = 1.959963984540054; interval of the difference: Newcombe 1998, method
--   10; effective numbers of attempts: Kish 1965, Korn and Graubard 1998
WITH scoped AS (
    SELECT
        /* by */ tool, /* end by */
        correct,
        signals,
        started_at,
        cluster_hash AS draw
    FROM attempts
    LEFT JOIN judged ON judged.span_id = attempts.span_id
    WHERE is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
signal_sets AS (
    SELECT
        /* by names */ tool, /* end by */
        CAST(signals AS TEXT) AS signals,
        draw,
        min(started_at) AS first,
        count(*) AS attempts,
        count(correct) AS n,
        count(*) FILTER (WHERE correct) AS s
    FROM scoped
    GROUP BY ALL
),
-- many attempts have the same signals; each distinct set is parsed once
parsed AS (
    SELECT
        signals AS of_set,
        CASE WHEN e.type = 'VARCHAR' THEN concat(e.key, '=', json_extract_string(e.value, '$')) ELSE e.key END AS signal
    FROM (SELECT DISTINCT signals FROM signal_sets) AS sets,
        json_each(CASE WHEN json_type(signals) = 'OBJECT' THEN signals END) AS e
    WHERE CAST(e.value AS TEXT) NOT IN ('null', 'false', '""', '[]', '{}')
      AND coalesce(TRY_CAST(CAST(e.value AS TEXT) AS DOUBLE) <> 0, true)
),
-- one row per signal and cluster; rows with signal NULL hold the totals of the cluster
clustered AS (
    SELECT
        /* by names */ tool, /* end by */
        signal,
        draw,
        min(first) AS first,
        CAST(sum(attempts) AS DOUBLE) AS attempts,
        CAST(sum(n) AS DOUBLE) AS n,
        CAST(sum(s) AS DOUBLE) AS s
    FROM (
        SELECT /* by names */ tool, /* end by */ signal, draw, first, attempts, n, s
        FROM signal_sets
        JOIN parsed ON of_set = signals
        UNION ALL
        SELECT /* by names */ tool, /* end by */ NULL AS signal, draw, first, attempts, n, s FROM signal_sets
    )
    GROUP BY ALL
),
-- t_n and t_s: labelled and right attempts of the cluster, with the signal and without
with_totals AS (
    SELECT *,
        max(CASE WHEN signal IS NULL THEN n END) OVER of_cluster AS t_n,
        max(CASE WHEN signal IS NULL THEN s END) OVER of_cluster AS t_s
    FROM clustered
    WINDOW of_cluster AS (PARTITION BY /* by names */ tool, /* end by */ draw)
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM with_totals WHERE attempts > 1 GROUP BY /* by names */ tool, /* end by */ signal, first HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *,
        lag(attempts) OVER in_time AS attempts_before,
        lag(n) OVER in_time AS n_before,
        lag(s) OVER in_time AS s_before
    FROM with_totals
    WHERE attempts > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY /* by names */ tool, /* end by */ signal ORDER BY first)
    UNION ALL
    SELECT *, NULL AS attempts_before, NULL AS n_before, NULL AS s_before
    FROM with_totals
    WHERE attempts <= 1 OR first IN (SELECT first FROM tied)
),
-- sums over clusters with the signal; of those without it, first how they differ from the totals of the same clusters
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        signal,
        sum(attempts) AS attempts,
        sum(n) AS n,
        sum(s) AS s,
        count(*) FILTER (WHERE n > 0) AS clusters,
        sum(s * s) AS ss,
        sum(s * n) AS sn,
        sum(n * n) AS nn,
        sum(s * s_before) AS ss_next,
        sum(s * n_before + n * s_before) AS sn_next,
        sum(n * n_before) AS nn_next,
        chained_clusters(n, attempts, n_before, attempts_before) AS effective_labelled,
        count(*) FILTER (WHERE t_n > 0 AND t_n = n) AS without_others,
        sum((t_s - s) * (t_s - s) - t_s * t_s) AS d_ss,
        sum((t_s - s) * (t_n - n) - t_s * t_n) AS d_sn,
        sum((t_n - n) * (t_n - n) - t_n * t_n) AS d_nn
    FROM in_order
    GROUP BY ALL
),
-- m attempts without the signal, r of them right
compared AS (
    SELECT *,
        max(CASE WHEN signal IS NULL THEN n END) OVER of_group - n AS m,
        max(CASE WHEN signal IS NULL THEN s END) OVER of_group - s AS r,
        max(CASE WHEN signal IS NULL THEN clusters END) OVER of_group - without_others AS other_clusters,
        max(CASE WHEN signal IS NULL THEN ss END) OVER of_group + d_ss AS rr,
        max(CASE WHEN signal IS NULL THEN sn END) OVER of_group + d_sn AS rm,
        max(CASE WHEN signal IS NULL THEN nn END) OVER of_group + d_nn AS mm,
        -- of neighbours with the signal and without: the attempts without it have no sums of their own
        max(CASE WHEN signal IS NULL THEN neighbour_effect(n, s, ss, sn, nn, ss_next, sn_next, nn_next) END) OVER of_group AS chain
    FROM counted
    WINDOW of_group AS (PARTITION BY /* by names */ tool, /* end by */ 1)
),
with_effective AS (
    SELECT *,
        s / nullif(n, 0) AS p,
        r / nullif(m, 0) AS q,
        chained_n(clusters, n, s, ss, sn, nn, ss_next, sn_next, nn_next) AS effective,
        effective_n(other_clusters, m, r, rr, rm, mm) / CASE WHEN mm > m THEN chain ELSE 1.0 END AS other_effective
    FROM compared
    WHERE signal IS NOT NULL
),
with_intervals AS (
    SELECT *,
        cluster_low(s, n, effective) AS p_low,
        cluster_high(s, n, effective) AS p_high,
        cluster_low(r, m, other_effective) AS q_low,
        cluster_high(r, m, other_effective) AS q_high
    FROM with_effective
)
SELECT
    /* by names */ tool, /* end by */
    signal,
    CAST(n AS BIGINT) AS n_with,
    CAST(m AS BIGINT) AS n_without,
    p AS accuracy_with,
    p_low AS with_low,
    p_high AS with_high,
    q AS accuracy_without,
    q_low AS without_low,
    q_high AS without_high,
    p - q AS difference,
    p - q - sqrt(power(p - p_low, 2) + power(q_high - q, 2)) AS low,
    p - q + sqrt(power(p_high - p, 2) + power(q - q_low, 2)) AS high,
    n / attempts AS labelled_share,
    cluster_low(n, attempts, effective_labelled) AS labelled_low,
    cluster_high(n, attempts, effective_labelled) AS labelled_high,
    CASE WHEN clusters < other_clusters THEN clusters ELSE other_clusters END AS clusters,
    greatest(coalesce(n / nullif(effective, 0), 1.0), coalesce(m / nullif(other_effective, 0), 1.0)) AS design_effect,
    too_few_draws(clusters, n, $min_n) OR too_few_draws(other_clusters, m, $min_n) AS too_few
FROM with_intervals
ORDER BY /* by names */ tool, /* end by */ difference DESC NULLS LAST, signal
