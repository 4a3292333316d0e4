-- Which shell commands fail most, and what worked next?
--
-- One row per group and command. A command is the argument `command` or `cmd` of a call: of its first line the program, and the
-- word after it where that is a plain word, as in `git push`; a change of the folder, variables and sudo before it are left
-- out. After a failure, the next command of the same program, in the same conversation and of the same agent, may work: worked
-- counts these, and worked_next is the first line of the latest of them.
--
-- group: failures
-- by: none (default), tool, agent, model, release, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  positive = 1      fewer failures than this are not listed
-- columns:
--   command      text       the program, and the word after it
--   attempts     count      finished attempts
--   failures     count      failed attempts among them
--   rate         share      failures / attempts
--   low          low(rate)  95 % interval of rate
--   high         high(rate)  95 % interval of rate
--   code         text       error code of the last failure
--   worked       count      failures after which the next command of the same program worked
--   worked_next  text       the latest command that did, at most 200 characters
--   message      text       error message of the last failure, at most 500 characters
--   last_call_id  text      call of the last failure
-- content: command, worked_next, message
-- important: attempts, failures, rate, worked, worked_next
-- hidden: failures
-- verdict: max(failures) {command} fails most: {rate} of {attempts:attempt} ({low} to {high}).
-- next: show {last_call_id}
-- source: Wilson score interval (Wilson 1927); effective number of attempts by the variance between clusters (Kish 1965)
-- order: failures desc, groups, command
WITH typed AS (
    SELECT *, regexp_extract(coalesce(arguments ->> '$.command', arguments ->> '$.cmd'), '^[^\n]*') AS line
    FROM facts
    WHERE {window} AND finished AND arguments IS NOT NULL
),
named AS (
    SELECT *,
        trim(regexp_extract(
            regexp_replace(line, '^\s*(\[?"?(/bin/)?(ba|z)?sh"?,? *"?-l?c"?,? *"?|cd [^;&|]+(&&|;)\s*|sudo\s+|[A-Z_][A-Z0-9_]*=\S*\s+)*', ''),
            '^\S+(\s+[a-z][a-z0-9:_-]*(\s|$))?')) AS of_command
    FROM typed
    WHERE line IS NOT NULL AND line <> ''
),
followed AS (
    SELECT *,
        lead(line) OVER later AS next_line,
        lead(failed) OVER later AS next_failed
    FROM named
    WINDOW later AS (PARTITION BY cluster, agent, regexp_extract(of_command, '^\S+') ORDER BY started_at, span_id)
)
SELECT
    {by},
    of_command AS command,
    sum(n) AS attempts,
    sum(f) AS failures,
    sums(f, n) AS rate,
    arg_max(code, last_place) AS code,
    sum(worked) AS worked,
    arg_max(worked_next, worked_place) AS worked_next,
    arg_max(message, last_place) AS message,
    arg_max(last_call_id, last_place) AS last_call_id
FROM (
    -- one row for each group, command and cluster
    SELECT
        {by},
        of_command,
        cluster,
        count(*) AS n,
        count(*) FILTER (WHERE failed) AS f,
        arg_max(code, start_place) FILTER (WHERE failed) AS code,
        count(*) FILTER (WHERE failed AND NOT next_failed) AS worked,
        max(start_place) FILTER (WHERE failed AND NOT next_failed) AS worked_place,
        arg_max(left(next_line, 200), start_place) FILTER (WHERE failed AND NOT next_failed) AS worked_next,
        max(start_place) FILTER (WHERE failed) AS last_place,
        arg_max(left(error_message, 500), start_place) FILTER (WHERE failed) AS message,
        arg_max(call_id, start_place) FILTER (WHERE failed) AS last_call_id
    FROM followed
    WHERE of_command <> ''
    GROUP BY ALL
) AS clusters
GROUP BY ALL
HAVING sum(f) >= $min_n
