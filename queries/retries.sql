-- What do retries cost, and do they help?
--
-- Plain counts over calls. Only finished attempts are attempts here: one that was cancelled, abandoned, paused,
-- declined or expired is no retry, and is shown. A call is counted in the group of its last finished attempt.
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer calls is marked too_few
-- columns:
--   calls          count  calls with at least one finished attempt
--   attempts       count  their finished attempts
--   amplification  ratio  attempts / calls: 1 is no retry at all
--   retried        count  calls with more than one attempt
--   recovered      count  calls that failed first and succeeded in the end
--   gave_up        count  calls whose last attempt failed
--   wasted_ms      ms     time in attempts that did not end their call
--   wasted_share   share  wasted_ms / time in all attempts
--   left_out       aside  attempts that did not finish
--   too_few        mark   calls < min_n
WITH seen AS (
    SELECT *,
        status IS NOT NULL AND ending IN ('returned', 'raised') AS finished,
        CASE WHEN conversation_id IS NULL THEN host END AS of_host,
        CASE WHEN conversation_id IS NULL THEN pid END AS of_pid
    FROM tool_calls
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
ranked AS (
    SELECT *,
        row_number() OVER (
            PARTITION BY call_id, tool, conversation_id, of_host, of_pid, finished
            ORDER BY started_at DESC, attempt DESC
        ) AS from_last,
        count(*) OVER whole AS tries,
        count(*) FILTER (WHERE status = 'error') OVER whole AS failures,
        sum(duration_ms) OVER whole AS spent_ms
    FROM seen
    WINDOW whole AS (PARTITION BY call_id, tool, conversation_id, of_host, of_pid, finished)
)
-- one row for each call: its last finished attempt; and one for what it left unfinished
SELECT
    /* by */ tool, /* end by */
    count(*) FILTER (WHERE finished) AS calls,
    coalesce(CAST(sum(tries) FILTER (WHERE finished) AS BIGINT), 0) AS attempts,
    sum(tries) FILTER (WHERE finished) / nullif(count(*) FILTER (WHERE finished), 0) AS amplification,
    count(*) FILTER (WHERE finished AND tries > 1) AS retried,
    count(*) FILTER (WHERE finished AND failures > 0 AND status <> 'error') AS recovered,
    count(*) FILTER (WHERE finished AND status = 'error') AS gave_up,
    sum(spent_ms - coalesce(duration_ms, 0)) FILTER (WHERE finished) AS wasted_ms,
    sum(spent_ms - coalesce(duration_ms, 0)) FILTER (WHERE finished)
        / nullif(sum(spent_ms) FILTER (WHERE finished), 0) AS wasted_share,
    coalesce(CAST(sum(tries) FILTER (WHERE NOT finished) AS BIGINT), 0) AS left_out,
    count(*) FILTER (WHERE finished) < $min_n AS too_few
FROM ranked
WHERE from_last = 1
GROUP BY ALL
ORDER BY wasted_ms DESC NULLS LAST, /* by names */ tool, /* end by */ calls
