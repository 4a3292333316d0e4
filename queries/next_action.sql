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
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 94 to 100 % of them (docs/explanation/coverage.md).
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
WITH scoped AS NOT MATERIALIZED (
    SELECT *,
        is_finished(status, ending) AS finished,
        ending NOT IN ('paused', 'declined', 'expired', 'refused') AS executed,
        ($until IS NULL OR started_at < $until) AS in_scope,
        -- whether the advice is followed is seen in the conversation; of the other attempts, in their call
        coalesce(next_action IN ('stop', 'ask_user', 'human_review') AND conversation_id IS NOT NULL, false) AS seen_in_conversation
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($tool IS NULL OR tool = $tool)
),
-- when the attempts of a conversation (talk: its number) started, of any tool; several may have started at once. run: their
-- trace, NULL if they are of several
starts AS (
    SELECT
        cluster_hash AS talk,
        started_at AS at_time,
        CASE WHEN min(text_key(trace_id)) = max(text_key(trace_id)) THEN min(text_key(trace_id)) END AS run,
        bool_and(parent_span_id IS NOT NULL) AS inside,
        bool_or(ending IN ('paused', 'declined', 'expired') OR span_id IN (SELECT span_id FROM gates)) AS waited
    FROM attempts
    WHERE conversation_id IS NOT NULL AND ($since IS NULL OR started_at >= $since)
    GROUP BY cluster_hash, started_at
),
ends AS (
    SELECT
        /* by */ tool, /* end by */
        span_id AS attempt_span,
        next_action AS advice,
        cluster_hash AS cluster,
        started_at AS started,
        -- at least 1 us, so that an attempt ends after its start; an imported duration may be NaN or infinite
        started_at + to_microseconds(CASE
            WHEN coalesce(duration_ms, 0) + coalesce(consumer_ms, 0) BETWEEN 0.001 AND 1e12
            THEN CAST(1000 * (coalesce(duration_ms, 0) + coalesce(consumer_ms, 0)) AS BIGINT)
            ELSE 1 END) AS end_time,
        text_key(trace_id) AS own_run,
        parent_span_id IS NOT NULL AS own_inside
    FROM scoped
    WHERE finished AND in_scope AND seen_in_conversation
),
-- most calls have one attempt; of the others, later attempts count
tried AS (
    SELECT
        /* by */ tool, /* end by */
        span_id AS attempt_span,
        next_action AS advice,
        cluster_hash AS cluster,
        started_at AS started,
        finished AND in_scope AND NOT seen_in_conversation AS counts,
        count(*) OVER later AS later_tries,
        max(CASE WHEN finished THEN CASE WHEN status <> 'error' THEN 1 ELSE 0 END END) OVER later AS later_success
    FROM scoped
    WHERE call_hash IN (SELECT call_hash FROM repeated_calls)
    WINDOW later AS (
        PARTITION BY call_hash, executed
        ORDER BY attempt_order(attempt, started_at, span_id)
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    )
),
-- retry_succeeded: of a retried attempt, whether a later one of the call succeeded
followed_or_not AS (
    SELECT
        /* by names */ tool, /* end by */
        attempt_span,
        advice,
        cluster,
        started,
        CASE
            WHEN advice = 'stop' THEN s.talk IS NULL
            WHEN s.waited THEN true
            WHEN s.run = own_run THEN false
            WHEN advice = 'ask_user' AND s.inside AND own_inside AND s.run <> own_run THEN true
        END AS was_followed,
        false AS is_retried,
        CAST(NULL AS BOOLEAN) AS retry_succeeded
    FROM ends AS e
    ASOF LEFT JOIN starts AS s ON s.talk = e.cluster AND s.at_time >= e.end_time
    UNION ALL
    SELECT
        /* by names */ tool, /* end by */
        attempt_span,
        advice,
        cluster,
        started,
        CASE advice WHEN 'retry' THEN later_tries > 0 WHEN 'continue' THEN later_tries = 0 END AS was_followed,
        coalesce(advice = 'retry' AND later_tries > 0, false) AS is_retried,
        later_success = 1 AS retry_succeeded
    FROM tried
    WHERE counts
    UNION ALL
    SELECT
        /* by */ tool, /* end by */
        span_id AS attempt_span,
        next_action AS advice,
        cluster_hash AS cluster,
        started_at AS started,
        CASE next_action WHEN 'retry' THEN false WHEN 'continue' THEN true END AS was_followed,
        false AS is_retried,
        CAST(NULL AS BOOLEAN) AS retry_succeeded
    FROM scoped
    WHERE finished AND in_scope AND NOT seen_in_conversation AND call_hash NOT IN (SELECT call_hash FROM repeated_calls)
),
attempts_with_outcome AS (
    SELECT
        /* by names */ tool, /* end by */
        advice,
        cluster,
        started,
        was_followed,
        CASE WHEN is_retried THEN retry_succeeded ELSE j.correct END AS succeeded
    FROM followed_or_not
    LEFT JOIN judged AS j ON j.span_id = attempt_span
),
-- grp: a number of the group, faster to group and to order by than its names; integers, because the rows are sorted
per_cluster AS (
    SELECT
        grp,
        advice,
        cluster,
        min(started) AS first,
        CAST(count(*) AS INTEGER) AS n,
        CAST(count(was_followed) AS INTEGER) AS observed,
        CAST(count(*) FILTER (WHERE was_followed) AS INTEGER) AS followed,
        CAST(count(succeeded) FILTER (WHERE was_followed) AS INTEGER) AS n_when_followed,
        CAST(count(*) FILTER (WHERE was_followed AND succeeded) AS INTEGER) AS good_when_followed,
        CAST(count(succeeded) FILTER (WHERE NOT was_followed) AS INTEGER) AS n_when_not,
        CAST(count(*) FILTER (WHERE NOT was_followed AND succeeded) AS INTEGER) AS good_when_not
    FROM (SELECT *, text_key(row(/* by names */ tool, /* end by */ 1)) AS grp FROM attempts_with_outcome) AS numbered
    GROUP BY grp, advice, cluster
),
names AS (
    SELECT DISTINCT /* by names */ tool, /* end by */ text_key(row(/* by names */ tool, /* end by */ 1)) AS grp
    FROM (SELECT /* by */ tool, /* end by */ span_id FROM scoped WHERE finished AND in_scope) AS named
),
-- one row per cluster of a group; n: its finished attempts, with any advice or none
clusters AS (
    SELECT grp, cluster, CAST(sum(n) AS DOUBLE) AS n, min(first) AS first
    FROM per_cluster
    GROUP BY grp, cluster
),
-- the starts that several clusters share: these clusters have no order
tied AS (
    SELECT first FROM clusters WHERE n > 1 GROUP BY grp, first HAVING count(*) > 1
),
-- place: of the clusters of several attempts in the order of time, because neighbours may be alike. Clusters without the
-- advice have a place too
placed AS (
    SELECT grp, cluster, n,
        row_number() OVER in_time AS place,
        lag(n) OVER in_time AS n_before,
        lead(n) OVER in_time AS n_after
    FROM clusters
    WHERE n > 1 AND first NOT IN (SELECT first FROM tied)
    WINDOW in_time AS (PARTITION BY grp ORDER BY first)
    UNION ALL
    SELECT grp, cluster, n, NULL AS place, NULL AS n_before, NULL AS n_after
    FROM clusters
    WHERE n <= 1 OR first IN (SELECT first FROM tied)
),
with_cluster AS (
    SELECT a.*, c.n AS cluster_n, c.place, c.n_before AS cluster_before, c.n_after AS cluster_after
    FROM per_cluster AS a
    JOIN placed AS c ON c.grp = a.grp AND c.cluster = a.cluster
),
in_order AS (
    SELECT * EXCLUDE (place),
        CASE WHEN lag(place) OVER in_time = place - 1 THEN lag(n) OVER in_time END AS n_before,
        lag(observed) OVER in_time AS observed_before,
        lag(followed) OVER in_time AS followed_before,
        lag(n_when_followed) OVER in_time AS n_followed_before,
        lag(good_when_followed) OVER in_time AS good_followed_before,
        lag(n_when_not) OVER in_time AS n_not_before,
        lag(good_when_not) OVER in_time AS good_not_before
    FROM with_cluster
    WHERE place IS NOT NULL
    WINDOW in_time AS (PARTITION BY grp, advice ORDER BY place)
    UNION ALL
    SELECT * EXCLUDE (place), NULL AS n_before, NULL AS observed_before, NULL AS followed_before,
        NULL AS n_followed_before, NULL AS good_followed_before, NULL AS n_not_before, NULL AS good_not_before
    FROM with_cluster
    WHERE place IS NULL
),
counted AS (
    SELECT
        grp,
        advice,
        CAST(sum(n) AS BIGINT) AS n,
        sum(1e0 * n * n) AS ss,
        sum(n * cluster_n) AS sn,
        sum(n / cluster_n) AS clusters_n,
        coalesce(sum(1e0 * n * n_before), 0) AS ss_next,
        coalesce(sum(1e0 * n * cluster_before), 0) + coalesce(sum(1e0 * n * cluster_after), 0) AS sn_next,
        sum(1e0 * n * cluster_before) AS nn_next,
        count(*) FILTER (WHERE observed > 0) AS clusters,
        CAST(sum(observed) AS BIGINT) AS observed,
        CAST(sum(followed) AS BIGINT) AS followed,
        chained_clusters(followed, observed, followed_before, observed_before) AS followed_effective,
        CAST(sum(n_when_followed) AS BIGINT) AS n_when_followed,
        CAST(sum(good_when_followed) AS BIGINT) AS good_when_followed,
        chained_clusters(good_when_followed, n_when_followed, good_followed_before, n_followed_before) AS effective_when_followed,
        CAST(sum(n_when_not) AS BIGINT) AS n_when_not,
        CAST(sum(good_when_not) AS BIGINT) AS good_when_not,
        chained_clusters(good_when_not, n_when_not, good_not_before, n_not_before) AS effective_when_not
    FROM in_order
    GROUP BY grp, advice
),
totals AS (
    SELECT *,
        CAST(sum(n) OVER of_group AS BIGINT) AS finished,
        round(sum(clusters_n) OVER of_group) AS clusters_of_group,
        sum(sn) OVER of_group AS nn,
        sum(nn_next) OVER of_group AS all_nn_next
    FROM counted
    WINDOW of_group AS (PARTITION BY grp)
),
with_effect AS (
    SELECT *, chained_n(clusters_of_group, finished, n, ss, sn, nn, ss_next, sn_next, all_nn_next) AS advised_effective
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
FROM with_effect AS e
JOIN names AS g ON g.grp = e.grp
WHERE advice IS NOT NULL
ORDER BY n DESC, /* by names */ tool, /* end by */ advice
