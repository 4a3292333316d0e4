-- Is the tools' advice on what to do next followed, and does that help?
--
-- One row for each advice in a group, over the finished attempts that gave it. What came after them is looked at
-- beyond until, and in other tools. An advice was followed:
--   retry         where the call has a later attempt; a model that asks anew under a new id is not seen
--   continue      where the call has no later attempt
--   stop          where no tool began after it in its conversation, so far; not known without a conversation
--   ask_user      where the next attempt in its conversation waited for a person, or was of another run (another
--                 trace, both attempts inside a span); not where it went on in the same trace; else not known
--   human_review  as ask_user, but of another run it is not known
-- Success of a retry that was made is a later attempt of the call that reports no error; NULL where none of them
-- finished. Of everything else it is what somebody judged the attempt to be: without a label it is not known.
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      an advice that was observed fewer times is marked too_few
-- columns:
--   advice                   text   continue, retry, ask_user, human_review or stop
--   n                        count  finished attempts that gave it
--   advised_share            share  n / finished attempts of the group
--   advised_low              low(advised_share)   95 % interval of advised_share
--   advised_high             high(advised_share)  95 % interval of advised_share
--   observed                 count  of n, those where it is known whether it was followed
--   followed                 count  of those, how many were
--   followed_share           share  followed / observed
--   followed_low             low(followed_share)            95 % interval
--   followed_high            high(followed_share)           95 % interval
--   n_when_followed          count  of followed, those whose success is known
--   succeeded_when_followed  share  how many of them succeeded / n_when_followed
--   low_when_followed        low(succeeded_when_followed)   95 % interval
--   high_when_followed       high(succeeded_when_followed)  95 % interval
--   n_when_not               count  of those not followed, those whose success is known
--   succeeded_when_not       share  how many of them succeeded / n_when_not
--   low_when_not             low(succeeded_when_not)        95 % interval
--   high_when_not            high(succeeded_when_not)       95 % interval
--   unobserved               aside  of n, those where it is not known whether it was followed
--   too_few                  mark   observed < min_n: read the interval, not the rate
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
WITH scoped AS (
    SELECT *,
        is_finished(status, ending) AS finished,
        ending NOT IN ('paused', 'declined', 'expired') AS executed,
        ($until IS NULL OR started_at < $until) AND ($tool IS NULL OR tool = $tool) AS asked
    FROM tool_calls
    WHERE ($since IS NULL OR started_at >= $since)
),
-- what came later in the call, for the ids of more than one attempt: most calls are tried once
tried AS (
    SELECT
        span_id AS of_span,
        count(*) OVER later AS later_tries,
        max(CASE WHEN finished THEN CASE WHEN status <> 'error' THEN 1 ELSE 0 END END) OVER later AS later_good
    FROM scoped
    WHERE call_id IN (SELECT call_id FROM scoped GROUP BY call_id HAVING count(*) > 1)
    WINDOW later AS (
        PARTITION BY call_key(tool, call_id, conversation_id, host, pid), executed
        ORDER BY started_at, attempt, span_id
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    )
),
starts AS (
    SELECT
        conversation_id AS talk,
        started_at AS moment,
        min(trace_id) AS run,
        bool_and(parent_span_id IS NOT NULL) AS inside,
        bool_or(ending IN ('paused', 'declined', 'expired') OR span_id IN (SELECT span_id FROM gates)) AS waited
    FROM scoped
    WHERE conversation_id IS NOT NULL
    GROUP BY ALL
),
ends AS (
    SELECT
        span_id AS of_span,
        conversation_id AS talk,
        -- 1 us at least, so that it ends after its own start; what was imported may last NaN or for ever
        started_at + to_microseconds(CASE
            WHEN coalesce(duration_ms, 0) + coalesce(consumer_ms, 0) BETWEEN 0.001 AND 1e12
            THEN CAST(1000 * (coalesce(duration_ms, 0) + coalesce(consumer_ms, 0)) AS BIGINT)
            ELSE 1 END) AS moment,
        trace_id AS run,
        parent_span_id IS NOT NULL AS inside
    FROM scoped
    WHERE finished AND asked AND next_action IN ('stop', 'ask_user', 'human_review') AND conversation_id IS NOT NULL
),
-- what began first in the conversation after the attempt had ended
came AS (
    SELECT
        e.of_span,
        s.talk IS NOT NULL AS goes_on,
        s.waited,
        s.run = e.run AS same_run,
        s.inside AND e.inside AND s.run <> e.run AS other_run
    FROM ends AS e
    ASOF LEFT JOIN starts AS s ON s.talk = e.talk AND s.moment >= e.moment
),
attempts_with_outcome AS (
    SELECT
        /* by */ tool, /* end by */
        next_action AS advice,
        CASE
            WHEN next_action = 'retry' THEN coalesce(later_tries, 0) > 0
            WHEN next_action = 'continue' THEN coalesce(later_tries, 0) = 0
            WHEN next_action = 'stop' THEN NOT c.goes_on
            WHEN c.waited THEN true
            WHEN c.same_run THEN false
            WHEN next_action = 'ask_user' AND c.other_run THEN true
        END AS heeded,
        CASE
            WHEN next_action = 'retry' AND later_tries > 0
            THEN later_good = 1
            ELSE j.correct
        END AS succeeded
    FROM scoped
    LEFT JOIN tried AS t ON t.of_span = scoped.span_id
    LEFT JOIN came AS c ON c.of_span = scoped.span_id
    LEFT JOIN judged AS j ON j.span_id = scoped.span_id
    WHERE finished AND asked
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        advice,
        count(*) AS n,
        count(heeded) AS observed,
        count(*) FILTER (WHERE heeded) AS followed,
        count(succeeded) FILTER (WHERE heeded) AS n_when_followed,
        count(*) FILTER (WHERE heeded AND succeeded) AS good_when_followed,
        count(succeeded) FILTER (WHERE NOT heeded) AS n_when_not,
        count(*) FILTER (WHERE NOT heeded AND succeeded) AS good_when_not
    FROM attempts_with_outcome
    GROUP BY ALL
),
totals AS (
    SELECT *, CAST(sum(n) OVER (PARTITION BY /* by names */ tool, /* end by */ 1) AS BIGINT) AS finished
    FROM counted
)
SELECT
    /* by names */ tool, /* end by */
    advice,
    n,
    n / finished AS advised_share,
    wilson_low(n, finished) AS advised_low,
    wilson_high(n, finished) AS advised_high,
    observed,
    followed,
    followed / nullif(observed, 0) AS followed_share,
    wilson_low(followed, observed) AS followed_low,
    wilson_high(followed, observed) AS followed_high,
    n_when_followed,
    good_when_followed / nullif(n_when_followed, 0) AS succeeded_when_followed,
    wilson_low(good_when_followed, n_when_followed) AS low_when_followed,
    wilson_high(good_when_followed, n_when_followed) AS high_when_followed,
    n_when_not,
    good_when_not / nullif(n_when_not, 0) AS succeeded_when_not,
    wilson_low(good_when_not, n_when_not) AS low_when_not,
    wilson_high(good_when_not, n_when_not) AS high_when_not,
    n - observed AS unobserved,
    observed < $min_n AS too_few
FROM totals
WHERE advice IS NOT NULL
ORDER BY n DESC, /* by names */ tool, /* end by */ advice
