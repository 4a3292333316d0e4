-- Which tools wait for a person, for how long, and do approved calls then succeed?
--
-- One row per group of stops at which a call waited for a person. A stop belongs to the group of the attempt that was
-- stopped; if that attempt is unknown, the group is NULL. The waiting time is not part of the latency of the tool; it
-- covers the stops that a person approved or declined. A failure after approval is a failure of the attempt that continued
-- after the answer.
--
-- Grouped by code or status, a stop belongs to the group of the attempt that continued after the answer; the group is NULL
-- if none did, or if it did not finish.
--
-- group: agents
-- by: tool (default), version, agent, model, release, environment, conversation, day, hour, attributes; code, status, rule, rule_grade
-- parameters:
--   since  timestamp = NULL  stops that were requested at this time or later
--   until  timestamp = NULL  stops that were requested before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer stops is marked too_few
-- columns:
--   n               count  stops
--   approved        count  stops that a person approved, answered with the missing input, or completed by hand
--   declined        count  stops that a person declined
--   expired         count  stops that nobody answered in time
--   waiting         count  stops that nobody has answered yet
--   changed         count  stops at which a person changed or added arguments
--   approved_share  share  approved / (approved + declined)
--   approved_low    low(approved_share)   95 % interval
--   approved_high   high(approved_share)  95 % interval
--   wait_p50        ms     median time until the answer
--   wait_p95        ms     95th percentile of the time until the answer
--   resumed         count  approved stops whose later attempt is known and finished
--   failures        count  resumed stops whose later attempt has status 'error'
--   failure_rate    share  failures / resumed
--   failure_low     low(failure_rate)     95 % interval
--   failure_high    high(failure_rate)    95 % interval
--   unresumed       aside  approved stops whose later attempt is unknown or did not finish
--   too_few         mark   n < min_n, or the stops are from fewer than 5 clusters: read the intervals, not the rates
--   clusters        count  conversations among the stops, or traces without a conversation
--   design_effect   ratio  resumed stops for each independent one that failure_rate is as precise as
-- verdict: max(n) {group} stopped for a person {n:time}: {approved} were approved, {declined} declined, {waiting}
--   still wait.
-- next: query errors --tool {tool}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998); percentiles by
--   linear interpolation between order statistics (Hyndman and Fan 1996, type 7)
-- reasoner: gates
-- order: n desc, groups
SELECT
    -- one row for each stop: a person saw each of them
    {by},
    -- a stop of an unknown attempt is a cluster of its own
    coalesce(CAST(cluster AS VARCHAR), stop_span) AS cluster,
    decision,
    coalesce(CAST(changed AS VARCHAR), '{}') NOT IN ('{}', 'null') AS altered,
    CASE WHEN decision IN ('approved', 'declined') THEN (epoch_us(answered_at) - epoch_us(asked_at)) / 1000.0 END AS waited_ms,
    CASE WHEN decision = 'approved' THEN later_failed END AS resumed_failed
FROM (
    -- the attempt that was stopped, with the result of the one that continued
    SELECT * REPLACE (later_code AS code, later_status AS status, later_rule AS rule, later_rule_grade AS rule_grade)
    FROM (
        SELECT span_id AS stop_span, resumed_span_id AS next_span, decision, changed, asked_at, answered_at
        FROM gates
        WHERE ($since IS NULL OR asked_at >= $since) AND ($until IS NULL OR asked_at < $until)
    ) AS stops
    LEFT JOIN facts ON facts.span_id = stop_span
    LEFT JOIN (
        SELECT span_id AS later_span, failed AS later_failed, code AS later_code, status AS later_status, rule AS later_rule,
            rule_grade AS later_rule_grade
        FROM facts
        WHERE finished AND span_id IN (SELECT resumed_span_id FROM gates WHERE decision = 'approved')
    ) AS continued ON later_span = next_span AND decision = 'approved'
) AS stopped
WHERE $tool IS NULL OR tool = $tool
