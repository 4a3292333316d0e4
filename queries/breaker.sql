-- What would a circuit breaker have prevented, and what good calls would it have blocked?
--
-- A breaker is replayed over the history, one for each group. It opens when so many finished attempts in a row have
-- failed (status 'error'), at the end of the last of them, and stays open for `recovery_s` seconds: what begins in
-- that time is blocked, and counts for nothing, as it would not have happened. The first attempt after it begins
-- afresh. Attempts are taken in the order in which they began; one that was running when the breaker opened is let
-- through and not counted for its state. One that did not finish passes, and changes nothing. What the agent would
-- have done with a refusal is not known: a blocked call may have been made later, or replaced by another tool's.
--
-- By code, status, day or hour no history is cut: the breaker of the whole history is replayed, and each attempt is
-- counted in its own group, with the trip that it made. The counts of the groups add up to those of the whole.
--
-- alias: circuit_breaker_simulation
-- by: tool (default), version, agent, conversation, attributes; code, status, day, hour
-- parameters:
--   since       timestamp = NULL  attempts that started at this time or later
--   until       timestamp = NULL  attempts that started before this time
--   tool        text = NULL       this tool only
--   threshold   positive = 3      number of consecutive failures that opens it
--   recovery_s  positive = 300    seconds that it stays open
--   min_n       integer = 20      a group of fewer attempts is marked too_few
-- columns:
--   attempts         count           finished attempts
--   failures         count           those with status 'error'
--   trips            count           how often it would have opened
--   would_block      count           finished attempts that it would have blocked
--   prevented        count           of those, failures
--   blocked_good     count           of those, attempts that did not fail
--   precision        share           prevented / would_block
--   low              low(precision)   95 % interval of precision
--   high             high(precision)  95 % interval of precision
--   prevented_share  share           prevented / failures
--   prevented_low    low(prevented_share)   95 % interval of prevented_share
--   prevented_high   high(prevented_share)  95 % interval of prevented_share
--   time_open_ms     ms              how long it would have been open, up to the last attempt in the window
--   saved_ms         ms              time that the prevented failures took
--   left_out         aside           attempts that did not finish
--   too_few          mark            attempts < min_n
-- source: a breaker that counts failures in a row and closes by itself after a time, as HelloAgents has; Wilson score
--   interval (Wilson 1927), z^2 = 3.841458820694124
WITH RECURSIVE scoped AS (
    SELECT
        /* by */ tool, /* end by */
        span_id,
        attempt,
        started_at,
        epoch_us(started_at) AS started_us,
        coalesce(known_ms(duration_ms), 0) AS duration_ms,
        is_finished(status, ending) AS finished,
        coalesce(status = 'error', false) AS failed
    FROM tool_calls
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
placed AS (
    SELECT *,
        row_number() OVER history AS place,
        first_value(span_id) OVER history AS breaker,
        max(started_us) OVER (PARTITION BY /* by history names */ tool, /* end by */ finished) AS last_started_us,
        count(CASE WHEN failed THEN 1 END) OVER in_a_row AS failed_in_a_row,
        first_value(started_us) OVER in_a_row AS row_started_us,
        started_us + CAST(1000 * duration_ms AS BIGINT) AS ended
    FROM scoped
    WINDOW history AS (
        PARTITION BY /* by history names */ tool, /* end by */ finished ORDER BY started_at, attempt, span_id
    ),
    in_a_row AS (
        PARTITION BY /* by history names */ tool, /* end by */ finished ORDER BY started_at, attempt, span_id
        ROWS BETWEEN $threshold - 1 PRECEDING AND CURRENT ROW
    )
),
-- attempts at which a closed breaker would open, if it had closed before the failures in a row began
ripe AS (
    SELECT
        breaker,
        span_id,
        row_started_us,
        ended AS opened,
        ended + 1000000 * least($recovery_s, 1000000000) AS closed,
        row_number() OVER (PARTITION BY breaker ORDER BY place) AS number
    FROM placed
    WHERE finished AND failed_in_a_row = $threshold
),
-- after each of them, the next: the first whose failures in a row all began after the breaker had closed again
steps AS (
    SELECT *, 1 + count(CASE WHEN begins THEN 1 END) OVER (
        PARTITION BY breaker ORDER BY moment, begins DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS next_number
    FROM (
        SELECT *, row_started_us AS moment, true AS begins FROM ripe
        UNION ALL
        SELECT *, closed AS moment, false AS begins FROM ripe
    ) AS moments
),
hops AS (
    SELECT breaker, number, next_number, span_id, opened, closed FROM steps WHERE NOT begins
),
trips AS (
    SELECT * FROM hops WHERE number = 1
    UNION ALL
    SELECT h.*
    FROM hops AS h
    JOIN trips AS t ON h.breaker = t.breaker AND h.number = t.next_number
),
replayed AS (
    SELECT
        p.*,
        t.opened,
        t.closed,
        max(t.opened) OVER earlier AS last_opened,
        max(t.closed) OVER earlier AS last_closed
    FROM placed AS p
    LEFT JOIN trips AS t ON t.span_id = p.span_id
    WINDOW earlier AS (
        PARTITION BY p.breaker ORDER BY p.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE finished AND failed) AS failures,
        count(opened) AS trips,
        count(*) FILTER (WHERE started_us BETWEEN last_opened AND last_closed) AS would_block,
        count(*) FILTER (WHERE started_us BETWEEN last_opened AND last_closed AND failed) AS prevented,
        coalesce(sum(greatest(least(closed, last_started_us) - opened, 0)), 0) / 1000.0 AS time_open_ms,
        coalesce(sum(duration_ms) FILTER (WHERE started_us BETWEEN last_opened AND last_closed AND failed), 0) AS saved_ms,
        count(*) FILTER (WHERE NOT finished) AS left_out
    FROM replayed
    GROUP BY ALL
)
SELECT
    /* by names */ tool, /* end by */
    attempts,
    failures,
    trips,
    would_block,
    prevented,
    would_block - prevented AS blocked_good,
    prevented / nullif(would_block, 0) AS precision,
    wilson_low(prevented, would_block) AS low,
    wilson_high(prevented, would_block) AS high,
    prevented / nullif(failures, 0) AS prevented_share,
    wilson_low(prevented, failures) AS prevented_low,
    wilson_high(prevented, failures) AS prevented_high,
    time_open_ms,
    saved_ms,
    left_out,
    attempts < $min_n AS too_few
FROM counted
ORDER BY prevented DESC, /* by names */ tool, /* end by */ attempts DESC
