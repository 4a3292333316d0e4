-- When did retries and failures rise together?
--
-- One row per time window in which attempts finished, in order. A retry is a finished attempt that is not the first of its
-- call. Attempts that were cancelled, abandoned, paused, declined or expired are counted separately. Attempts before the
-- requested time are ignored: a retry of such an attempt counts as the first attempt of its call.
--
-- rising: the failure rate of a window is compared with that of all other windows of its group. Among many windows some are
-- high by chance, so rise_p is multiplied by the number of windows (Bonferroni). Attempts of one conversation (without one,
-- of one trace) within a window are alike: the test and the intervals count independent attempts.
--
-- Measured on simulated histories with constant rates and up to three attempts per call, 5 to 200 conversations with an
-- intraclass correlation of up to 0.5, in windows of 1 hour to 1 day: at most 5 of 100 histories had a rising window
-- (docs/explanation/coverage.md).
--
-- group: costs
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since     timestamp = NULL  attempts that started at this time or later
--   until     timestamp = NULL  attempts that started before this time
--   tool      text = NULL       this tool only
--   min_n     integer = 20      a window of fewer attempts is marked too_few
--   window_s  positive = 300    seconds that a window lasts; windows are counted from 1970 on
-- columns:
--   window        time                start of the window
--   attempts      count               finished attempts that started in it
--   retries       count               finished attempts that are not the first of their call
--   retry_share   share               retries / attempts
--   retry_low     low(retry_share)    95 % interval of retry_share
--   retry_high    high(retry_share)   95 % interval of retry_share
--   failures      count               finished attempts with status 'error'
--   failure_rate  share               failures / attempts
--   failure_low   low(failure_rate)   95 % interval of failure_rate
--   failure_high  high(failure_rate)  95 % interval of failure_rate
--   rising        flag                many retries (retry_share > 10 %) and more failures than in other windows (rise_p < 0.05); NULL if there is no other window
--   base_rate     number              failures / attempts of all other windows of the group; NULL if there is none
--   rise_p        number              probability that any window has as many failures at a constant rate, at most 1
--   left_out      aside               attempts that did not finish
--   refused       aside               attempts left out: refused, the tool was not run
--   clusters      count               conversations (or traces, or attempts) that the attempts of the window belong to
--   design_effect ratio               attempts / independent attempts that failure_rate would be equally certain with
--   too_few       mark                attempts < min_n, or fewer than 5 clusters of several attempts
-- important: window, retries, retry_share, rising, failures, attempts
-- hidden: retries
-- verdict: max(retry_share) {group} retried most in the window from {window}: {retry_share} of {attempts:attempt}
--   were retries, {failure_rate} failed.
-- next: query retries --tool {tool}
-- source: a tenth: the retry budget of Site Reliability Engineering (Beyer and others 2016), chapter 21; rise_p: Fisher's exact
--   test (1935), mid-p (Lancaster 1961), its tail bounded by a geometric sequence, with effective counts (Rao and Scott
--   1992); intervals: Wilson score (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124, with the effective number
--   of attempts of Korn and Graubard 1998
WITH scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    SELECT *,
        is_finished(status, ending) AS finished,
        coalesce(ending = 'refused', false) AS refused
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
numbered AS (
    SELECT *, cluster_hash AS cluster, 1 AS attempt_no
    FROM scoped
    WHERE call_hash NOT IN (SELECT call_hash FROM repeated_calls)
    UNION ALL
    SELECT *,
        text_key(draw_key(conversation_id, min(trace_id) OVER (PARTITION BY call_hash))) AS cluster,
        row_number() OVER (
            PARTITION BY call_hash
            ORDER BY finished DESC, attempt_order(attempt, started_at, span_id)
        ) AS attempt_no
    FROM scoped
    WHERE call_hash IN (SELECT call_hash FROM repeated_calls)
),
-- the attempts of a conversation in a window: n of them, f failed, r were retries
clustered AS (
    SELECT
        /* by */ tool, /* end by */
        floor(epoch_us(started_at) / (1e6 * $window_s)) * $window_s AS window_started_s,
        cluster,
        min(started_at) FILTER (WHERE finished) AS first,
        CAST(count(*) FILTER (WHERE finished) AS DOUBLE) AS n,
        CAST(count(*) FILTER (WHERE finished AND status = 'error') AS DOUBLE) AS f,
        CAST(count(*) FILTER (WHERE finished AND attempt_no > 1) AS DOUBLE) AS r,
        count(*) FILTER (WHERE NOT finished AND NOT refused) AS left_out,
        count(*) FILTER (WHERE refused) AS refused
    FROM numbered
    GROUP BY ALL
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM clustered WHERE n > 1 GROUP BY /* by names */ tool, /* end by */ window_started_s, first HAVING count(*) > 1
),
-- each cluster of several attempts with the one before it: neighbours in time may be alike
in_order AS (
    SELECT *,
        lag(n) OVER in_time AS n_before,
        lag(f) OVER in_time AS f_before,
        lag(r) OVER in_time AS r_before
    FROM clustered
    WHERE n > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY /* by names */ tool, /* end by */ window_started_s ORDER BY first)
    UNION ALL
    SELECT *, NULL AS n_before, NULL AS f_before, NULL AS r_before
    FROM clustered
    WHERE n <= 1 OR first IN (SELECT first FROM tied)
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        window_started_s,
        count(*) FILTER (WHERE n > 0) AS clusters,
        sum(n) AS n,
        sum(f) AS f,
        sum(r) AS r,
        sum(n * n) AS nn,
        sum(f * f) AS ff,
        sum(f * n) AS fn,
        sum(r * r) AS rr,
        sum(r * n) AS rn,
        sum(n * n_before) AS nn_next,
        sum(f * f_before) AS ff_next,
        sum(f * n_before + n * f_before) AS fn_next,
        sum(r * r_before) AS rr_next,
        sum(r * n_before + n * r_before) AS rn_next,
        CAST(sum(left_out) AS BIGINT) AS left_out,
        CAST(sum(refused) AS BIGINT) AS refused
    FROM in_order
    GROUP BY ALL
    HAVING sum(n) > 0
),
-- the other windows of the group: the same sums, with the prefix o_
with_others AS (
    SELECT *,
        count(*) OVER of_group AS windows,
        sum(clusters) OVER of_group - clusters AS o_clusters,
        sum(n) OVER of_group - n AS o_n,
        sum(f) OVER of_group - f AS o_f,
        sum(nn) OVER of_group - nn AS o_nn,
        sum(ff) OVER of_group - ff AS o_ff,
        sum(fn) OVER of_group - fn AS o_fn
    FROM counted
    WINDOW of_group AS (PARTITION BY /* by names */ tool, /* end by */ 1)
),
with_effective AS (
    SELECT *,
        chained_n(clusters, n, f, ff, fn, nn, ff_next, fn_next, nn_next) AS effective,
        chained_n(clusters, n, r, rr, rn, nn, rr_next, rn_next, nn_next) AS effective_retries,
        CASE WHEN o_n > 0 THEN o_n / effective_n(o_clusters, o_n, o_f, o_ff, o_fn, o_nn) END AS o_effect
    FROM with_others
),
-- the correlation within conversations is that of the other windows: a storm in this one does not raise it
with_effect AS (
    SELECT *,
        1 + (nn / n - 1) * CASE WHEN o_nn > o_n THEN least(1.0, (o_effect - 1) / (o_nn / o_n - 1)) ELSE 0.0 END AS effect
    FROM with_effective
),
-- independent attempts of the window and of the others, and failures among them
independent AS (
    SELECT *,
        n / effect AS n_1,
        f / effect AS f_1,
        o_n / o_effect AS n_2,
        o_f / o_effect AS f_2
    FROM with_effect
),
-- log_p: logarithm of the hypergeometric probability of exactly these failures; ratio: that of one more to it
tested AS (
    SELECT *,
        lgamma(n_1 + 1) - lgamma(f_1 + 1) - lgamma(n_1 - f_1 + 1) + lgamma(n_2 + 1) - lgamma(f_2 + 1) - lgamma(n_2 - f_2 + 1)
            - lgamma(n_1 + n_2 + 1) + lgamma(f_1 + f_2 + 1) + lgamma(n_1 - f_1 + n_2 - f_2 + 1) AS log_p,
        (n_1 - f_1) / (f_1 + 1) * f_2 / (n_2 - f_2 + 1) AS ratio
    FROM independent
),
with_test AS (
    SELECT *,
        CASE WHEN o_n > 0 THEN least(1.0, CASE WHEN ratio < 1 AND f / n > o_f / o_n
            THEN windows * exp(log_p) * (1 / (1 - ratio) - 0.5) ELSE 1.0 END) END AS rise_p
    FROM tested
)
SELECT
    /* by names */ tool, /* end by */
    TIMESTAMP '1970-01-01 00:00:00' + to_seconds(CAST(window_started_s AS BIGINT)) AS "window",
    CAST(n AS BIGINT) AS attempts,
    CAST(r AS BIGINT) AS retries,
    r / n AS retry_share,
    cluster_low(r, n, effective_retries) AS retry_low,
    cluster_high(r, n, effective_retries) AS retry_high,
    CAST(f AS BIGINT) AS failures,
    f / n AS failure_rate,
    cluster_low(f, n, effective) AS failure_low,
    cluster_high(f, n, effective) AS failure_high,
    r / n > 0.1 AND rise_p < 0.05 AS rising,
    o_f / nullif(o_n, 0) AS base_rate,
    rise_p,
    left_out,
    refused,
    clusters,
    n / effective AS design_effect,
    too_few_draws(clusters, n, $min_n) AS too_few
FROM with_test
ORDER BY /* by names */ tool, /* end by */ "window"
