-- What was recorded about the calls of each tool?
--
-- One row per group: its attempts, and how many of them have what other queries need. Some queries need a
-- value that a tool may never record: `calibration` needs confidence, `gap` needs labels, `sources` needs sources, and
-- `gates` needs approvals. If its count here is 0, that query has no rows for the tool.
--
-- group: calls
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
-- columns:
--   attempts     count  attempts
--   finished     count  finished attempts: they returned or raised, and reported a status
--   failed       count  finished attempts with status 'error'
--   refused      count  attempts left out: refused, the tool was not run
--   confidence   count  attempts with a confidence
--   labelled     count  finished attempts that were labelled right or wrong
--   calibrated   count  finished attempts with a confidence that were labelled right or wrong
--   sourced      count  attempts whose result names a source
--   advised      count  attempts that recommend a next action
--   approvals    count  attempts that stopped for a person
--   retries      count  attempts after the first one of their call
--   versioned    count  attempts with a version of the tool
--   last_at      time   start of the last attempt
-- content: sourced
-- verdict: max(attempts) {group} has most attempts: {attempts}, of which {confidence} state a confidence and
--   {labelled} are labelled.
-- next: query failure_rate --tool {tool}
-- order: attempts desc, groups
SELECT
    {by},
    count(*) FILTER (WHERE coalesce(ending, '') <> 'refused') AS attempts,
    count(*) FILTER (WHERE finished) AS finished,
    count(*) FILTER (WHERE failed) AS failed,
    count(*) FILTER (WHERE ending = 'refused') AS refused,
    count(confidence) AS confidence,
    count(*) FILTER (WHERE finished AND correct IS NOT NULL) AS labelled,
    count(*) FILTER (WHERE finished AND correct IS NOT NULL AND confidence IS NOT NULL) AS calibrated,
    count(sourced_span) AS sourced,
    count(next_action) AS advised,
    count(stopped_span) AS approvals,
    count(*) FILTER (WHERE attempt > 1) AS retries,
    count(tool_version) AS versioned,
    max(started_at) AS last_at
FROM facts
LEFT JOIN (SELECT span_id AS judged_span, correct FROM judged) AS j ON j.judged_span = facts.span_id
LEFT JOIN (SELECT DISTINCT span_id AS sourced_span FROM sources) AS s ON s.sourced_span = facts.span_id
LEFT JOIN (SELECT DISTINCT span_id AS stopped_span FROM gates) AS g ON g.stopped_span = facts.span_id
WHERE {window}
GROUP BY ALL
