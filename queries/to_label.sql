-- Which calls should be labelled next, to learn most about calibration?
--
-- One row per attempt that nobody has labelled, the most useful first. Finished attempts count, one of each call: its last.
-- Attempts are divided into strata: tool and band of confidence (low below 0.5, middle below 0.8, high from 0.8; none
-- without a confidence). The accuracy of a tool is estimated as the sum over its bands of share × accuracy of the band. A
-- further label of a band with n labels reduces the variance of that estimate by about
-- share² × p (1 - p) / ((n + 2) (n + 3)), where p = (right + 1) / (n + 2). Rows are ordered by that reduction, so large,
-- uncertain and little labelled bands come first, and each row counts the rows of its stratum before it as labelled. Calls
-- without a confidence teach nothing about calibration, so they are left out; with `without_confidence` = yes they come
-- last: their labels show how often a tool is right. Within a stratum the order is random, but the same for the same `seed`.
--
-- group: trust
-- parameters:
--   since               timestamp = NULL  attempts that started at this time or later
--   until               timestamp = NULL  attempts that started before this time
--   tool                text = NULL       this tool only
--   seed                integer = 0       another seed gives another random choice
--   without_confidence  text = 'no'       yes: calls without a confidence too, after all others
--   limit               integer = 20      number of attempts
-- columns:
--   tool         text    name of the tool
--   band         text    low, middle, high, or none without a confidence
--   confidence   share   confidence that the tool reported
--   status       text    status that the tool reported
--   started_at   time    start time
--   call_id      text    id of the call
--   span_id      text    id of the attempt
--   gain         number  reduction of the variance of the tool's accuracy by this label
--   calls        count   calls of the stratum
--   labelled     count   labelled calls of the stratum
-- important: tool, band, confidence, call_id, labelled
-- verdict: top A label of {call_id} says the most about calibration: {tool}, with a confidence of {confidence}.
-- next: show {call_id}
-- source: optimal allocation: Neyman 1934; greedy, with the posterior mean of a uniform prior as accuracy
WITH finished AS (
    SELECT
        a.tool,
        CASE WHEN a.confidence < 0.5 THEN 1 WHEN a.confidence < 0.8 THEN 2 WHEN a.confidence <= 1 THEN 3 ELSE 4 END AS rank,
        a.confidence,
        a.status,
        a.started_at,
        a.call_id,
        a.span_id,
        j.correct,
        a.call_hash AS call_number,
        a.attempt
    FROM attempts AS a
    LEFT JOIN judged AS j ON j.span_id = a.span_id
    WHERE is_finished(a.status, a.ending)
      AND ($since IS NULL OR a.started_at >= $since)
      AND ($until IS NULL OR a.started_at < $until)
      AND ($tool IS NULL OR a.tool = $tool)
),
-- the last finished attempt of each call; most calls have one attempt and need no order
last_attempts AS (
    SELECT tool, rank, confidence, status, started_at, call_id, span_id, correct
    FROM finished
    WHERE call_number NOT IN (SELECT call_hash FROM repeated_calls)
    UNION ALL
    SELECT tool, rank, confidence, status, started_at, call_id, span_id, correct
    FROM (
        SELECT *, row_number() OVER (PARTITION BY call_number ORDER BY attempt DESC, started_at DESC, span_id DESC) AS place
        FROM finished
        WHERE call_number IN (SELECT call_hash FROM repeated_calls)
    ) AS placed
    WHERE place = 1
),
strata AS (
    SELECT
        tool,
        rank,
        CAST(count(*) AS DOUBLE) AS calls,
        CAST(count(correct) AS DOUBLE) AS labelled,
        CAST(count(*) FILTER (WHERE correct) AS DOUBLE) AS s
    FROM last_attempts
    GROUP BY tool, rank
),
shares AS (
    SELECT *, calls / sum(calls) OVER (PARTITION BY tool) AS share, (s + 1) / (labelled + 2) AS p FROM strata
),
candidates AS (
    SELECT *, number - 1 AS before
    FROM (
        SELECT
            tool, rank, confidence, status, started_at, call_id, span_id,
            row_number() OVER (PARTITION BY tool, rank ORDER BY md5(concat(CAST($seed AS VARCHAR), '/', span_id)), span_id) AS number
        FROM last_attempts
        WHERE correct IS NULL
    ) AS numbered
    WHERE number <= $limit
)
SELECT
    c.tool,
    CASE c.rank WHEN 1 THEN 'low' WHEN 2 THEN 'middle' WHEN 3 THEN 'high' ELSE 'none' END AS band,
    c.confidence,
    c.status,
    c.started_at,
    c.call_id,
    c.span_id,
    h.share * h.share * h.p * (1 - h.p) / ((h.labelled + c.before + 2) * (h.labelled + c.before + 3)) AS gain,
    CAST(h.calls AS BIGINT) AS calls,
    CAST(h.labelled AS BIGINT) AS labelled
FROM candidates AS c
JOIN shares AS h ON h.tool = c.tool AND h.rank = c.rank
WHERE (c.rank < 4 OR $without_confidence = 'yes')
ORDER BY CASE WHEN c.rank = 4 THEN 1 ELSE 0 END, gain DESC, c.tool, c.rank, c.before
LIMIT $limit
