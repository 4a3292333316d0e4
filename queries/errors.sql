-- Which errors happen most often, since when, and are they worth a retry?
--
-- One row per code, type and kind of message in a group, the most frequent first. Messages are of one kind if they differ
-- only in quoted text, addresses, paths, ids and numbers; the first 500 characters are compared. Finished attempts with
-- status 'error' count, and attempts that did not end by themselves: cancelled by a deadline, lost, or a stream left before its first item, each a kind. Errors whose messages retention removed are of one kind for each code and type.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 90 to 100 % of them (docs/explanation/coverage.md).
--
-- group: failures (first)
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 1       errors with fewer failed attempts are left out
--   rules  rules = 'all'     certain: errors that only a heuristic rule found are left out
-- columns:
--   code             text                   error code
--   type             text                   class of the exception, or the type that the response names
--   n                count                  failed or cut-off attempts with the error
--   share            share                  n / all failed and cut-off attempts in the window, including errors below min_n
--   share_low        low(share)             95 % interval of share
--   share_high       high(share)            95 % interval of share
--   first_seen       time                   start of the first attempt with the error
--   last_seen        time                   start of the last attempt with the error
--   retryable_share  share                  attempts that reported retryable / attempts that reported retryable or not; NULL if none did
--   retryable_low    low(retryable_share)   95 % interval of retryable_share
--   retryable_high   high(retryable_share)  95 % interval of retryable_share
--   unsaid           aside                  attempts among n that did not report whether they are retryable
--   kind             text                   failed, or the ending of attempts that were cut off: cancelled, abandoned or lost
--   example_call_id  text                   call of the last attempt with the error; tooltrace show prints it
--   message          text                   error message of the last attempt with the error, at most 500 characters
--   pattern          parts                  message with <text>, <url>, <path>, <id> and <n> for the parts that vary
--   clusters         count                  conversations with these attempts in the window, or traces without a conversation
--   design_effect    ratio                  attempts for each independent one that share is as precise as
--   too_few          mark                   fewer than 20 of these attempts in the window, or they are from fewer than 5 clusters: read the interval, not the share
-- content: message, pattern
-- important: n, code, message, share, last_seen, type
-- verdict: max(n) The most frequent error is {code} of {group}: {n:attempt}, {share} of all, last with
--   {message}.
-- next: show {example_call_id}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
-- reasoner: errors
-- order: n desc, last_seen desc, groups, code, type, pattern
SELECT
    {by},
    kind,
    error_code,
    type,
    pattern,
    sum(n) AS n,
    min(first_seen) AS first_seen,
    max(last_seen) AS last_seen,
    sums(retryable, stated) AS retryable_share,
    sum(n) - sum(stated) AS unsaid,
    arg_max(last_call, last_place) AS example_call_id,
    arg_max(last_message, last_place) AS message,
    -- the products with all failed attempts of the cluster: added up over the errors, they are the sums over clusters
    sum(CAST(n AS DOUBLE) * n) AS share_ss,
    sum(CAST(n AS DOUBLE) * cluster_n) AS share_sn,
    sum(CAST(n AS DOUBLE) / cluster_n) AS share_clusters
FROM (
    -- one row for each error and cluster
    SELECT
        {by},
        CASE WHEN failed THEN 'failed' ELSE ending END AS kind,
        code AS error_code,
        error_type AS type,
        message_kind AS pattern,
        cluster,
        count(*) AS n,
        count(retryable) AS stated,
        count(*) FILTER (WHERE retryable) AS retryable,
        min(started_at) AS first_seen,
        max(started_at) AS last_seen,
        max(start_place) AS last_place,
        arg_max(call_id, start_place) AS last_call,
        arg_max(left(error_message, 500), start_place) AS last_message
    FROM facts
    WHERE {window} AND (failed AND ($rules = 'all' OR failed_certain) OR cut_off)
    GROUP BY ALL
) AS kinds
JOIN (
    SELECT cluster AS of_cluster, count(*) AS cluster_n
    FROM facts
    WHERE {window} AND (failed AND ($rules = 'all' OR failed_certain) OR cut_off)
    GROUP BY cluster
) AS clusters ON of_cluster = cluster
GROUP BY ALL
