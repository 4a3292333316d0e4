-- What do retries cost, do they help, and are errors marked retryable correctly?
--
-- One row per group. Only finished attempts in the window count as attempts. Attempts that were cancelled, abandoned,
-- paused, declined or expired are not retries and are counted in left_out; refused ones in refused. A call, with all its attempts, is counted in the
-- group of its last finished attempt. Success is any status except 'error'.
--
-- flag_precision: of the failed attempts that reported retryable and were retried, the share whose call succeeded in a
-- later attempt. flag_recall: of the failed attempts that reported retryable or not retryable, were retried and whose call
-- then succeeded, the share that had reported retryable. An attempt that nobody retries cannot show that a retry would have
-- succeeded: if no attempt that reported not retryable was retried, flag_recall is NULL, and flag_recall_reason states why.
-- The intervals count conversations, not attempts: see design_effect.
--
-- A gap is the time from the end of a failed attempt to the start of the next attempt of the call. k is the number of finished
-- attempts before the failed one: the first gap has k = 0, also after an attempt that paused.
-- It should lie between 0 and min(cap_s, base_s * 2^k) seconds, plus the wait that the tool requested (retry_after_s in its
-- stats). The limits are extended by 10 ms at each end and by a tenth above, for two clocks and a sleep that lasts longer
-- than requested.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 97 % of them (docs/explanation/coverage.md).
--
-- group: costs (first)
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since   timestamp = NULL  attempts that started at this time or later
--   until   timestamp = NULL  attempts that started before this time
--   tool    text = NULL       this tool only
--   min_n   integer = 20      a group of fewer calls is marked too_few
--   base_s  number = 1        longest gap before the first retry, in seconds; it doubles with each retry
--   cap_s   number = 60       longest gap before any retry, in seconds
-- columns:
--   calls                count                 calls with at least one finished attempt
--   attempts             count                 finished attempts of these calls
--   amplification        ratio                 attempts / calls: 1 means that nothing was retried
--   retried              count                 calls with more than one finished attempt
--   recovered            count                 calls that failed first and succeeded in the end
--   gave_up              count                 calls whose last finished attempt failed
--   wasted_ms            ms                    time in attempts that did not end their call
--   wasted_share         share                 wasted_ms / time in all attempts; a share of time, and so without interval
--   flag_precision       share                 share of flagged_retried whose call succeeded later
--   flag_low             low(flag_precision)   95 % interval of flag_precision
--   flag_high            high(flag_precision)  95 % interval of flag_precision
--   flagged_retried      aside                 failed attempts that reported retryable and were retried
--   flagged_not_retried  aside                 failed attempts that reported retryable and were not retried; not covered by flag_precision
--   flag_recall          share                 share of recall_n that had reported retryable
--   recall_low           low(flag_recall)      95 % interval of flag_recall
--   recall_high          high(flag_recall)     95 % interval of flag_recall
--   recall_n             aside                 failed attempts that reported retryable or not, and whose call succeeded later
--   flag_recall_reason   text                  why flag_recall is NULL
--   gaps                 aside                 gaps between a failed attempt and the next
--   backoff_violations   count                 gaps outside their limits
--   zero_gaps            aside                 gaps of at most 10 ms: no wait
--   shrinking_gaps       aside                 gaps shorter than the previous one; random jitter causes some
--   waits_asked          aside                 gaps for which the tool requested a wait
--   ignored_retry_after  count                 gaps among waits_asked that are shorter than requested
--   untimed              aside                 attempts without a duration: not in wasted_ms, and no gap starts at their end
--   left_out             aside                 attempts that did not finish
--   refused              aside                 attempts left out: refused, the tool was not run
--   too_few              mark                  calls < min_n, or they are from fewer than 5 clusters
--   clusters             count                 conversations among flagged_retried, or traces without a conversation
--   design_effect        ratio                 flagged_retried for each independent one that flag_precision is as precise as
-- hidden: retried
-- verdict: max(wasted_ms) {group} spends most on retries: {retried} of {calls:call} needed a retry, {recovered} of them
--   recovered, {wasted_ms} were spent on attempts that did not end the call.
-- next: query retry_storms --tool {tool}
-- source: backoff limits: Brooker 2015, Exponential Backoff and Jitter ("full jitter"); intervals: Wilson score
--   (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
WITH scoped AS NOT MATERIALIZED (  -- read again where it is used: a copy of these columns would cost more
    SELECT *,
        call_hash AS call_number,
        is_finished(status, ending) AS finished,
        coalesce(ending = 'refused', false) AS refused,
        coalesce(status = 'error' AND is_finished(status, ending), false) AS failed,
        known_ms(duration_ms) AS tool_ms,
        coalesce(known_ms(consumer_ms), 0) AS waited_ms
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- the attempts of calls with several, in order of time. end_span: the attempt that ended the call, its last finished one, or
-- its last one if none finished
chained AS (
    SELECT *,
        coalesce(last_value(CASE WHEN finished THEN span_id END IGNORE NULLS) OVER of_call, last_value(span_id) OVER of_call) AS end_span,
        max(CASE WHEN finished THEN 1 ELSE 0 END) OVER later AS was_retried,
        max(CASE WHEN finished AND NOT failed THEN 1 ELSE 0 END) OVER later AS succeeded_later,
        lead(finished) OVER in_order AS next_finished,
        epoch_us(lead(started_at) OVER in_order) - epoch_us(started_at) - 1e3 * (tool_ms + waited_ms) AS gap_us,
        lag(failed) OVER in_order AS after_failure,
        epoch_us(started_at) - lag(epoch_us(started_at) + 1e3 * (tool_ms + waited_ms)) OVER in_order AS previous_gap_us,
        1e6 * least($cap_s, $base_s * power(2, least(count(CASE WHEN finished THEN 1 END) OVER in_order, 61) - 1)) AS limit_us,
        CASE WHEN failed THEN 1e6 * try_cast(json_extract_string(stats, '$.retry_after_s') AS DOUBLE) END AS requested_us
    FROM scoped
    WHERE call_number IN (SELECT call_hash FROM repeated_calls)
    WINDOW
        in_order AS (PARTITION BY call_number ORDER BY attempt_order(attempt, started_at, span_id)),
        of_call AS (
            PARTITION BY call_number ORDER BY attempt_order(attempt, started_at, span_id)
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ),
        later AS (
            PARTITION BY call_number ORDER BY attempt_order(attempt, started_at, span_id)
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        )
),
call_totals AS (
    SELECT
        call_number,
        count(*) FILTER (WHERE finished) AS attempts_n,
        count(*) FILTER (WHERE NOT finished AND NOT refused) AS unfinished,
        count(*) FILTER (WHERE refused) AS refused_n,
        count(*) FILTER (WHERE failed) AS failures,
        count(*) FILTER (WHERE finished AND tool_ms IS NULL) AS untimed,
        sum(tool_ms) FILTER (WHERE finished) AS spent_ms,
        count(*) FILTER (WHERE failed AND was_retried = 1 AND retryable) AS flagged_again,
        count(*) FILTER (WHERE failed AND succeeded_later = 1 AND retryable) AS flagged_good,
        count(*) FILTER (WHERE failed AND was_retried = 1 AND NOT retryable) AS unflagged_again,
        count(*) FILTER (WHERE failed AND succeeded_later = 1 AND NOT retryable) AS unflagged_good,
        count(*) FILTER (WHERE failed AND retryable) AS flagged,
        count(*) FILTER (WHERE failed AND next_finished AND gap_us IS NOT NULL) AS gaps,
        count(*) FILTER (WHERE failed AND next_finished AND (
            gap_us < -1e4 OR gap_us > 1e4 + 1.1 * (limit_us + CASE WHEN requested_us BETWEEN 0 AND 1e15 THEN requested_us ELSE 0 END)
        )) AS violations,
        count(*) FILTER (WHERE failed AND next_finished AND gap_us BETWEEN -1e4 AND 1e4) AS zero_gaps,
        count(*) FILTER (WHERE failed AND next_finished AND after_failure AND gap_us < previous_gap_us - 1e4) AS shrinking_gaps,
        count(*) FILTER (WHERE failed AND next_finished AND gap_us IS NOT NULL AND requested_us BETWEEN 0 AND 1e15) AS waits_asked,
        count(*) FILTER (WHERE failed AND next_finished AND requested_us BETWEEN 0 AND 1e15 AND gap_us < requested_us - 1e4) AS ignored
    FROM chained
    GROUP BY call_number
),
-- the attempts that ended these calls, with the totals of all attempts
repeated_ends AS (
    SELECT
        /* by */ tool, /* end by */
        cluster_hash AS cluster,
        started_at,
        finished,
        failed,
        tool_ms,
        attempts_n, unfinished, refused_n, failures, untimed, spent_ms, flagged_again, flagged_good, unflagged_again, unflagged_good, flagged,
        gaps, violations, zero_gaps, shrinking_gaps, waits_asked, ignored
    FROM (SELECT c.*, t.* EXCLUDE (call_number) FROM chained AS c JOIN call_totals AS t ON t.call_number = c.call_number) AS with_totals
    WHERE span_id = end_span
),
-- grp: a number of the group
repeated_clusters AS (
    SELECT
        /* by names */ tool, /* end by */
        text_key(row(/* by names */ tool, /* end by */ 1)) AS grp,
        cluster,
        min(started_at) AS first,
        count(*) FILTER (WHERE finished) AS calls,
        sum(attempts_n) AS attempts,
        count(*) FILTER (WHERE attempts_n > 1) AS retried,
        count(*) FILTER (WHERE failures > 0 AND finished AND NOT failed) AS recovered,
        count(*) FILTER (WHERE failed) AS gave_up,
        sum(spent_ms - coalesce(tool_ms, 0)) FILTER (WHERE finished) AS wasted_ms,
        sum(spent_ms) FILTER (WHERE finished) AS spent_ms,
        sum(flagged_again) AS flagged_again,
        sum(flagged_good) AS flagged_good,
        sum(flagged) AS flagged,
        sum(unflagged_again) AS unflagged_again,
        sum(flagged_good + unflagged_good) AS known_good,
        sum(gaps) AS gaps,
        sum(violations) AS violations,
        sum(zero_gaps) AS zero_gaps,
        sum(shrinking_gaps) AS shrinking_gaps,
        sum(waits_asked) AS waits_asked,
        sum(ignored) AS ignored,
        sum(untimed) AS untimed,
        sum(unfinished) AS unfinished,
        sum(refused_n) AS refused
    FROM repeated_ends
    GROUP BY ALL
),
single_ends AS NOT MATERIALIZED (
    SELECT /* by */ tool, /* end by */ cluster_hash AS cluster, started_at, finished, refused, failed, retryable, tool_ms
    FROM scoped
    WHERE call_number NOT IN (SELECT call_hash FROM repeated_calls)
),
-- most calls have one attempt, and add to the sums of the group alone
single_totals AS (
    SELECT
        /* by names */ tool, /* end by */
        count(*) FILTER (WHERE finished) AS calls,
        count(*) FILTER (WHERE failed) AS gave_up,
        CASE WHEN count(tool_ms) FILTER (WHERE finished) > 0 THEN 0.0 END AS wasted_ms,
        sum(tool_ms) FILTER (WHERE finished) AS spent_ms,
        count(*) FILTER (WHERE failed AND retryable) AS flagged,
        count(*) FILTER (WHERE finished AND tool_ms IS NULL) AS untimed,
        count(*) FILTER (WHERE NOT finished AND NOT refused) AS unfinished,
        count(*) FILTER (WHERE refused) AS refused_n
    FROM single_ends
    GROUP BY ALL
),
-- their clusters: how many there are, and when each started
single_clusters AS (
    SELECT grp, cluster, min(started_at) AS first, bool_or(finished) AS has_calls
    FROM (
        SELECT text_key(row(/* by names */ tool, /* end by */ 1)) AS grp, cluster, started_at, finished
        FROM single_ends
    ) AS numbered
    GROUP BY grp, cluster
),
cluster_counts AS (
    SELECT grp, count(*) AS clusters_of_calls
    FROM (
        SELECT grp, cluster FROM single_clusters WHERE has_calls
        UNION
        SELECT grp, cluster FROM repeated_clusters WHERE calls > 0
    ) AS clusters_of_both
    GROUP BY grp
),
-- the clusters with several retried attempts, whose neighbours in time may be alike
several AS (
    SELECT r.grp, r.cluster, least(r.first, coalesce(s.first, r.first)) AS first, r.flagged_again, r.flagged_good, r.known_good
    FROM repeated_clusters AS r
    LEFT JOIN single_clusters AS s ON s.grp = r.grp AND s.cluster = r.cluster
    WHERE r.known_good > 1 OR r.flagged_again > 1
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM several GROUP BY grp, first HAVING count(*) > 1
),
-- each of these clusters with the one before it
neighbours AS (
    SELECT grp, cluster,
        lag(flagged_again) OVER in_time AS again_before,
        lag(flagged_good) OVER in_time AS good_before,
        lag(known_good) OVER in_time AS known_before
    FROM several
    WHERE first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY grp ORDER BY first)
),
counted_rows AS (
    SELECT r.* EXCLUDE (cluster, first), n.again_before, n.good_before, n.known_before
    FROM repeated_clusters AS r
    LEFT JOIN neighbours AS n ON n.grp = r.grp AND n.cluster = r.cluster
    UNION ALL
    SELECT /* by names */ tool, /* end by */ text_key(row(/* by names */ tool, /* end by */ 1)) AS grp, calls, calls AS attempts,
        0 AS retried, 0 AS recovered, gave_up, wasted_ms, spent_ms, 0 AS flagged_again, 0 AS flagged_good, flagged,
        0 AS unflagged_again, 0 AS known_good, 0 AS gaps, 0 AS violations, 0 AS zero_gaps, 0 AS shrinking_gaps, 0 AS waits_asked,
        0 AS ignored, untimed, unfinished, refused_n AS refused, NULL AS again_before, NULL AS good_before, NULL AS known_before
    FROM single_totals
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        grp,
        CAST(coalesce(sum(calls), 0) AS BIGINT) AS calls,
        sum(attempts) AS attempts,
        CAST(coalesce(sum(retried), 0) AS BIGINT) AS retried,
        CAST(coalesce(sum(recovered), 0) AS BIGINT) AS recovered,
        CAST(coalesce(sum(gave_up), 0) AS BIGINT) AS gave_up,
        sum(wasted_ms) AS wasted_ms,
        sum(spent_ms) AS spent_ms,
        coalesce(sum(flagged_again), 0) AS flagged_again,
        coalesce(sum(flagged_good), 0) AS flagged_good,
        coalesce(sum(flagged), 0) AS flagged,
        coalesce(sum(unflagged_again), 0) AS unflagged_again,
        coalesce(sum(known_good), 0) AS known_good,
        coalesce(sum(gaps), 0) AS gaps,
        coalesce(sum(violations), 0) AS violations,
        coalesce(sum(zero_gaps), 0) AS zero_gaps,
        coalesce(sum(shrinking_gaps), 0) AS shrinking_gaps,
        coalesce(sum(waits_asked), 0) AS waits_asked,
        coalesce(sum(ignored), 0) AS ignored,
        sum(untimed) AS untimed,
        sum(unfinished) AS unfinished,
        sum(refused) AS refused,
        count(*) FILTER (WHERE flagged_again > 0) AS clusters,
        chained_clusters(flagged_good, flagged_again, good_before, again_before) AS precision_effective,
        chained_clusters(flagged_good, known_good, good_before, known_before) AS recall_effective
    FROM counted_rows
    GROUP BY ALL
),
with_intervals AS (
    SELECT c.* EXCLUDE (grp), coalesce(u.clusters_of_calls, 0) AS clusters_of_calls,
        CASE WHEN unflagged_again > 0 AND known_good > 0 THEN known_good END AS recall_n
    FROM counted AS c
    LEFT JOIN cluster_counts AS u ON u.grp = c.grp
)
SELECT
    /* by names */ tool, /* end by */
    calls,
    CAST(coalesce(attempts, 0) AS BIGINT) AS attempts,
    attempts / nullif(calls, 0) AS amplification,
    retried,
    recovered,
    gave_up,
    wasted_ms,
    wasted_ms / nullif(spent_ms, 0) AS wasted_share,
    flagged_good / nullif(flagged_again, 0) AS flag_precision,
    cluster_low(flagged_good, flagged_again, precision_effective) AS flag_low,
    cluster_high(flagged_good, flagged_again, precision_effective) AS flag_high,
    CAST(flagged_again AS BIGINT) AS flagged_retried,
    CAST(flagged - flagged_again AS BIGINT) AS flagged_not_retried,
    flagged_good / recall_n AS flag_recall,
    CASE WHEN recall_n > 0 THEN cluster_low(flagged_good, recall_n, recall_effective) END AS recall_low,
    CASE WHEN recall_n > 0 THEN cluster_high(flagged_good, recall_n, recall_effective) END AS recall_high,
    CAST(known_good AS BIGINT) AS recall_n,
    CASE WHEN unflagged_again = 0 THEN '"not retryable" was never retried'
         WHEN known_good = 0 THEN 'no retry succeeded' END AS flag_recall_reason,
    CAST(gaps AS BIGINT) AS gaps,
    CAST(violations AS BIGINT) AS backoff_violations,
    CAST(zero_gaps AS BIGINT) AS zero_gaps,
    CAST(shrinking_gaps AS BIGINT) AS shrinking_gaps,
    CAST(waits_asked AS BIGINT) AS waits_asked,
    CAST(ignored AS BIGINT) AS ignored_retry_after,
    CAST(coalesce(untimed, 0) AS BIGINT) AS untimed,
    CAST(coalesce(unfinished, 0) AS BIGINT) AS left_out,
    CAST(coalesce(refused, 0) AS BIGINT) AS refused,
    too_few_draws(clusters_of_calls, calls, $min_n) AS too_few,
    clusters,
    flagged_again / nullif(precision_effective, 0) AS design_effect
FROM with_intervals
ORDER BY wasted_ms DESC NULLS LAST, /* by names */ tool, /* end by */ calls
