-- What follows what in a conversation, and what leads to failure or success?
--
-- One row per pair of successive steps. A step is a call, at its first attempt and with its last status; calls are in the
-- order of their start, so calls that run at the same time count as successive. (start) and (end) are steps of their own.
-- The row says how often the second step fails after the first (rate), and how that compares with all steps of the same
-- tool (lift = rate / usual_rate). Where conversations have outcomes (tt.label(conversation_id=…)), success_share is the
-- share of those with this pair that reached their goal, and success_without that of the others. A difference may have
-- any reason: what follows a step is not what the step brought about.
--
-- With `by`, a pair belongs to the group of its second step, or with (end) to that of its first. Its rate is compared with
-- the steps of the tool in the same group, while its share is of all occurrences of the first step. The order of the
-- steps is that of the whole conversation.
--
-- The steps of one conversation are similar, so the intervals count conversations as clusters, and that of lift takes into
-- account that the steps of the pair are among all steps of the tool. It is NULL if the tool has no other step. Its upper
-- limit is also NULL, which means unbounded, if the tool failed in fewer than 15 conversations: they do not show how seldom
-- the tool usually fails. Calls without a conversation are left out.
--
-- Measured on simulated histories of 5 to 50 conversations, with rates of 0.02 to 0.9 and an ICC of 0 to 0.5: the 95 %
-- interval of lift contains the true value in 94 to 100 % of them (docs/explanation/coverage.md).
--
-- group: agents
-- by: none (default), version, agent, model, release, environment, attributes
-- parameters:
--   since   timestamp = NULL  conversations that started at this time or later
--   until   timestamp = NULL  conversations that started before this time
--   agent   text = NULL       calls of this agent only
--   tool    text = NULL       pairs with this tool only
--   min_n   integer = 20      a pair that occurs fewer times is marked too_few
--   limit   integer = 200     maximum number of pairs, the most frequent first
-- columns:
--   from_tool        text    tool of the first step, or (start)
--   from_status      text    status of the first step: success (or partial), error or none; start for (start)
--   to_tool          text    tool of the second step, or (end)
--   n                count   occurrences of the pair
--   conversations    count   conversations in which it occurs
--   share            share   n / occurrences of the first step
--   share_low        low(share)   95 % interval of share
--   share_high       high(share)  95 % interval of share
--   failures         count   second steps that failed
--   rate             share   failures / second steps with a status
--   low              low(rate)    95 % interval of rate
--   high             high(rate)   95 % interval of rate
--   usual_rate       share   share of all steps of the second tool that failed; without interval: lift has one
--   lift             ratio   rate / usual_rate
--   lift_low         low(lift)    95 % interval of lift
--   lift_high        high(lift)   95 % interval of lift; NULL if unbounded
--   labelled         count   conversations with the pair that have an outcome
--   success_share    share   share of them that reached their goal
--   success_low      low(success_share)   95 % interval of success_share
--   success_high     high(success_share)  95 % interval of success_share
--   success_without  share   share of the labelled conversations without the pair that reached their goal
--   too_few          mark    n < min_n, or the steps are from fewer than 5 conversations: read the intervals
--   design_effect    ratio   steps for each independent one that rate is as precise as
-- important: from_tool, from_status, to_tool, n, rate, lift
-- verdict: max(failures) The pair with the most failures is {to_tool} after {from_tool} ({from_status}): {failures:failure}
--   in {n:step}, {rate} ({low} to {high}); usually {usual_rate} of the steps of {to_tool} fail.
-- next: query blame
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998); interval of a
--   ratio of correlated shares: MOVER (Donner and Zou 2012), from the limits of the pair and of all steps of the tool
WITH in_window AS (
    SELECT conversation_id
    FROM attempts
    WHERE conversation_id IS NOT NULL AND ($since IS NOT NULL OR $until IS NOT NULL)
    GROUP BY conversation_id
    HAVING ($since IS NULL OR min(started_at) >= $since)
       AND ($until IS NULL OR min(started_at) < $until)
),
-- numbers instead of texts, which are only compared
scoped AS NOT MATERIALIZED (
    SELECT
        /* by */ /* end by */
        text_key(conversation_id) AS conversation,
        text_key(tool) AS called,
        text_key(call_id) AS call_number,
        epoch_us(started_at) AS started_us,
        span_order(span_id) AS span_place,
        attempt_order(attempt, started_at, span_id) AS attempt_place,
        status
    FROM attempts
    WHERE conversation_id IS NOT NULL
      AND ($since IS NULL AND $until IS NULL OR conversation_id IN (SELECT conversation_id FROM in_window))
      AND ($agent IS NULL OR agent = $agent)
),
-- most calls have one attempt, and need no grouping
multi_attempt_calls AS (
    SELECT call_number FROM scoped GROUP BY call_number HAVING count(*) > 1
),
-- state: 0 without a status, 1 success, 2 error
steps AS (
    SELECT
        /* by names */ /* end by */
        conversation,
        called,
        started_us AS at_us,
        span_place AS first_span,
        CASE WHEN status = 'error' THEN 2 WHEN status IS NULL THEN 0 ELSE 1 END AS state
    FROM scoped
    WHERE call_number NOT IN (SELECT call_number FROM multi_attempt_calls)
    UNION ALL
    SELECT
        /* by names */ /* end by */
        conversation,
        called,
        min(started_us) AS at_us,
        min(span_place) AS first_span,
        CASE WHEN arg_max(status, attempt_place) = 'error' THEN 2 WHEN max(status) IS NULL THEN 0 ELSE 1 END AS state
    FROM scoped
    WHERE call_number IN (SELECT call_number FROM multi_attempt_calls)
    GROUP BY /* by names */ /* end by */ conversation, called, call_number
),
ordered AS (
    SELECT
        /* by names */ /* end by */
        conversation,
        called,
        state,
        lag(called) OVER in_order AS from_called,
        lag(state) OVER in_order AS from_state,
        lead(called) OVER in_order AS next_called
    FROM steps
    WINDOW in_order AS (PARTITION BY conversation ORDER BY at_us, first_span)
),
-- a pair without a status has is_known = 0; from_state 3 is (start), and is_call 0 is (end)
pairs AS (
    SELECT /* by names */ /* end by */ conversation, coalesce(from_called, 0) AS from_called, coalesce(from_state, 3) AS from_state,
        called AS to_called, 1 AS is_call,
        CASE WHEN state > 0 THEN 1e0 ELSE 0e0 END AS is_known,
        CASE WHEN state = 2 THEN 1e0 ELSE 0e0 END AS is_failed
    FROM ordered
    UNION ALL
    SELECT /* by names */ /* end by */ conversation, called AS from_called, state AS from_state, 0 AS to_called, 0 AS is_call,
        0e0 AS is_known, 0e0 AS is_failed
    FROM ordered
    WHERE next_called IS NULL
),
per_conversation AS (
    SELECT /* by names */ /* end by */ from_called, from_state, to_called, is_call, conversation,
        CAST(count(*) AS DOUBLE) AS n,
        sum(is_known) AS known,
        sum(is_failed) AS failed
    FROM pairs
    GROUP BY /* by names */ /* end by */ from_called, from_state, to_called, is_call, conversation
),
outcome AS (
    SELECT text_key(conversation_id) AS of_conversation, CASE WHEN correct THEN 1e0 ELSE 0e0 END AS is_right
    FROM conversation_labels
),
-- tool_known, tool_failed: of all steps of the second tool in the conversation; cluster_n: of the first step; tool_row,
-- group_row: 1 in one row for each second tool, and in one row for each group, of the conversation
with_totals AS (
    SELECT p.*, is_right,
        sum(n) OVER (PARTITION BY from_called, from_state, conversation) AS cluster_n,
        sum(known) OVER of_second AS tool_known,
        sum(failed) OVER of_second AS tool_failed,
        row_number() OVER of_second AS tool_row,
        row_number() OVER (PARTITION BY /* by names */ /* end by */ conversation) AS group_row
    FROM per_conversation AS p
    LEFT JOIN outcome ON of_conversation = conversation
    WINDOW of_second AS (PARTITION BY /* by names */ /* end by */ to_called, is_call, conversation)
),
-- ff … kn: sums over conversations of products of the pair's failed and known steps (f, k) and those of its tool (s, n)
per_pair AS (
    SELECT /* by names */ /* end by */ from_called, from_state, to_called, is_call,
        sum(n) AS n,
        count(*) AS conversations,
        count(*) FILTER (WHERE known > 0) AS clusters,
        sum(n * n) AS share_ss,
        sum(n * cluster_n) AS share_sn,
        sum(n / cluster_n) AS share_clusters,
        sum(known) AS known,
        sum(failed) AS failed,
        clustered_n(failed, known) AS effective,
        sum(failed * failed) AS ff,
        sum(failed * known) AS fk,
        sum(known * known) AS kk,
        sum(failed * tool_failed) AS fs,
        sum(failed * tool_known) AS fn,
        sum(known * tool_failed) AS ks,
        sum(known * tool_known) AS kn,
        count(CASE WHEN tool_row = 1 AND tool_known > 0 THEN 1 END) AS part_clusters,
        count(CASE WHEN tool_row = 1 AND tool_failed > 0 THEN 1 END) AS part_failing,
        sum(CASE WHEN tool_row = 1 THEN tool_failed ELSE 0e0 END) AS part_s,
        sum(CASE WHEN tool_row = 1 THEN tool_known ELSE 0e0 END) AS part_n,
        sum(CASE WHEN tool_row = 1 THEN tool_failed * tool_failed ELSE 0e0 END) AS part_ss,
        sum(CASE WHEN tool_row = 1 THEN tool_failed * tool_known ELSE 0e0 END) AS part_sn,
        sum(CASE WHEN tool_row = 1 THEN tool_known * tool_known ELSE 0e0 END) AS part_nn,
        count(CASE WHEN group_row = 1 THEN is_right END) AS part_labelled,
        coalesce(sum(CASE WHEN group_row = 1 THEN is_right END), 0.0) AS part_reached,
        count(is_right) AS labelled,
        coalesce(sum(is_right), 0.0) AS reached
    FROM with_totals
    GROUP BY /* by names */ /* end by */ from_called, from_state, to_called, is_call
),
-- tool_…: of all steps of the second tool, of all conversations
measured AS (
    SELECT *,
        1 AS everything,
        sum(n) OVER of_first AS from_n,
        effective_n(round(sum(share_clusters) OVER of_first), sum(n) OVER of_first, n, share_ss, share_sn,
            sum(share_sn) OVER of_first) AS share_effective,
        round(sum(share_clusters) OVER of_first) AS from_clusters,
        sum(part_clusters) OVER of_tool AS tool_clusters,
        sum(part_failing) OVER of_tool AS tool_failing,
        sum(part_n) OVER of_tool AS tool_n,
        sum(part_s) OVER of_tool AS tool_s,
        sum(part_ss) OVER of_tool AS tool_ss,
        sum(part_sn) OVER of_tool AS tool_sn,
        sum(part_nn) OVER of_tool AS tool_nn
    FROM per_pair
    WINDOW of_first AS (PARTITION BY from_called, from_state), of_tool AS (PARTITION BY /* by names */ /* end by */ to_called, is_call)
),
rates AS (
    SELECT *,
        failed / nullif(known, 0) AS r,
        tool_s / nullif(tool_n, 0) AS u,
        sum(part_labelled) OVER of_group AS group_labelled,
        sum(part_reached) OVER of_group AS group_reached
    FROM measured
    WINDOW of_group AS (PARTITION BY /* by names */ /* end by */ everything)
),
-- correlation: of r and u, between conversations
correlations AS (
    SELECT *, coalesce(
        (fs - u * fn - r * ks + r * u * kn) / nullif(sqrt(greatest(
            0.0, (ff - 2 * r * fk + r * r * kk) * (tool_ss - 2 * u * tool_sn + u * u * tool_nn))), 0), 0.0) AS correlation
    FROM rates
),
limits AS (
    SELECT *,
        cluster_low(failed, known, effective) AS r_low,
        cluster_high(failed, known, effective) AS r_high,
        cluster_low(tool_s, tool_n, effective_n(tool_clusters, tool_n, tool_s, tool_ss, tool_sn, tool_nn)) AS u_low,
        cluster_high(tool_s, tool_n, effective_n(tool_clusters, tool_n, tool_s, tool_ss, tool_sn, tool_nn)) AS u_high,
        -- a positive correlation is reduced where conversations are few
        correlation * CASE WHEN correlation > 0 THEN 1 - 3.0 / greatest(3.0, known * known / kk) ELSE 1.0 END AS shared
    FROM correlations
),
-- the names of the tools, for the rows that are shown
names AS (
    SELECT text_key(tool) AS tool_key, max(tool) AS name FROM attempts GROUP BY text_key(tool)
),
ratios AS (
    SELECT *,
        r * u - shared * (r - r_low) * (u_high - u) AS low_product,
        r * u - shared * (r_high - r) * (u - u_low) AS high_product,
        CASE WHEN from_state = 3 THEN '(start)' ELSE f.name END AS from_tool,
        CASE from_state WHEN 0 THEN 'none' WHEN 1 THEN 'success' WHEN 2 THEN 'error' ELSE 'start' END AS from_status,
        CASE WHEN is_call = 0 THEN '(end)' ELSE t.name END AS to_tool
    FROM limits AS l
    LEFT JOIN names AS f ON f.tool_key = l.from_called
    LEFT JOIN names AS t ON t.tool_key = l.to_called
)
SELECT
    /* by names */ /* end by */
    from_tool,
    from_status,
    to_tool,
    CAST(n AS BIGINT) AS n,
    conversations,
    n / from_n AS share,
    cluster_low(n, from_n, share_effective) AS share_low,
    cluster_high(n, from_n, share_effective) AS share_high,
    CASE WHEN is_call = 1 THEN CAST(failed AS BIGINT) END AS failures,
    r AS rate,
    r_low AS low,
    r_high AS high,
    u AS usual_rate,
    r / nullif(u, 0) AS lift,
    CASE WHEN u > 0 AND tool_n > known THEN CASE WHEN r_low <= 0 THEN 0.0 ELSE r_low * (2 * r - r_low)
        / (low_product + sqrt(greatest(0.0, low_product * low_product - r_low * (2 * r - r_low) * u_high * (2 * u - u_high))))
        END END AS lift_low,
    CASE WHEN u > 0 AND tool_n > known AND tool_failing >= 15 THEN
        (high_product + sqrt(greatest(0.0, high_product * high_product - r_high * (2 * r - r_high) * u_low * (2 * u - u_low))))
        / (u_low * (2 * u - u_low)) END AS lift_high,
    labelled,
    reached / nullif(labelled, 0) AS success_share,
    wilson_low(reached, labelled) AS success_low,
    wilson_high(reached, labelled) AS success_high,
    (group_reached - reached) / nullif(group_labelled - labelled, 0) AS success_without,
    CASE WHEN is_call = 1 THEN too_few_draws(clusters, known, $min_n) ELSE too_few_draws(from_clusters, from_n, $min_n) END
        AS too_few,
    known / nullif(effective, 0) AS design_effect
FROM ratios
WHERE $tool IS NULL OR from_tool = $tool OR to_tool = $tool
ORDER BY n DESC, from_tool, from_status, to_tool, /* by names */ /* end by */ is_call
LIMIT $limit
