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
-- If attempts of several traces start next, in the same microsecond, and none of them waited, it is unknown.
-- A retry succeeded if a later attempt of the call did not report an error; NULL if no later attempt finished. For all
-- other cases, success is the label of the attempt; without a label it is unknown.
--
-- group: agents
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
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
-- reasoner: next_action
-- order: n desc, groups, advice
SELECT
    {by},
    advice,
    sum(n) AS n,
    -- the products with all finished attempts of the cluster: added up over all advice, they are the sums over clusters
    sum(CAST(n AS DOUBLE) * n) AS advised_share_ss,
    sum(CAST(n AS DOUBLE) * cluster_n) AS advised_share_sn,
    sum(CAST(n AS DOUBLE) / cluster_n) AS advised_share_clusters,
    sums(followed, observed) AS followed_share,
    sums(good_followed, known_followed) AS succeeded_when_followed,
    sums(good_not, known_not) AS succeeded_when_not
FROM (
    SELECT *, sum(n) OVER (PARTITION BY {by}, cluster) AS cluster_n
    FROM (
        -- one row for each group, cluster and advice
        SELECT
            {by},
            cluster,
            advice,
            count(*) AS n,
            count(was_followed) AS observed,
            count(*) FILTER (WHERE was_followed) AS followed,
            count(succeeded) FILTER (WHERE was_followed) AS known_followed,
            count(*) FILTER (WHERE was_followed AND succeeded) AS good_followed,
            count(succeeded) FILTER (WHERE NOT was_followed) AS known_not,
            count(*) FILTER (WHERE NOT was_followed AND succeeded) AS good_not
        FROM (
            SELECT {by}, cluster, next_action AS advice,
                CASE next_action WHEN 'retry' THEN coalesce(again, 0) = 1 WHEN 'continue' THEN coalesce(again, 0) = 0 ELSE was_seen END AS was_followed,
                CASE WHEN next_action = 'retry' AND again = 1 THEN good_again = 1 ELSE correct END AS succeeded
            FROM facts
            LEFT JOIN (
                -- again: whether the call has a later attempt; good_again: whether a later one did not fail
                SELECT tried_span, again, good_again
                FROM (
                    SELECT span_id AS tried_span, next_action AS tried_action,
                        max(CASE WHEN ending NOT IN ('paused', 'declined', 'expired', 'refused') THEN 1 ELSE 0 END) OVER later AS again,
                        max(CASE WHEN finished THEN CASE WHEN failed THEN 0 ELSE 1 END END) OVER later AS good_again
                    FROM facts
                    WHERE is_repeated AND call_key IN (SELECT call_key FROM facts WHERE next_action IN ('retry', 'continue'))
                    WINDOW later AS (PARTITION BY call_key ORDER BY call_order ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
                ) AS tried
                WHERE tried_action IN ('retry', 'continue')
            ) AS tries ON tried_span = span_id
            LEFT JOIN (
                -- what the conversation did next: it began with other attempts, at once, when this one had ended
                SELECT advised_span,
                    CASE
                        WHEN advised_action = 'stop' THEN s.talk IS NULL
                        WHEN waited = 1 THEN true
                        WHEN first_run = last_run AND first_run = own_run THEN false
                        WHEN first_run = last_run AND advised_action = 'ask_user' AND inside = 1 AND own_parent IS NOT NULL THEN true
                    END AS was_seen
                FROM (
                    SELECT span_id AS advised_span, next_action AS advised_action, trace_key AS own_run, parent_span_id AS own_parent,
                        conversation_key AS own_talk, CAST(greatest(1e0 * epoch_us(started_at) + 1, coalesce(ended_us, 0)) AS BIGINT) AS own_end_us
                    FROM facts
                    WHERE {window} AND finished AND conversation IS NOT NULL AND next_action IN ('stop', 'ask_user', 'human_review')
                ) AS advised
                ASOF LEFT JOIN (
                    SELECT conversation_key AS talk, epoch_us(started_at) AS at_us, min(trace_key) AS first_run, max(trace_key) AS last_run,
                        min(CASE WHEN parent_span_id IS NULL THEN 0 ELSE 1 END) AS inside,
                        max(CASE WHEN ending IN ('paused', 'declined', 'expired') OR span_id IN (SELECT span_id FROM gates) THEN 1 ELSE 0 END) AS waited
                    FROM facts
                    WHERE conversation IS NOT NULL AND conversation_key IN (SELECT conversation_key FROM facts WHERE next_action IN ('stop', 'ask_user', 'human_review'))
                    GROUP BY conversation_key, epoch_us(started_at)
                ) AS s ON s.talk = own_talk AND s.at_us >= own_end_us
            ) AS seen ON advised_span = span_id
            LEFT JOIN (SELECT span_id AS judged_span, correct FROM judged) AS labels ON judged_span = span_id
            WHERE {window} AND finished AND next_action IS NOT NULL
        ) AS attempts_with_outcome
        GROUP BY ALL
        UNION ALL
        SELECT {by}, cluster, NULL AS advice, count(*), 0, 0, 0, 0, 0, 0
        FROM facts
        WHERE {window} AND finished AND next_action IS NULL
        GROUP BY {by}, cluster
    ) AS clusters
) AS with_cluster
GROUP BY ALL
