-- What follows what in a conversation, and what leads to failure or success?
--
-- One row per pair of successive steps. A step is a call, at its first attempt and with its last status; calls are in the
-- order of their start, so calls that run at the same time count as successive. (start) and (end) are steps of their own.
-- The row says how often the second step fails after the first (rate), and how that compares with all steps of the same
-- tool (lift = rate / usual_rate). Where conversations have outcomes (tt.label(conversation_id=…)), success_share is the
-- share of those with this pair that reached their goal, and success_without that of the others. A difference may have
-- any reason: what follows a step is not what the step brought about.
--
-- With `by`, a step belongs to the group of the last attempt of its call, and a pair to that of its second step, or with (end)
-- to that of its first. Its rate is compared with
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
-- reasoner: paths
-- order: n desc, from_tool, from_status, to_tool, groups
WITH steps AS (
    -- one row per call
    SELECT
        {by},
        cluster,
        tool AS called,
        call_started_at,
        span_id,
        CASE WHEN call_status IS NULL THEN 'none' WHEN call_status = 'error' THEN 'error' ELSE 'success' END AS state,
        is_right
    FROM facts
    LEFT JOIN (
        SELECT conversation_id AS of_conversation, CASE WHEN correct THEN 1 ELSE 0 END AS is_right FROM conversation_labels
    ) AS outcomes ON of_conversation = conversation
    WHERE conversation IS NOT NULL
      AND is_last
      AND ($agent IS NULL OR agent = $agent)
      AND ($since IS NULL AND $until IS NULL OR cluster IN (
          SELECT cluster
          FROM facts
          WHERE conversation IS NOT NULL AND ($since IS NOT NULL OR $until IS NOT NULL)
          GROUP BY cluster
          HAVING ($since IS NULL OR min(started_at) >= $since) AND ($until IS NULL OR min(started_at) < $until)
      ))
),
in_order AS (
    SELECT *, lag(called) OVER calls AS before, lag(state) OVER calls AS state_before, lead(called) OVER calls AS after
    FROM steps
    WINDOW calls AS (PARTITION BY cluster ORDER BY call_started_at, span_id)
),
-- n: how often a pair occurs in a conversation. from_tool is NULL at its start, and to_tool at its end
pairs AS (
    SELECT {by}, cluster, before AS from_tool, coalesce(state_before, 'start') AS from_status, called AS to_tool, max(is_right) AS is_right,
        count(*) AS n, count(*) FILTER (WHERE state <> 'none') AS known, count(*) FILTER (WHERE state = 'error') AS failed
    FROM in_order
    GROUP BY ALL
    UNION ALL
    SELECT {by}, cluster, called, state, NULL, is_right, 1, 0, 0 FROM in_order WHERE after IS NULL
),
-- besides the pairs: the steps of each tool, and the conversations, of each group
levels AS (
    SELECT {by}, cluster, from_tool, from_status, to_tool, is_right, n, known, failed FROM pairs
    UNION ALL
    SELECT {by}, cluster, NULL, 'tool', to_tool, NULL, sum(n), sum(known), sum(failed) FROM pairs GROUP BY {by}, cluster, to_tool
    UNION ALL
    SELECT {by}, cluster, NULL, 'group', NULL, max(is_right), 1, 0, 0 FROM pairs GROUP BY {by}, cluster
),
-- of_first: pairs with the same first step in the conversation; tool_known, tool_failed: its steps of the second tool in the group
with_totals AS (
    SELECT
        *,
        CASE WHEN is_right IS NULL THEN 0 ELSE 1 END AS is_labelled,
        sum(n) OVER (PARTITION BY cluster, from_tool, from_status) AS of_first,
        max(CASE WHEN from_status = 'tool' THEN known END) OVER (PARTITION BY {by}, cluster, to_tool) AS tool_known,
        max(CASE WHEN from_status = 'tool' THEN failed END) OVER (PARTITION BY {by}, cluster, to_tool) AS tool_failed
    FROM levels
)
SELECT
    {by},
    from_tool,
    from_status,
    to_tool,
    sum(n) AS n,
    count(*) AS conversations,
    count(*) FILTER (WHERE failed > 0) AS failing,
    sum(n / of_first) AS share_clusters,
    sum(1e0 * n * n) AS share_ss,
    sum(1e0 * n * of_first) AS share_sn,
    sums(failed, known) AS rate,
    sum(1e0 * failed * tool_failed) AS fs,
    sum(1e0 * failed * tool_known) AS fn,
    sum(1e0 * known * tool_failed) AS ks,
    sum(1e0 * known * tool_known) AS kn,
    sums(is_right, is_labelled) AS success_share
FROM with_totals
GROUP BY ALL
