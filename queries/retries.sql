-- What do retries cost, do they help, and are errors marked retryable correctly?
--
-- One row per group. Only finished attempts count as attempts. Those that were cancelled, abandoned, paused, declined or
-- expired are not retries and are counted in left_out; refused ones in refused. A call, with all its attempts, is counted
-- in the group and the window of its last finished attempt. Success is any status except 'error'.
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
-- content: backoff_violations, waits_asked, ignored_retry_after
-- hidden: retried
-- verdict: max(wasted_ms) {group} spends most on retries: {retried} of {calls:call} needed a retry, {recovered} of them
--   recovered, {wasted_ms} were spent on attempts that did not end the call.
-- next: query retry_storms --tool {tool}
-- source: backoff limits: Brooker 2015, Exponential Backoff and Jitter ("full jitter"); intervals: Wilson score
--   (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
-- reasoner: retries
-- order: wasted_ms desc, groups
SELECT
    {by},
    sum(calls) AS calls,
    count(*) FILTER (WHERE calls > 0) AS clusters_of_calls,
    sum(attempts) AS attempts,
    sum(retried) AS retried,
    sum(recovered) AS recovered,
    sum(gave_up) AS gave_up,
    sum(last_ms) AS last_ms,
    sum(earlier_ms) AS earlier_ms,
    sums(flagged_good, flagged_again) AS flag_precision,
    sums(flagged_good, known_good) AS flag_recall,
    sum(unflagged_again) AS unflagged_again,
    sum(flagged_last) AS flagged_not_retried,
    sum(gaps) AS gaps,
    sum(violations) AS backoff_violations,
    sum(zero_gaps) AS zero_gaps,
    sum(shrinking_gaps) AS shrinking_gaps,
    sum(waits_asked) AS waits_asked,
    sum(ignored) AS ignored_retry_after,
    sum(untimed) AS untimed,
    sum(left_out) AS left_out,
    sum(refused) AS refused
FROM (
    -- one row for each group and cluster
    SELECT
        {by},
        cluster,
        count(*) FILTER (WHERE ends_call) AS calls,
        sum(attempts_of_call) FILTER (WHERE ends_call) AS attempts,
        count(*) FILTER (WHERE ends_call AND attempts_of_call > 1) AS retried,
        count(*) FILTER (WHERE ends_call AND NOT failed AND failures_before > 0) AS recovered,
        count(*) FILTER (WHERE ends_call AND failed) AS gave_up,
        sum(ms) FILTER (WHERE ends_call) AS last_ms,
        sum(earlier_ms) AS earlier_ms,
        coalesce(sum(flagged_again), 0) AS flagged_again,
        coalesce(sum(flagged_good), 0) AS flagged_good,
        coalesce(sum(flagged_good + unflagged_good), 0) AS known_good,
        sum(unflagged_again) AS unflagged_again,
        count(*) FILTER (WHERE ends_call AND failed AND retryable) AS flagged_last,
        sum(gaps) AS gaps,
        sum(violations) AS violations,
        sum(zero_gaps) AS zero_gaps,
        sum(shrinking_gaps) AS shrinking_gaps,
        sum(waits_asked) AS waits_asked,
        sum(ignored) AS ignored,
        coalesce(sum(earlier_untimed), 0) + count(*) FILTER (WHERE ends_call AND ms IS NULL) AS untimed,
        count(*) FILTER (WHERE NOT finished AND coalesce(ending, '') <> 'refused') AS left_out,
        count(*) FILTER (WHERE ending = 'refused') AS refused
    FROM facts
    LEFT JOIN (
        -- one row for each call of several attempts: those before the one that ended it
        SELECT
            call_key AS call_number,
            count(*) FILTER (WHERE failed) AS failures_before,
            sum(ms) FILTER (WHERE finished) AS earlier_ms,
            count(*) FILTER (WHERE finished AND ms IS NULL) AS earlier_untimed,
            count(*) FILTER (WHERE failed AND retryable) AS flagged_again,
            count(*) FILTER (WHERE failed AND retryable AND succeeds = 1) AS flagged_good,
            count(*) FILTER (WHERE failed AND NOT retryable) AS unflagged_again,
            count(*) FILTER (WHERE failed AND NOT retryable AND succeeds = 1) AS unflagged_good,
            count(gap_us) AS gaps,
            count(*) FILTER (WHERE gap_us NOT BETWEEN -1e4 AND 1e4 + 1.1 * (limit_us + CASE WHEN wait_us BETWEEN 0 AND 1e15 THEN wait_us ELSE 0 END)) AS violations,
            count(*) FILTER (WHERE gap_us BETWEEN -1e4 AND 1e4) AS zero_gaps,
            count(*) FILTER (WHERE after_failure AND gap_us < gap_before_us - 1e4) AS shrinking_gaps,
            count(*) FILTER (WHERE wait_us BETWEEN 0 AND 1e15 AND gap_us IS NOT NULL) AS waits_asked,
            count(*) FILTER (WHERE wait_us BETWEEN 0 AND 1e15 AND gap_us < wait_us - 1e4) AS ignored
        FROM (
            SELECT call_key, finished, failed, ends_call, retryable, ms,
                max(CASE WHEN finished AND NOT failed THEN 1 ELSE 0 END) OVER later AS succeeds,
                CASE WHEN failed AND lead(finished) OVER in_order THEN lead(epoch_us(started_at)) OVER in_order - ended_us END AS gap_us,
                lag(failed) OVER in_order AS after_failure,
                epoch_us(started_at) - lag(ended_us) OVER in_order AS gap_before_us,
                1e6 * least($cap_s, $base_s * power(2, least(sum(CASE WHEN finished THEN 1 ELSE 0 END) OVER in_order, 61) - 1)) AS limit_us,
                CASE WHEN failed THEN 1e6 * try_cast(json_extract_string(stats, '$.retry_after_s') AS DOUBLE) END AS wait_us
            FROM facts
            WHERE is_repeated
            WINDOW
                in_order AS (PARTITION BY call_key ORDER BY call_order),
                later AS (PARTITION BY call_key ORDER BY call_order ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
        ) AS in_order
        WHERE NOT ends_call
        GROUP BY call_key
    ) AS earlier ON call_number = call_key AND ends_call
    WHERE {window}
    GROUP BY ALL
) AS clusters
GROUP BY ALL
