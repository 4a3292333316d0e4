-- Does a tool pass the ten-point checklist for results that can be trusted?
--
-- Ten rows per group, one per point, judged on the finished attempts of the group. A result is a finished attempt without
-- an error. A point about a practice is passed if at least good_share of what it applies to follow the practice:
--    1  one envelope: what the tool returned was read with certainty, because it is a response or a known protocol
--    2  success means execution only: no result that says success describes a failure in its data
--    3  results have a confidence: the status success alone does not mean that the answer is right
--    4  results can be traced: they name a source with an id or a url
--    5  errors are structured: read with certainty, with a specific code (not EXECUTION_ERROR, not UNKNOWN)
--    6  attempts recommend a next action
--    7  results are evaluated: at least min_n of them are labelled
--    8  earlier tools are adapted: no failure had to be found by a heuristic rule in a text or in data
--    9  a low confidence (below 0.5) is not taken as strong evidence: such a result does not advise to continue
--   10  sources suffice for review and citation: results name sources, and each has a type (other does not count) and an id
-- With points = 15, five points of our own follow, which the protocol does not have:
--   11  at least min_n attempts with a confidence are labelled, and calibration does not say miscalibrated: the ece is not
--       above the 95th percentile of that of a calibrated tool
--   12  a confidence comes with the named signals that it was computed from
--   13  errors report whether they are retryable, and of at least min_n retryable errors that were retried, at least
--       retry_share succeeded in a later attempt of the call, or the 95 % interval includes retry_share (flag_precision
--       of retries)
--   14  errors have a suggestion or a message for the user
--   15  attempts have a tool version, a call id from the model and a duration
-- The gap of point 11 and its interval are those of calibration, and the interval of point 13 is that of a share: both count
-- clusters, because attempts of one conversation are similar. A conversation is a cluster. Without a conversation id, the
-- attempts of a trace are a cluster, and an attempt that is alone in its trace is a cluster of its own. With labels or retries
-- from fewer than five clusters of several attempts, point 11 is not passed, and point 13 cannot be judged. The other points
-- compare shares with a limit and are not tests.
--
-- passed is NULL if there was nothing to judge. Grouped by code, each code is judged on its own attempts only: a group of
-- errors has no results, and a group of results has no errors. A group of few attempts proves little: see too_few.
--
-- group: trust
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since        timestamp = NULL  attempts that started at this time or later
--   until        timestamp = NULL  attempts that started before this time
--   tool         text = NULL       this tool only
--   min_n        integer = 20      labels and retries that points 7, 11 and 13 need; a group of fewer attempts is marked too_few
--   good_share   share = 0.9       minimum share of attempts that follow a practice
--   retry_share  share = 0.5       minimum share of retries that succeed for point 13
--   points       integer = 10      15: with the five points of our own
-- columns:
--   point     count  1 to 10, or to 15
--   name      text   name of the point
--   passed    flag   whether the history passes the point; NULL if it cannot be judged
--   n         count  results, errors or attempts that the point was judged on
--   evidence  text   the numbers behind the judgement, as a sentence
--   fix       text   what to change if the point is not passed
--   attempts  count  finished attempts of the group
--   clusters       count  conversations (or traces, or attempts) of the labels (point 11), the retries (point 13) or the attempts
--   design_effect  ratio  for points 11 and 13: labels or retries / independent ones that accuracy or the share of retries would be equally certain with; NULL for other points
--   too_few   mark   attempts < min_n, or fewer than 5 clusters of several attempts
--   example_call_id  text  a call that did not follow the practice (points 2, 8 and 9)
--   unread_share  share  share of attempts that returned, where nothing states whether they worked; without interval
--   figures   parts  the evidence as JSON: the kind of sentence and its numbers
-- content: all
-- important: point, name, passed, n, evidence, fix
-- verdict: false(passed) {group} fails point {point} of the checklist, {name}: {evidence}.
-- next: show {example_call_id}
-- source: the checklist of the ToolResult-with-confidence protocol; Wilson score interval (Wilson 1927), 95 %; effective
--   numbers: Kish 1965, Korn and Graubard 1998; point 11: see calibration
-- reasoner: audit
SELECT
    {by},
    cluster,
    -- the bin of the confidence, as in calibration, for point 11
    CASE WHEN $points > 10 AND confidence BETWEEN 0 AND 1 THEN least(floor(round(confidence * 1e9) / 1e8), 9) END AS bin,
    count(*) AS attempts,
    count(*) FILTER (WHERE NOT failed) AS results,
    count(*) FILTER (WHERE failed) AS errors,
    count(*) FILTER (WHERE NOT failed AND confidence BETWEEN 0 AND 1) AS confident,
    count(*) FILTER (WHERE NOT failed AND confidence BETWEEN 0 AND 1 AND coalesce(CAST(signals AS VARCHAR), '{}') NOT IN ('{}', 'null')) AS signalled,
    count(next_action) AS advised,
    count(*) FILTER (WHERE failed AND rule_grade = 'certain' AND coalesce(code, 'UNKNOWN') NOT IN ('EXECUTION_ERROR', 'UNKNOWN')) AS structured,
    count(retryable) FILTER (WHERE failed) AS reported,
    count(*) FILTER (WHERE failed AND (user_message IS NOT NULL OR suggestion IS NOT NULL)) AS helped,
    count(user_message) FILTER (WHERE failed) AS with_user_message,
    count(suggestion) FILTER (WHERE failed) AS suggested,
    count(*) FILTER (WHERE version IS NOT NULL AND call_id <> span_id AND duration_ms IS NOT NULL) AS traceable,
    count(version) AS versioned,
    count(*) FILTER (WHERE call_id <> span_id) AS identified,
    count(duration_ms) AS timed,
    count(rule) AS ruled,
    count(*) FILTER (WHERE grade = 'unread') AS unread,
    count(*) FILTER (WHERE ending = 'returned') AS returned,
    count(*) FILTER (WHERE ending = 'returned' AND rule_grade = 'certain') AS enveloped,
    count(*) FILTER (WHERE ending = 'returned' AND rule_grade = 'certain' AND result IS NOT NULL) AS with_data,
    count(*) FILTER (WHERE is_guess AND rule LIKE '%/hidden' OR ending = 'returned' AND rule_grade = 'certain') AS stated,
    count(*) FILTER (WHERE is_guess AND rule LIKE '%/hidden') AS contradicted,
    count(*) FILTER (WHERE is_guess AND rule NOT LIKE '%/hidden') AS guessed,
    count(*) FILTER (WHERE is_unsure) AS unsure,
    count(*) FILTER (WHERE is_unsure AND next_action = 'continue') AS continued,
    min(CASE WHEN is_guess AND rule LIKE '%/hidden' THEN call_id END) AS contradicted_call,
    min(CASE WHEN is_guess AND rule NOT LIKE '%/hidden' THEN call_id END) AS guessed_call,
    min(CASE WHEN is_unsure AND next_action = 'continue' THEN call_id END) AS continued_call,
    count(*) FILTER (WHERE NOT failed AND is_traceable = 1) AS sourced,
    count(*) FILTER (WHERE NOT failed AND is_citable = 1) AS citable,
    count(*) FILTER (WHERE NOT failed AND correct IS NOT NULL) AS evaluated,
    count(correct) AS labelled,
    count(*) FILTER (WHERE correct) AS right_n,
    sum(CASE WHEN correct IS NOT NULL THEN confidence END) AS confidence_of_labelled,
    count(*) FILTER (WHERE failed AND retryable AND NOT ends_call) AS retried,
    count(*) FILTER (WHERE failed AND retryable AND NOT ends_call AND call_order < last_success) AS recovered
FROM (
    SELECT *, rule_grade = 'heuristic' AND status <> 'success' AS is_guess, NOT failed AND confidence >= 0 AND confidence < 0.5 AS is_unsure
    FROM facts
    WHERE {window} AND finished
) AS finished_attempts
LEFT JOIN (SELECT span_id AS judged_span, correct FROM judged) AS labels ON judged_span = span_id
LEFT JOIN (
    SELECT
        span_id AS citing_span,
        max(CASE WHEN id <> '' OR url <> '' THEN 1 ELSE 0 END) AS is_traceable,
        min(CASE WHEN id <> '' AND coalesce(type, 'other') <> 'other' THEN 1 ELSE 0 END) AS is_citable
    FROM sources
    WHERE {window}
    GROUP BY span_id
) AS cited ON citing_span = span_id
LEFT JOIN (
    SELECT call_key AS call_number, max(call_order) AS last_success
    FROM facts
    WHERE $points > 10 AND is_repeated AND finished AND NOT failed
    GROUP BY call_key
) AS repeated ON call_number = call_key
GROUP BY ALL
