-- What would a circuit breaker have prevented, and which successful calls would it have blocked?
--
-- One row per group. A circuit breaker is replayed over the history of each group. It opens when `failure_threshold` finished
-- attempts in a row have failed (status 'error'), at the end of the last of them, and stays open for `recovery_timeout` seconds.
-- Attempts that start while it is open are blocked, and do not affect its state because they would not have run. The first
-- attempt after it closes starts a new count. Attempts are ordered by start time. An attempt that was already running when
-- the breaker opened is let through and does not affect its state. An attempt that did not finish is let through and
-- changes nothing. The replay does not know what the agent would have done after a refusal: it may have repeated a blocked
-- call later, or used another tool. Calls that a breaker at run time refused are left out. The parameters are those of
-- tt.CircuitBreaker, and so are their defaults.
--
-- The column recommended has values for these parameters. Thresholds of 3, 5 and 10 and timeouts of 60, 300 and 1800 seconds are
-- replayed too. Of those that would help, the query takes the one with the most prevented failures minus blocked good attempts.
-- A breaker would help if the lower limit of its precision, with trips as clusters, is above 50 % and above the upper
-- limit of the failure rate of the attempts that it lets through, or if every attempt failed. Failures that are independent of each
-- other are no reason for a breaker, however many they are.
--
-- At run time, an error that is not retryable is not counted as a failure, and after the timeout one call is a probe that opens
-- the breaker again if it fails; the replay counts from 0. A breaker counts attempts, not conversations; the intervals count
-- conversations, and their coverage was not measured.
-- Measured on simulated histories: of 1,080 tools whose failures are independent, at rates of 5 to 95 %, a breaker was recommended for 3.
--
-- Grouped by code, status, day or hour, the history is not split: one breaker is replayed over the whole history, and each
-- attempt, with the trip that it caused, is counted in its own group. The counts of the groups add up to those of the whole
-- history.
--
-- group: failures
-- by: tool (default), version, agent, model, release, environment, conversation, attributes; code, status, rule, rule_grade, day, hour
-- parameters:
--   since              timestamp = NULL  attempts that started at this time or later
--   until              timestamp = NULL  attempts that started before this time
--   tool               text = NULL       this tool only
--   failure_threshold  positive = 3      number of consecutive failures that opens the breaker
--   recovery_timeout   positive = 300    seconds that the breaker stays open
--   min_n              integer = 20      a group of fewer attempts is marked too_few
-- columns:
--   attempts         count           finished attempts
--   failures         count           finished attempts with status 'error'
--   trips            count           number of times that the breaker would have opened
--   would_block      count           finished attempts that the breaker would have blocked
--   prevented        count           failures among would_block
--   blocked_good     count           attempts among would_block that did not fail
--   precision        share           prevented / would_block
--   low              low(precision)   95 % interval of precision
--   high             high(precision)  95 % interval of precision
--   prevented_share  share           prevented / failures
--   prevented_low    low(prevented_share)   95 % interval of prevented_share
--   prevented_high   high(prevented_share)  95 % interval of prevented_share
--   time_open_ms     ms              time that the breaker would have been open, until the last attempt in the window
--   saved_ms         ms              time spent in the prevented failures
--   left_out         aside           attempts that did not finish
--   refused          aside           attempts left out: refused, the tool was not run
--   recommended      text             numbers for tt.CircuitBreaker; none: no breaker of those compared would help; NULL: fewer than min_n attempts
--   recommended_prevented     count   failures that the recommended breaker would have prevented
--   recommended_blocked_good  count   good attempts that it would have blocked
--   too_few          mark            attempts < min_n, or they are from fewer than 5 clusters
--   clusters         count           conversations among would_block, or traces without a conversation
--   design_effect    ratio           blocked attempts for each independent one that precision is as precise as
-- hidden: trips
-- verdict: max(prevented) {group}: a circuit breaker would open {trips:time}, prevent {prevented} of {failures:failure}
--   and block {blocked_good:attempt} that would work; recommended: {recommended}.
-- next: query burn_rate --tool {tool}
-- source: a breaker that counts consecutive failures and closes by itself after a time, as in HelloAgents; Wilson score
--   interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
WITH RECURSIVE scoped AS (
    SELECT
        /* by */ tool, /* end by */
        span_id,
        cluster_hash AS cluster,
        attempt,
        started_at,
        epoch_us(started_at) AS started_us,
        coalesce(known_ms(duration_ms), 0) AS duration_ms,
        is_finished(status, ending) AS finished,
        coalesce(ending = 'refused', false) AS refused,
        coalesce(status = 'error', false) AS failed
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- breaker: a number of the history, faster to order and to join by than its names
with_breaker AS (
    SELECT *, text_key(row(/* by history names */ tool, /* end by */ finished)) AS breaker FROM scoped
),
ordered AS (
    SELECT *,
        row_number() OVER history AS ordinal,
        max(started_us) OVER (PARTITION BY breaker) AS last_started_us,
        started_us + CAST(1000 * duration_ms AS BIGINT) AS ended_us
    FROM with_breaker
    WINDOW history AS (PARTITION BY breaker ORDER BY started_at, attempt, span_id)
),
-- streak: failures in a row up to this attempt; attempts_to, failures_to: those that started until then
counted_in_order AS (
    SELECT *,
        ordinal - coalesce(max(CASE WHEN NOT failed THEN ordinal END) OVER (
            PARTITION BY breaker ORDER BY ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ), 0) AS streak,
        count(*) OVER by_start AS attempts_to,
        count(CASE WHEN failed THEN 1 END) OVER by_start AS failures_to
    FROM ordered
    WHERE finished
    WINDOW by_start AS (PARTITION BY breaker ORDER BY started_us RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
-- setting 0: the parameters; the others are compared for the recommendation
settings AS (
    SELECT 0 AS setting, CAST($failure_threshold AS BIGINT) AS threshold, CAST(least($recovery_timeout, 1e9) AS BIGINT) AS timeout
    UNION ALL
    SELECT row_number() OVER (ORDER BY threshold, timeout) AS setting, threshold, timeout
    FROM (SELECT unnest([3, 5, 10]) AS threshold) AS thresholds
    CROSS JOIN (SELECT unnest([60, 300, 1800]) AS timeout) AS timeouts
),
-- attempts at which a closed breaker would open, if it had closed before the streak of failures started
possible_trips AS (
    SELECT
        o.breaker,
        s.setting,
        o.ordinal,
        o.span_id,
        f.started_us AS streak_started_us,
        o.ended_us AS opened_us,
        o.ended_us + 1000000 * s.timeout AS closed_us,
        row_number() OVER (PARTITION BY o.breaker, s.setting ORDER BY o.ordinal) AS number
    FROM counted_in_order AS o
    CROSS JOIN settings AS s
    JOIN counted_in_order AS f ON f.breaker = o.breaker AND f.ordinal = o.ordinal - s.threshold + 1
    WHERE o.streak >= s.threshold
),
-- the next possible trip after each one: the first whose streak started after the breaker closed again
steps AS (
    SELECT *, 1 + count(CASE WHEN is_start THEN 1 END) OVER (
        PARTITION BY breaker, setting ORDER BY at_us, is_start DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS next_number
    FROM (
        SELECT *, streak_started_us AS at_us, true AS is_start FROM possible_trips
        UNION ALL
        SELECT *, closed_us AS at_us, false AS is_start FROM possible_trips
    ) AS events
),
next_trips AS (
    SELECT breaker, setting, number, next_number, ordinal, span_id, opened_us, closed_us FROM steps WHERE NOT is_start
),
all_trips AS (
    SELECT * FROM next_trips WHERE number = 1
    UNION ALL
    SELECT h.*
    FROM next_trips AS h
    JOIN all_trips AS t ON h.breaker = t.breaker AND h.setting = t.setting AND h.number = t.next_number
),
trips AS (
    SELECT breaker, ordinal, span_id, opened_us, closed_us FROM all_trips WHERE setting = 0
),
-- what each trip of each compared breaker would have blocked
compared_trips AS (
    SELECT
        t.breaker,
        t.setting,
        greatest(c.attempts_to - o.attempts_to, 0) AS blocked,
        greatest(c.failures_to - o.failures_to, 0) AS prevented
    FROM all_trips AS t
    ASOF JOIN counted_in_order AS o ON o.breaker = t.breaker AND o.started_us < t.opened_us
    ASOF JOIN counted_in_order AS c ON c.breaker = t.breaker AND c.started_us <= t.closed_us
    WHERE t.setting > 0
),
histories AS (
    SELECT breaker, count(*) AS attempts, count(*) FILTER (WHERE failed) AS failures FROM counted_in_order GROUP BY breaker
),
compared AS (
    SELECT
        breaker,
        setting,
        CAST(sum(blocked) AS BIGINT) AS blocked,
        CAST(sum(prevented) AS BIGINT) AS prevented,
        clustered_n(prevented, blocked) AS effective
    FROM compared_trips
    GROUP BY breaker, setting
),
helpful AS (
    SELECT
        c.breaker,
        c.prevented,
        c.blocked - c.prevented AS blocked_good,
        concat('failure_threshold=', s.threshold, ', recovery_timeout=', s.timeout) AS recommended,
        row_number() OVER (PARTITION BY c.breaker ORDER BY 2 * c.prevented - c.blocked DESC, s.timeout, s.threshold DESC) AS place
    FROM compared AS c
    JOIN settings AS s ON s.setting = c.setting
    JOIN histories AS h ON h.breaker = c.breaker
    WHERE cluster_low(c.prevented, c.blocked, c.effective) > 0.5
      AND (h.failures = h.attempts
          OR cluster_low(c.prevented, c.blocked, c.effective) > wilson_high(h.failures - c.prevented, h.attempts - c.blocked))
),
recommendations AS (
    SELECT
        h.breaker,
        CASE WHEN h.attempts >= $min_n THEN coalesce(r.recommended, 'none') END AS recommended,
        CASE WHEN h.attempts >= $min_n THEN r.prevented END AS recommended_prevented,
        CASE WHEN h.attempts >= $min_n THEN r.blocked_good END AS recommended_blocked_good
    FROM histories AS h
    LEFT JOIN helpful AS r ON r.breaker = h.breaker AND r.place = 1
),
-- the time in which the breaker is open: of the attempts after a trip, up to the next one
open_times AS (
    SELECT
        breaker,
        ordinal AS after,
        lead(ordinal) OVER in_order AS up_to,
        max(opened_us) OVER in_order AS from_us,
        max(closed_us) OVER in_order AS to_us
    FROM trips
    WINDOW in_order AS (PARTITION BY breaker ORDER BY ordinal)
),
-- by parts of time as long as the breaker is open, of which it lies in one or two: what an attempt is joined by
open_parts AS (
    SELECT *, floor(from_us / (1e6 * $recovery_timeout)) AS part FROM open_times
    UNION
    SELECT *, floor(to_us / (1e6 * $recovery_timeout)) AS part FROM open_times
),
replayed AS (
    SELECT
        p.*,
        t.opened_us,
        t.closed_us,
        r.recommended,
        r.recommended_prevented,
        r.recommended_blocked_good,
        o.breaker IS NOT NULL AS blocked
    FROM (SELECT *, floor(started_us / (1e6 * $recovery_timeout)) AS part FROM ordered) AS p
    LEFT JOIN trips AS t ON t.span_id = p.span_id
    LEFT JOIN recommendations AS r ON r.breaker = p.breaker
    LEFT JOIN open_parts AS o
        ON o.breaker = p.breaker
        AND o.part = p.part
        AND p.ordinal > o.after
        AND p.ordinal <= coalesce(o.up_to, p.ordinal)
        AND p.started_us BETWEEN o.from_us AND o.to_us
),
per_cluster AS (
    SELECT
        /* by names */ tool, /* end by */
        cluster,
        count(*) FILTER (WHERE finished) AS attempts,
        count(*) FILTER (WHERE finished AND failed) AS failures,
        count(opened_us) AS trips,
        count(*) FILTER (WHERE blocked) AS would_block,
        count(*) FILTER (WHERE blocked AND failed) AS prevented,
        coalesce(sum(greatest(least(closed_us, last_started_us) - opened_us, 0)), 0) AS open_us,
        coalesce(sum(duration_ms) FILTER (WHERE blocked AND failed), 0) AS saved_ms,
        count(*) FILTER (WHERE NOT finished AND NOT refused) AS left_out,
        count(*) FILTER (WHERE refused) AS refused,
        max(recommended) AS recommended,
        max(recommended_prevented) AS recommended_prevented,
        max(recommended_blocked_good) AS recommended_blocked_good
    FROM replayed
    GROUP BY ALL
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        CAST(coalesce(sum(attempts), 0) AS BIGINT) AS attempts,
        CAST(coalesce(sum(failures), 0) AS BIGINT) AS failures,
        CAST(coalesce(sum(trips), 0) AS BIGINT) AS trips,
        CAST(coalesce(sum(would_block), 0) AS BIGINT) AS would_block,
        CAST(coalesce(sum(prevented), 0) AS BIGINT) AS prevented,
        coalesce(sum(open_us), 0) / 1000.0 AS time_open_ms,
        coalesce(sum(saved_ms), 0) AS saved_ms,
        CAST(coalesce(sum(left_out), 0) AS BIGINT) AS left_out,
        CAST(coalesce(sum(refused), 0) AS BIGINT) AS refused,
        max(recommended) AS recommended,
        max(recommended_prevented) AS recommended_prevented,
        max(recommended_blocked_good) AS recommended_blocked_good,
        count(*) FILTER (WHERE attempts > 0) AS clusters_of_attempts,
        count(*) FILTER (WHERE would_block > 0) AS clusters,
        clustered_n(prevented, would_block) AS effective,
        clustered_n(prevented, failures) AS failures_effective
    FROM per_cluster
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
    cluster_low(prevented, would_block, effective) AS low,
    cluster_high(prevented, would_block, effective) AS high,
    prevented / nullif(failures, 0) AS prevented_share,
    cluster_low(prevented, failures, failures_effective) AS prevented_low,
    cluster_high(prevented, failures, failures_effective) AS prevented_high,
    time_open_ms,
    saved_ms,
    left_out,
    refused,
    recommended,
    recommended_prevented,
    recommended_blocked_good,
    too_few_draws(clusters_of_attempts, attempts, $min_n) AS too_few,
    clusters,
    would_block / nullif(effective, 0) AS design_effect
FROM counted
ORDER BY prevented DESC, /* by names */ tool, /* end by */ attempts DESC
