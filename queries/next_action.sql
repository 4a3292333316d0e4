-- Are recommended next actions followed, and do they help?
--
-- One row per recommended action in a group, over the finished attempts that recommended it. Later attempts count even
-- after `until` and in other tools. A recommendation was followed:
--   retry         if the call has a later attempt; a new call of the model with a new id is not recognized
--   continue      if the call has no later attempt
--   stop          if no tool has started later in the conversation; unknown without a conversation
--   ask_user      if the next attempt in the conversation waited for a person, or belongs to another run (another trace,
--                 both attempts inside a span); not followed if the same trace continues; otherwise unknown
--   human_review  as ask_user, except that another run leaves it unknown
-- A retry succeeded if a later attempt of the call did not report an error; NULL if no later attempt finished. For all
-- other cases, success is the label of the attempt; without a label it is unknown.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 94 to 100 % of them (docs/explanation/coverage.md).
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      an action that was observed fewer times is marked too_few
-- columns:
--   advice                   text   recommended action: continue, retry, ask_user, human_review or stop
--   n                        count  finished attempts that recommended it
--   advised_share            share  n / finished attempts of the group
--   advised_low              low(advised_share)   95 % interval of advised_share
--   advised_high             high(advised_share)  95 % interval of advised_share
--   observed                 count  attempts among n for which it is known whether the action was followed
--   followed                 count  attempts among observed whose action was followed
--   followed_share           share  followed / observed
--   followed_low             low(followed_share)            95 % interval
--   followed_high            high(followed_share)           95 % interval
--   n_when_followed          count  attempts among followed whose success is known
--   succeeded_when_followed  share  successful attempts / n_when_followed
--   low_when_followed        low(succeeded_when_followed)   95 % interval
--   high_when_followed       high(succeeded_when_followed)  95 % interval
--   n_when_not               count  attempts whose action was not followed and whose success is known
--   succeeded_when_not       share  successful attempts / n_when_not
--   low_when_not             low(succeeded_when_not)        95 % interval
--   high_when_not            high(succeeded_when_not)       95 % interval
--   unobserved               aside  attempts among n for which it is not known whether the action was followed
--   too_few                  mark   observed < min_n, or they are from fewer than 5 clusters: read the interval, not the rate
--   clusters                 count  conversations among observed, or traces without a conversation
--   design_effect            ratio  observed attempts for each independent one that followed_share is as precise as
-- important: advice, n, advised_share, followed_share, succeeded_when_followed
-- verdict: max(n) {group} recommends {advice} most often: {n} times, followed {followed} times of {observed}.
-- next: query retries --tool {tool}
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998)
WITH scoped AS NOT MATERIALIZED (
    SELECT *,
        is_finished(status, ending) AS finished,
        ending NOT IN ('paused', 'declined', 'expired') AS executed,
        ($until IS NULL OR started_at < $until) AS in_scope
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($tool IS NULL OR tool = $tool)
),
-- later attempts of the call, for call ids with several attempts; most calls have one
retried AS (
    SELECT
        span_id AS attempt_span,
        count(*) OVER later AS later_tries,
        max(CASE WHEN finished THEN CASE WHEN status <> 'error' THEN 1 ELSE 0 END END) OVER later AS later_success
    FROM scoped
    WHERE call_id IN (SELECT call_id FROM scoped GROUP BY call_id HAVING count(*) > 1)
    WINDOW later AS (
        PARTITION BY call_key(tool, call_id, conversation_id, host, pid), executed
        ORDER BY attempt_order(attempt, started_at, span_id)
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    )
),
ends AS (
    SELECT
        span_id AS attempt_span,
        text_key(conversation_id) AS conversation,
        -- at least 1 us, so that an attempt ends after its start; an imported duration may be NaN or infinite
        started_at + to_microseconds(CASE
            WHEN coalesce(duration_ms, 0) + coalesce(consumer_ms, 0) BETWEEN 0.001 AND 1e12
            THEN CAST(1000 * (coalesce(duration_ms, 0) + coalesce(consumer_ms, 0)) AS BIGINT)
            ELSE 1 END) AS at_time,
        text_key(trace_id) AS run,
        parent_span_id IS NOT NULL AS inside
    FROM scoped
    WHERE finished AND in_scope AND next_action IN ('stop', 'ask_user', 'human_review') AND conversation_id IS NOT NULL
),
-- next_at: when the next attempt of the conversation started, of any tool
with_next AS (
    SELECT e.attempt_span, e.conversation, e.run, e.inside, s.at_time AS next_at
    FROM ends AS e
    ASOF LEFT JOIN (
        SELECT text_key(conversation_id) AS conversation, started_at AS at_time
        FROM attempts
        WHERE conversation_id IS NOT NULL AND ($since IS NULL OR started_at >= $since)
    ) AS s ON s.conversation = e.conversation AND s.at_time >= e.at_time
),
-- the attempts that started then; several may have started at once
starts AS (
    SELECT
        s.conversation,
        s.at_time,
        text_key(min(s.trace_id)) AS run,
        bool_and(s.parent_span_id IS NOT NULL) AS inside,
        bool_or(s.ending IN ('paused', 'declined', 'expired') OR s.span_id IN (SELECT span_id FROM gates)) AS waited
    FROM (
        SELECT text_key(conversation_id) AS conversation, started_at AS at_time, trace_id, parent_span_id, ending, span_id
        FROM attempts
        WHERE conversation_id IS NOT NULL AND ($since IS NULL OR started_at >= $since)
    ) AS s
    JOIN (SELECT DISTINCT conversation, next_at FROM with_next) AS n ON n.conversation = s.conversation AND n.next_at = s.at_time
    GROUP BY s.conversation, s.at_time
),
-- the first attempt in the conversation after the end of the attempt
followers AS (
    SELECT
        e.attempt_span,
        s.conversation IS NOT NULL AS continues,
        s.waited,
        s.run = e.run AS same_run,
        s.inside AND e.inside AND s.run <> e.run AS other_run
    FROM with_next AS e
    LEFT JOIN starts AS s ON s.conversation = e.conversation AND s.at_time = e.next_at
),
attempts_with_outcome AS (
    SELECT
        /* by */ tool, /* end by */
        next_action AS advice,
        text_key(draw_key(conversation_id, scoped.trace_id)) AS cluster,
        CASE
            WHEN next_action = 'retry' THEN coalesce(later_tries, 0) > 0
            WHEN next_action = 'continue' THEN coalesce(later_tries, 0) = 0
            WHEN next_action = 'stop' THEN NOT c.continues
            WHEN c.waited THEN true
            WHEN c.same_run THEN false
            WHEN next_action = 'ask_user' AND c.other_run THEN true
        END AS was_followed,
        CASE
            WHEN next_action = 'retry' AND later_tries > 0
            THEN later_success = 1
            ELSE j.correct
        END AS succeeded
    FROM scoped
    LEFT JOIN retried AS t ON t.attempt_span = scoped.span_id
    LEFT JOIN followers AS c ON c.attempt_span = scoped.span_id
    LEFT JOIN judged AS j ON j.span_id = scoped.span_id
    WHERE finished AND in_scope
),
per_cluster AS (
    SELECT
        /* by names */ tool, /* end by */
        advice,
        cluster,
        count(*) AS n,
        count(was_followed) AS observed,
        count(*) FILTER (WHERE was_followed) AS followed,
        count(succeeded) FILTER (WHERE was_followed) AS n_when_followed,
        count(*) FILTER (WHERE was_followed AND succeeded) AS good_when_followed,
        count(succeeded) FILTER (WHERE NOT was_followed) AS n_when_not,
        count(*) FILTER (WHERE NOT was_followed AND succeeded) AS good_when_not
    FROM attempts_with_outcome
    GROUP BY ALL
),
-- cluster_n: finished attempts of the cluster, with any advice or none
with_cluster AS (
    SELECT *, CAST(sum(n) OVER (PARTITION BY /* by names */ tool, /* end by */ cluster) AS DOUBLE) AS cluster_n
    FROM per_cluster
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        advice,
        CAST(sum(n) AS BIGINT) AS n,
        sum(1e0 * n * n) AS ss,
        sum(n * cluster_n) AS sn,
        sum(n / cluster_n) AS clusters_n,
        count(*) FILTER (WHERE observed > 0) AS clusters,
        CAST(sum(observed) AS BIGINT) AS observed,
        CAST(sum(followed) AS BIGINT) AS followed,
        clustered_n(followed, observed) AS followed_effective,
        CAST(sum(n_when_followed) AS BIGINT) AS n_when_followed,
        CAST(sum(good_when_followed) AS BIGINT) AS good_when_followed,
        clustered_n(good_when_followed, n_when_followed) AS effective_when_followed,
        CAST(sum(n_when_not) AS BIGINT) AS n_when_not,
        CAST(sum(good_when_not) AS BIGINT) AS good_when_not,
        clustered_n(good_when_not, n_when_not) AS effective_when_not
    FROM with_cluster
    GROUP BY ALL
),
totals AS (
    SELECT *,
        CAST(sum(n) OVER of_group AS BIGINT) AS finished,
        round(sum(clusters_n) OVER of_group) AS clusters_of_group,
        sum(sn) OVER of_group AS nn
    FROM counted
    WINDOW of_group AS (PARTITION BY /* by names */ tool, /* end by */ 1)
),
with_effect AS (
    SELECT *, effective_n(clusters_of_group, finished, n, ss, sn, nn) AS advised_effective
    FROM totals
)
SELECT
    /* by names */ tool, /* end by */
    advice,
    n,
    n / finished AS advised_share,
    cluster_low(n, finished, advised_effective) AS advised_low,
    cluster_high(n, finished, advised_effective) AS advised_high,
    observed,
    followed,
    followed / nullif(observed, 0) AS followed_share,
    cluster_low(followed, observed, followed_effective) AS followed_low,
    cluster_high(followed, observed, followed_effective) AS followed_high,
    n_when_followed,
    good_when_followed / nullif(n_when_followed, 0) AS succeeded_when_followed,
    cluster_low(good_when_followed, n_when_followed, effective_when_followed) AS low_when_followed,
    cluster_high(good_when_followed, n_when_followed, effective_when_followed) AS high_when_followed,
    n_when_not,
    good_when_not / nullif(n_when_not, 0) AS succeeded_when_not,
    cluster_low(good_when_not, n_when_not, effective_when_not) AS low_when_not,
    cluster_high(good_when_not, n_when_not, effective_when_not) AS high_when_not,
    n - observed AS unobserved,
    too_few_draws(clusters, observed, $min_n) AS too_few,
    clusters,
    observed / nullif(followed_effective, 0) AS design_effect
FROM with_effect
WHERE advice IS NOT NULL
ORDER BY n DESC, /* by names */ tool, /* end by */ advice
