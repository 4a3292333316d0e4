-- What do retries cost, do they help, and did "retryable" tell the truth?
--
-- Only finished attempts are attempts here: one that was cancelled, abandoned, paused, declined or expired is no
-- retry, and is shown. A call is counted, with all that is in it, in the group of its last finished attempt. Only
-- attempts inside the window are seen. Success is any status but 'error'.
--
-- flag_precision: of the failed attempts that said retryable and were tried again, those whose call succeeded in a
-- later attempt. flag_recall: of the failed attempts that said yes or no, were tried again and whose call then
-- succeeded, those that had said yes. What nobody tries again cannot show that it would have succeeded: where no
-- attempt that said no was tried again there is no recall, and flag_recall_reason says so. Attempts of one call
-- are not independent: with many retries a call, the true intervals are wider.
--
-- A gap is the time from the end of a failed attempt to the start of the call's next; the first has k = 0. It should lie
-- within 0 and min(cap_s, base_s * 2^k) seconds, and on top of that what the tool was asked to wait (retry_after_s in its
-- stats). Forgiven are 10 ms at each end and a tenth above, for two clocks and a sleep that lasts longer than asked.
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since   timestamp = NULL  attempts that started at this time or later
--   until   timestamp = NULL  attempts that started before this time
--   tool    text = NULL       this tool only
--   min_n   integer = 20      a group of fewer calls is marked too_few
--   base_s  number = 1        longest gap before the first retry, in seconds; it doubles with each
--   cap_s   number = 60       longest gap before any retry, in seconds
-- columns:
--   calls                count                 calls with at least one finished attempt
--   attempts             count                 their finished attempts
--   amplification        ratio                 attempts / calls: 1 means that nothing was retried
--   retried              count                 calls with more than one attempt
--   recovered            count                 calls that failed first and succeeded in the end
--   gave_up              count                 calls whose last attempt failed
--   wasted_ms            ms                    time in attempts that did not end their call
--   wasted_share         share                 wasted_ms / time in all attempts: of time, not of attempts, and so without interval
--   flag_precision       share                 of flagged_retried, those whose call succeeded later
--   flag_low             low(flag_precision)   95 % interval of flag_precision
--   flag_high            high(flag_precision)  95 % interval of flag_precision
--   flagged_retried      aside                 failed attempts that said retryable and were tried again
--   flagged_not_retried  aside                 failed attempts that said retryable and were not: unseen by flag_precision
--   flag_recall          share                 of recall_n, those that had said retryable
--   recall_low           low(flag_recall)      95 % interval of flag_recall
--   recall_high          high(flag_recall)     95 % interval of flag_recall
--   recall_n             aside                 failed attempts that said yes or no, and whose call succeeded later
--   flag_recall_reason   text                  why there is no flag_recall
--   gaps                 aside                 gaps between a failed attempt and the next
--   backoff_violations   count                 gaps outside their limits
--   zero_gaps            aside                 gaps within 10 ms of nothing: no wait at all
--   shrinking_gaps       aside                 gaps shorter than the one before; random jitter makes some
--   waits_asked          aside                 gaps where the tool was asked to wait
--   ignored_retry_after  count                 of those, gaps shorter than asked
--   untimed              aside                 attempts without a duration: in no wasted_ms, and no gap begins at their end
--   left_out             aside                 attempts that did not finish
--   too_few              mark                  calls < min_n
-- source: backoff limits: Brooker 2015, Exponential Backoff and Jitter ("full jitter"); intervals: Wilson score
--   (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
WITH scoped AS (
    SELECT *,
        is_finished(status, ending) AS finished,
        coalesce(status = 'error' AND is_finished(status, ending), false) AS failed,
        known_ms(duration_ms) AS tool_ms,
        coalesce(known_ms(consumer_ms), 0) AS held_ms
    FROM tool_calls
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- the ids of more than one attempt: most calls are tried once, and need no order
multi_attempt_calls AS (
    SELECT call_id FROM scoped GROUP BY call_id HAVING count(*) > 1
),
-- the attempt end_span ended the call: its last finished one, or the last where none finished
ended AS (
    SELECT *, first_value(span_id) OVER (
        PARTITION BY call_key(tool, call_id, conversation_id, host, pid)
        ORDER BY finished DESC, started_at DESC, attempt DESC
    ) AS end_span
    FROM scoped
    WHERE call_id IN (SELECT call_id FROM multi_attempt_calls)
),
-- only calls of several attempts, in the order of time
chained AS (
    SELECT *,
        max(CASE WHEN finished THEN 1 ELSE 0 END) OVER later AS was_retried,
        max(CASE WHEN finished AND NOT failed THEN 1 ELSE 0 END) OVER later AS helped,
        lead(finished) OVER in_turn AS next_finished,
        epoch_us(lead(started_at) OVER in_turn) - epoch_us(started_at) - 1e3 * (tool_ms + held_ms) AS gap_us,
        lag(failed) OVER in_turn AS after_failure,
        epoch_us(started_at) - lag(epoch_us(started_at) + 1e3 * (tool_ms + held_ms)) OVER in_turn AS before_us,
        1e6 * least($cap_s, $base_s * power(2, least(row_number() OVER in_turn, 61) - 1)) AS limit_us,
        CASE WHEN failed THEN 1e6 * try_cast(json_extract_string(stats, '$.retry_after_s') AS DOUBLE) END AS asked_us
    FROM ended
    WHERE end_span IN (SELECT end_span FROM ended WHERE span_id <> end_span)
    WINDOW
        in_turn AS (PARTITION BY end_span ORDER BY started_at, attempt),
        later AS (PARTITION BY end_span ORDER BY started_at, attempt ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
),
several AS (
    SELECT
        end_span,
        count(*) FILTER (WHERE finished) AS tries,
        count(*) FILTER (WHERE NOT finished) AS unfinished,
        count(*) FILTER (WHERE failed) AS failures,
        count(*) FILTER (WHERE finished AND tool_ms IS NULL) AS untimed,
        sum(tool_ms) FILTER (WHERE finished) AS spent_ms,
        count(*) FILTER (WHERE failed AND was_retried = 1 AND retryable) AS yes_again,
        count(*) FILTER (WHERE failed AND helped = 1 AND retryable) AS yes_helped,
        count(*) FILTER (WHERE failed AND was_retried = 1 AND NOT retryable) AS no_again,
        count(*) FILTER (WHERE failed AND helped = 1 AND NOT retryable) AS no_helped,
        count(*) FILTER (WHERE failed AND retryable) AS yes_said,
        count(*) FILTER (WHERE failed AND next_finished AND gap_us IS NOT NULL) AS gaps,
        count(*) FILTER (WHERE failed AND next_finished AND (
            gap_us < -1e4 OR gap_us > 1e4 + 1.1 * (limit_us + CASE WHEN asked_us BETWEEN 0 AND 1e15 THEN asked_us ELSE 0 END)
        )) AS violations,
        count(*) FILTER (WHERE failed AND next_finished AND gap_us BETWEEN -1e4 AND 1e4) AS zero_gaps,
        count(*) FILTER (WHERE failed AND next_finished AND after_failure AND gap_us < before_us - 1e4) AS shrinking_gaps,
        count(*) FILTER (WHERE failed AND next_finished AND gap_us IS NOT NULL AND asked_us BETWEEN 0 AND 1e15) AS waits_asked,
        count(*) FILTER (WHERE failed AND next_finished AND asked_us BETWEEN 0 AND 1e15 AND gap_us < asked_us - 1e4) AS ignored
    FROM chained
    GROUP BY end_span
),
-- one row for each call: the attempt that ended it, and what is known of all
ends AS (
    SELECT
        e.*,
        coalesce(s.tries, CASE WHEN e.finished THEN 1 ELSE 0 END) AS tries,
        coalesce(s.unfinished, CASE WHEN e.finished THEN 0 ELSE 1 END) AS unfinished,
        coalesce(s.untimed, CASE WHEN e.finished AND e.tool_ms IS NULL THEN 1 ELSE 0 END) AS untimed,
        CASE WHEN s.tries IS NULL AND e.finished THEN e.tool_ms ELSE s.spent_ms END AS spent_ms,
        coalesce(s.yes_said, CASE WHEN e.failed AND e.retryable THEN 1 ELSE 0 END) AS yes_said,
        s.failures, s.yes_again, s.yes_helped, s.no_again, s.no_helped,
        s.gaps, s.violations, s.zero_gaps, s.shrinking_gaps, s.waits_asked, s.ignored
    FROM (
        SELECT * FROM scoped WHERE call_id NOT IN (SELECT call_id FROM multi_attempt_calls)
        UNION ALL
        SELECT * EXCLUDE (end_span) FROM ended WHERE span_id = end_span
    ) AS e
    LEFT JOIN several AS s ON s.end_span = e.span_id
),
counted AS (
    SELECT
        /* by */ tool, /* end by */
        count(*) FILTER (WHERE finished) AS calls,
        sum(tries) AS attempts,
        count(*) FILTER (WHERE tries > 1) AS retried,
        count(*) FILTER (WHERE failures > 0 AND finished AND NOT failed) AS recovered,
        count(*) FILTER (WHERE failed) AS gave_up,
        sum(spent_ms - coalesce(tool_ms, 0)) FILTER (WHERE finished) AS wasted_ms,
        sum(spent_ms) FILTER (WHERE finished) AS spent_ms,
        coalesce(sum(yes_again), 0) AS yes_again,
        coalesce(sum(yes_helped), 0) AS yes_helped,
        coalesce(sum(yes_said), 0) AS yes_said,
        coalesce(sum(no_again), 0) AS no_again,
        coalesce(sum(yes_helped + no_helped), 0) AS flagged_helped,
        coalesce(sum(gaps), 0) AS gaps,
        coalesce(sum(violations), 0) AS violations,
        coalesce(sum(zero_gaps), 0) AS zero_gaps,
        coalesce(sum(shrinking_gaps), 0) AS shrinking_gaps,
        coalesce(sum(waits_asked), 0) AS waits_asked,
        coalesce(sum(ignored), 0) AS ignored,
        sum(untimed) AS untimed,
        sum(unfinished) AS unfinished
    FROM ends
    GROUP BY ALL
),
with_intervals AS (
    SELECT *,
        CASE WHEN no_again > 0 AND flagged_helped > 0 THEN flagged_helped END AS recall_n
    FROM counted
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
    yes_helped / nullif(yes_again, 0) AS flag_precision,
    wilson_low(yes_helped, yes_again) AS flag_low,
    wilson_high(yes_helped, yes_again) AS flag_high,
    CAST(yes_again AS BIGINT) AS flagged_retried,
    CAST(yes_said - yes_again AS BIGINT) AS flagged_not_retried,
    yes_helped / recall_n AS flag_recall,
    wilson_low(yes_helped, recall_n) AS recall_low,
    wilson_high(yes_helped, recall_n) AS recall_high,
    CAST(flagged_helped AS BIGINT) AS recall_n,
    CASE WHEN no_again = 0 THEN '"not retryable" was never retried'
         WHEN flagged_helped = 0 THEN 'no retry succeeded' END AS flag_recall_reason,
    CAST(gaps AS BIGINT) AS gaps,
    CAST(violations AS BIGINT) AS backoff_violations,
    CAST(zero_gaps AS BIGINT) AS zero_gaps,
    CAST(shrinking_gaps AS BIGINT) AS shrinking_gaps,
    CAST(waits_asked AS BIGINT) AS waits_asked,
    CAST(ignored AS BIGINT) AS ignored_retry_after,
    CAST(coalesce(untimed, 0) AS BIGINT) AS untimed,
    CAST(coalesce(unfinished, 0) AS BIGINT) AS left_out,
    calls < $min_n AS too_few
FROM with_intervals
ORDER BY wasted_ms DESC NULLS LAST, /* by names */ tool, /* end by */ calls
