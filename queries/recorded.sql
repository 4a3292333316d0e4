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
SELECT
    /* by */ tool, /* end by */
    count(*) FILTER (WHERE coalesce(ending, '') <> 'refused') AS attempts,
    count(*) FILTER (WHERE is_finished(status, ending)) AS finished,
    count(*) FILTER (WHERE is_finished(status, ending) AND status = 'error') AS failed,
    count(*) FILTER (WHERE ending = 'refused') AS refused,
    count(confidence) AS confidence,
    count(*) FILTER (WHERE is_finished(status, ending) AND j.correct IS NOT NULL) AS labelled,
    count(*) FILTER (WHERE is_finished(status, ending) AND j.correct IS NOT NULL AND confidence IS NOT NULL) AS calibrated,
    count(s.sourced_span) AS sourced,
    count(next_action) AS advised,
    count(g.stopped_span) AS approvals,
    count(*) FILTER (WHERE attempt > 1) AS retries,
    count(tool_version) AS versioned,
    max(started_at) AS last_at
FROM attempts AS a
LEFT JOIN (SELECT span_id AS judged_span, correct FROM judged) AS j ON j.judged_span = a.span_id
LEFT JOIN (
    SELECT DISTINCT span_id AS sourced_span
    FROM sources
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
) AS s ON s.sourced_span = a.span_id
LEFT JOIN (SELECT DISTINCT span_id AS stopped_span FROM gates) AS g ON g.stopped_span = a.span_id
WHERE ($since IS NULL OR started_at >= $since)
  AND ($until IS NULL OR started_at < $until)
  AND ($tool IS NULL OR tool = $tool)
GROUP BY ALL
ORDER BY attempts DESC, /* by names */ tool, /* end by */ finished
