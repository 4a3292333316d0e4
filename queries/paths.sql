-- What follows what in a conversation, and what leads to failure or success?
--
-- One row per pair of successive steps. A step is a call, at its first attempt and with its last status; calls are in the
-- order of their start, so calls that run at the same time count as successive. (start) and (end) are steps of their own.
-- The row says how often the second step fails after the first (rate), and how that compares with all steps of the same
-- tool (lift = rate / usual_rate). Where conversations have outcomes (tt.label(conversation_id=…)), success_share is the
-- share of those with this pair that reached their goal, and success_without that of the others. A difference may have
-- any reason: what follows a step is not what the step brought about.
--
-- The steps of one conversation are similar, so the intervals count conversations as clusters. The interval of lift compares
-- the pair with all other steps of the tool; it is NULL if the tool has no other step, and high is NULL if it is unbounded.
-- Calls without a conversation are left out.
--
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
--   usual_rate       share   share of all steps of the second tool that failed
--   lift             ratio   rate / usual_rate
--   lift_low         low(lift)    95 % interval of lift
--   lift_high        high(lift)   95 % interval of lift
--   labelled         count   conversations with the pair that have an outcome
--   success_share    share   share of them that reached their goal
--   success_low      low(success_share)   95 % interval of success_share
--   success_high     high(success_share)  95 % interval of success_share
--   success_without  share   share of the labelled conversations without the pair that reached their goal
--   too_few          mark    n < min_n, or the steps are from fewer than 5 conversations: read the intervals
--   design_effect    ratio   steps for each independent one that rate is as precise as
-- important: from_tool, from_status, to_tool, n, rate, lift
-- next: query blame
-- source: Wilson score interval (Wilson 1927) of n / design effect (Kish 1965; Korn and Graubard 1998); interval of a
--   ratio: MOVER (Donner and Zou 2012), from the limits of the pair and of the other steps
WITH in_window AS (
    SELECT conversation_id AS conversation
    FROM attempts
    WHERE conversation_id IS NOT NULL
    GROUP BY conversation_id
    HAVING ($since IS NULL OR min(started_at) >= $since)
       AND ($until IS NULL OR min(started_at) < $until)
),
steps AS (
    SELECT
        conversation_id AS conversation,
        tool,
        min(started_at) AS at_time,
        min(span_id) AS first_span,
        CASE WHEN arg_max(status, attempt_order(attempt, started_at, span_id)) = 'error' THEN 'error'
             WHEN max(status) IS NULL THEN 'none'
             ELSE 'success' END AS state
    FROM attempts
    WHERE conversation_id IN (SELECT conversation FROM in_window)
      AND ($agent IS NULL OR agent = $agent)
    GROUP BY conversation_id, tool, call_id
),
-- a pair without a status has is_known = 0
ordered AS (
    SELECT
        conversation,
        tool,
        state,
        lag(tool) OVER in_order AS from_tool,
        lag(state) OVER in_order AS from_state,
        lead(tool) OVER in_order AS next_tool
    FROM steps
    WINDOW in_order AS (PARTITION BY conversation ORDER BY at_time, first_span)
),
pairs AS (
    SELECT conversation, coalesce(from_tool, '(start)') AS from_tool, coalesce(from_state, 'start') AS from_status,
        tool AS to_tool, 1 AS is_call,
        CASE WHEN state <> 'none' THEN 1.0 ELSE 0.0 END AS is_known,
        CASE WHEN state = 'error' THEN 1.0 ELSE 0.0 END AS is_failed
    FROM ordered
    UNION ALL
    SELECT conversation, tool AS from_tool, state AS from_status, '(end)' AS to_tool, 0 AS is_call, 0.0 AS is_known,
        0.0 AS is_failed
    FROM ordered
    WHERE next_tool IS NULL
),
outcome AS (
    SELECT conversation_id AS conversation, CASE WHEN correct THEN 1.0 ELSE 0.0 END AS is_right
    FROM conversation_labels
    WHERE conversation_id IN (SELECT conversation FROM steps)
),
outcomes_of_all AS (
    SELECT CAST(count(*) AS DOUBLE) AS labelled, coalesce(sum(is_right), 0.0) AS reached FROM outcome
),
per_conversation AS (
    SELECT from_tool, from_status, to_tool, is_call, conversation,
        CAST(count(*) AS DOUBLE) AS n,
        sum(is_known) AS known,
        sum(is_failed) AS failed
    FROM pairs
    GROUP BY from_tool, from_status, to_tool, is_call, conversation
),
-- tool_known, tool_failed: of all steps of the second tool in the conversation; cluster_n: of the first step
with_totals AS (
    SELECT p.*, o.is_right,
        sum(n) OVER (PARTITION BY from_tool, from_status, p.conversation) AS cluster_n,
        sum(known) OVER (PARTITION BY to_tool, is_call, p.conversation) AS tool_known,
        sum(failed) OVER (PARTITION BY to_tool, is_call, p.conversation) AS tool_failed
    FROM per_conversation AS p
    LEFT JOIN outcome AS o ON o.conversation = p.conversation
),
per_tool AS (
    SELECT to_tool AS of_tool, is_call AS of_call, count(*) AS clusters, sum(s) AS s, sum(n) AS n, sum(s * s) AS ss,
        sum(s * n) AS sn, sum(n * n) AS nn
    FROM (
        SELECT to_tool, is_call, conversation, sum(known) AS n, sum(failed) AS s
        FROM per_conversation
        GROUP BY to_tool, is_call, conversation
    ) AS of_conversation
    WHERE n > 0
    GROUP BY to_tool, is_call
),
-- other_…: how the sums over conversations change if the pair's own steps are left out
per_pair AS (
    SELECT from_tool, from_status, to_tool, is_call,
        sum(n) AS n,
        count(*) AS conversations,
        count(*) FILTER (WHERE known > 0) AS clusters,
        sum(n * n) AS share_ss,
        sum(n * cluster_n) AS share_sn,
        sum(n / cluster_n) AS share_clusters,
        sum(known) AS known,
        sum(failed) AS failed,
        clustered_n(failed, known) AS effective,
        sum((tool_failed - failed) * (tool_failed - failed) - tool_failed * tool_failed) AS other_ss,
        sum((tool_failed - failed) * (tool_known - known) - tool_failed * tool_known) AS other_sn,
        sum((tool_known - known) * (tool_known - known) - tool_known * tool_known) AS other_nn,
        count(*) FILTER (WHERE tool_known > 0 AND tool_known = known) AS only_here,
        count(is_right) AS labelled,
        coalesce(sum(is_right), 0.0) AS reached
    FROM with_totals
    GROUP BY from_tool, from_status, to_tool, is_call
),
measured AS (
    SELECT p.*,
        sum(p.n) OVER of_first AS from_n,
        effective_n(round(sum(share_clusters) OVER of_first), sum(p.n) OVER of_first, p.n, share_ss, share_sn,
            sum(share_sn) OVER of_first) AS share_effective,
        round(sum(share_clusters) OVER of_first) AS from_clusters,
        t.n AS tool_n,
        t.s AS tool_s,
        t.n - p.known AS other_n,
        t.s - p.failed AS other_s,
        effective_n(t.clusters - p.only_here, t.n - p.known, t.s - p.failed, t.ss + other_ss, t.sn + other_sn,
            t.nn + other_nn) AS other_effective
    FROM per_pair AS p
    LEFT JOIN per_tool AS t ON t.of_tool = p.to_tool AND t.of_call = p.is_call
    WINDOW of_first AS (PARTITION BY from_tool, from_status)
),
limits AS (
    SELECT *,
        failed / nullif(known, 0) AS r,
        cluster_low(failed, known, effective) AS r_low,
        cluster_high(failed, known, effective) AS r_high,
        other_s / nullif(other_n, 0) AS q,
        CASE WHEN other_n > 0 THEN cluster_low(other_s, other_n, other_effective) END AS q_low,
        CASE WHEN other_n > 0 THEN cluster_high(other_s, other_n, other_effective) END AS q_high
    FROM measured
),
-- ratio_low, ratio_high: limits of r / q; lift = ratio / (w * ratio + 1 - w) rises with it, where w = known / tool_n
ratios AS (
    SELECT *,
        CASE WHEN r_low <= 0 THEN 0.0 ELSE r_low * (2 * r - r_low)
            / (r * q + sqrt(greatest(0.0, r * r * q * q - r_low * (2 * r - r_low) * q_high * (2 * q - q_high)))) END AS ratio_low,
        CASE WHEN q_low > 0 THEN
            (r * q + sqrt(greatest(0.0, r * r * q * q - r_high * (2 * r - r_high) * q_low * (2 * q - q_low))))
            / (q_low * (2 * q - q_low)) END AS ratio_high
    FROM limits
)
SELECT
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
    tool_s / nullif(tool_n, 0) AS usual_rate,
    r / nullif(tool_s / nullif(tool_n, 0), 0) AS lift,
    CASE WHEN tool_s > 0 AND other_n > 0 THEN ratio_low / (known / tool_n * ratio_low + other_n / tool_n) END AS lift_low,
    CASE WHEN tool_s > 0 AND other_n > 0 THEN coalesce(
        ratio_high / (known / tool_n * ratio_high + other_n / tool_n), tool_n / nullif(known, 0)) END AS lift_high,
    labelled,
    reached / nullif(labelled, 0) AS success_share,
    wilson_low(reached, labelled) AS success_low,
    wilson_high(reached, labelled) AS success_high,
    (a.reached_by_all - reached) / nullif(a.labelled_of_all - labelled, 0) AS success_without,
    CASE WHEN is_call = 1 THEN too_few_draws(clusters, known, $min_n) ELSE too_few_draws(from_clusters, from_n, $min_n) END
        AS too_few,
    known / nullif(effective, 0) AS design_effect
FROM ratios
CROSS JOIN (SELECT labelled AS labelled_of_all, reached AS reached_by_all FROM outcomes_of_all) AS a
WHERE $tool IS NULL OR from_tool = $tool OR to_tool = $tool
ORDER BY n DESC, from_tool, from_status, to_tool, is_call
LIMIT $limit
