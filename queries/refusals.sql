-- Which calls did the system not run, why, and is a breaker still open?
--
-- One row per group, code and process. A call is refused if the system did not run the tool: it does not exist, its
-- arguments are invalid, a limit is reached, a circuit breaker is open, or a hook, a middleware or a guardrail blocked the
-- call. Refusals are no failures of the tool and count in no rate. A breaker has its state in one process: after its last
-- refusal it is open until an attempt of the tool finishes in that process.
--
-- group: failures
-- by: tool (default), version, agent, conversation, day, hour
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
-- columns:
--   code        text    why: CALL_LIMIT, CIRCUIT_OPEN, NOT_FOUND (unknown tool), INVALID_PARAM, BLOCKED, or the code that a hook gave
--   n           count   refused calls
--   first_seen  time    start of the first of them
--   last_seen   time    start of the last of them
--   host        text    machine of the process
--   pid         text    process that refused them
--   finished    count   attempts of the tool that finished in that process after the last refusal
--   breaker     text    of CIRCUIT_OPEN: open, or closed if an attempt finished after the last refusal
--   message     text    reason of the last refusal, at most 500 characters
-- content: message
-- important: code, n, breaker, last_seen, message
-- verdict: max(n) {group}: {n} calls were refused with {code}, last with {message}.
-- next: tail --ending refused
-- order: n desc, groups, code, last_seen desc
WITH counted AS (
    SELECT
        {by},
        tool AS of_tool,
        code AS cause,
        host AS of_host,
        pid AS of_pid,
        count(*) AS n,
        min(started_at) AS first_seen,
        max(started_at) AS last_seen,
        arg_max(left(error_message, 500), started_at) AS message
    FROM facts
    WHERE {window} AND ending = 'refused'
    GROUP BY ALL
),
ran AS (
    SELECT c.of_tool, c.cause, c.of_host, c.of_pid, c.last_seen, count(*) AS finished
    FROM (SELECT DISTINCT of_tool, cause, of_host, of_pid, last_seen FROM counted) AS c
    JOIN facts
        ON facts.tool = c.of_tool AND coalesce(facts.host, '') = coalesce(c.of_host, '') AND coalesce(facts.pid, -1) = coalesce(c.of_pid, -1)
    WHERE facts.started_at > c.last_seen AND facts.finished
    GROUP BY ALL
)
SELECT
    c.*,
    c.cause AS code,
    c.of_host AS host,
    c.of_pid AS pid,
    coalesce(r.finished, 0) AS finished,
    CASE WHEN c.cause = 'CIRCUIT_OPEN' THEN CASE WHEN r.finished > 0 THEN 'closed' ELSE 'open' END END AS breaker
FROM counted AS c
LEFT JOIN ran AS r
    ON r.of_tool = c.of_tool AND coalesce(r.cause, '') = coalesce(c.cause, '') AND coalesce(r.of_host, '') = coalesce(c.of_host, '')
    AND coalesce(r.of_pid, -1) = coalesce(c.of_pid, -1) AND r.last_seen = c.last_seen
