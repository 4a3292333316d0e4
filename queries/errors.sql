-- Which errors happen most often, since when, and are they worth a retry?
--
-- One row per code, type and kind of message in a group, the most frequent first. Messages are of one kind if they differ
-- only in quoted text, addresses, paths, ids and numbers; the first 500 characters are compared. Finished attempts with
-- status 'error' count.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 90 to 100 % of them (docs/explanation/coverage.md).
--
-- group: failures (first)
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 1       errors with fewer failed attempts are left out
--   rules  rules = 'all'     certain: errors that only a heuristic rule found are left out
-- columns:
--   code             text                   error code
--   type             text                   class of the exception, or the type that the response names
--   n                count                  failed attempts with the error
--   share            share                  n / all failed attempts in the window, including errors below min_n
--   share_low        low(share)             95 % interval of share
--   share_high       high(share)            95 % interval of share
--   first_seen       time                   start of the first attempt with the error
--   last_seen        time                   start of the last attempt with the error
--   retryable_share  share                  attempts that reported retryable / attempts that reported retryable or not; NULL if none did
--   retryable_low    low(retryable_share)   95 % interval of retryable_share
--   retryable_high   high(retryable_share)  95 % interval of retryable_share
--   unsaid           aside                  failed attempts that did not report whether they are retryable
--   example_call_id  text                   call of the last attempt with the error; tooltrace show prints it
--   message          text                   error message of the last attempt with the error, at most 500 characters
--   pattern          parts                  message with <text>, <url>, <path>, <id> and <n> for the parts that vary
--   clusters         count                  conversations with failed attempts in the window, or traces without a conversation
--   design_effect    ratio                  failed attempts for each independent one that share is as precise as
--   too_few          mark                   fewer than 20 failed attempts in the window, or they are from fewer than 5 clusters: read the interval, not the share
-- important: n, code, message, share, last_seen, type
-- verdict: max(n) The most frequent error is {code} of {group}: {n:failed attempt}, {share} of all, last with
--   {message}.
-- next: show {example_call_id}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
WITH failed AS (
    SELECT *,
        -- orders attempts by start, then by number; the limits keep it in 64 bits
        least(greatest(epoch_us(started_at), 0), 9007199254740991) * 1024 + least(greatest(coalesce(attempt, 0), 0), 1023) AS ordinal,
        left(error_message, 500) AS reported,
        message_pattern(left(error_message, 500)) AS pattern
    FROM attempts
    WHERE status = 'error'
      AND is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
      AND ($rules = 'all' OR coalesce(rule_grade, '') <> 'heuristic')
),
per_cluster AS (
    SELECT
        /* by */ tool, /* end by */
        /* unless by code */ code, /* end unless */
        error_type AS type,
        pattern,
        cluster_hash AS cluster,
        count(*) AS n,
        min(started_at) AS first_seen,
        max(started_at) AS last_seen,
        count(*) FILTER (WHERE retryable) AS retryable_n,
        count(retryable) AS flagged_n,
        max(ordinal) AS last_ordinal,
        arg_max(call_id, ordinal) AS last_call_id,
        arg_max(reported, ordinal) AS last_message
    FROM failed
    GROUP BY ALL
),
-- kind: a number of the error, faster to order by than its texts
numbered AS (
    SELECT *, text_key(row(/* by names */ tool, /* end by */ /* unless by code */ code, /* end unless */ type, pattern)) AS kind
    FROM per_cluster
),
-- one row per cluster; n: its failed attempts, of all errors
clusters AS (
    SELECT cluster, CAST(sum(n) AS DOUBLE) AS n, min(first_seen) AS first FROM numbered GROUP BY cluster
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM clusters WHERE n > 1 GROUP BY first HAVING count(*) > 1
),
-- place: of the clusters of several attempts in the order of time, because neighbours may be alike. Clusters without the
-- error have a place too
placed AS (
    SELECT cluster, n, row_number() OVER in_time AS place, lag(n) OVER in_time AS n_before, lead(n) OVER in_time AS n_after
    FROM clusters
    WHERE n > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (ORDER BY first)
    UNION ALL
    SELECT cluster, n, NULL AS place, NULL AS n_before, NULL AS n_after
    FROM clusters
    WHERE n <= 1 OR first IN (SELECT first FROM tied)
),
with_cluster AS (
    SELECT e.kind, e.n, e.flagged_n, e.retryable_n, c.n AS cluster_n, c.place, c.n_before AS cluster_before, c.n_after AS cluster_after
    FROM numbered AS e
    JOIN placed AS c ON c.cluster = e.cluster
),
in_order AS (
    SELECT *,
        CASE WHEN lag(place) OVER in_time = place - 1 THEN lag(n) OVER in_time END AS n_before,
        lag(flagged_n) OVER in_time AS flagged_before,
        lag(retryable_n) OVER in_time AS retryable_before
    FROM with_cluster
    WHERE place IS NOT NULL
    WINDOW in_time AS (PARTITION BY kind ORDER BY place)
    UNION ALL
    SELECT *, NULL AS n_before, NULL AS flagged_before, NULL AS retryable_before
    FROM with_cluster
    WHERE place IS NULL
),
sums AS (
    SELECT
        kind,
        chained_clusters(retryable_n, flagged_n, retryable_before, flagged_before) AS flagged_effective,
        sum(1.0 * n * n) AS ss,
        sum(n * cluster_n) AS sn,
        sum(n / cluster_n) AS clusters_n,
        coalesce(sum(1e0 * n * n_before), 0) AS ss_next,
        sum(1e0 * n * cluster_before) AS nn_next,
        coalesce(sum(1e0 * n * cluster_before), 0) + coalesce(sum(1e0 * n * cluster_after), 0) AS sn_next
    FROM in_order
    GROUP BY kind
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        /* unless by code */ code, /* end unless */
        type,
        pattern,
        kind,
        CAST(sum(n) AS BIGINT) AS n,
        min(first_seen) AS first_seen,
        max(last_seen) AS last_seen,
        CAST(sum(retryable_n) AS BIGINT) AS retryable_n,
        CAST(sum(flagged_n) AS BIGINT) AS flagged_n,
        arg_max(last_call_id, last_ordinal) AS example_call_id,
        arg_max(last_message, last_ordinal) AS message
    FROM numbered
    GROUP BY ALL
),
totals AS (
    SELECT *,
        CAST(sum(n) OVER () AS BIGINT) AS total,
        CAST(round(sum(clusters_n) OVER ()) AS BIGINT) AS clusters,
        sum(sn) OVER () AS nn,
        sum(nn_next) OVER () AS all_nn_next
    FROM (SELECT c.*, s.* EXCLUDE (kind) FROM counted AS c JOIN sums AS s ON s.kind = c.kind) AS with_sums
),
with_effect AS (
    SELECT *, chained_n(clusters, total, n, ss, sn, nn, ss_next, sn_next, all_nn_next) AS effective
    FROM totals
)
SELECT
    /* by names */ tool, /* end by */
    /* unless by code */ code, /* end unless */
    type,
    n,
    n / total AS share,
    cluster_low(n, total, effective) AS share_low,
    cluster_high(n, total, effective) AS share_high,
    first_seen,
    last_seen,
    retryable_n / nullif(flagged_n, 0) AS retryable_share,
    cluster_low(retryable_n, flagged_n, flagged_effective) AS retryable_low,
    cluster_high(retryable_n, flagged_n, flagged_effective) AS retryable_high,
    n - flagged_n AS unsaid,
    example_call_id,
    message,
    pattern,
    clusters,
    total / effective AS design_effect,
    too_few_draws(clusters, total, 20) AS too_few
FROM with_effect
WHERE n >= $min_n
ORDER BY n DESC, last_seen DESC, /* by names */ tool, /* end by */ code, type, pattern
