-- Is a tool better or worse than before, and is the difference more than noise?
--
-- One row per tool and measure: two windows, or two versions, side by side. An attempt is finished if it ended with a
-- status. A call failed if its last finished attempt failed. difference is after - before, with its 95 % interval. An
-- attempt that belongs to both sides counts as before.
--
-- Among many comparisons some differ by chance alone. The verdicts `worse` and `better` therefore require that the interval
-- which holds for all comparisons of the answer together (Bonferroni) excludes zero. `maybe_worse` and `maybe_better` mean
-- that only the 95 % interval excludes zero, which happens in one of twenty comparisons without any change. A confidence
-- gap is worse if it is further from zero.
--
-- All calls of one conversation count as one draw, because they are similar. A call without a conversation id is a draw of
-- its own; if such calls are similar to each other, the intervals are too narrow. A side is too small for a verdict
-- (`too_few`) if it has fewer than min_n measured items, fewer than five draws, or fewer than five conversations while at
-- least half of its items belong to conversations: few conversations do not show how much conversations differ, so there is
-- no interval either. `too_few` also stands for a p95 without a visible change if a side is too small to bound it (fewer
-- than about 105 independent calls). An outage makes neighbouring calls fail together: a difference that rests on one
-- outage describes that time only.
--
-- by: tool (default), agent, attributes
-- parameters:
--   before_since    timestamp = NULL  before: attempts that started at this time or later
--   before_until    timestamp = NULL  before: attempts that started before this time
--   before_version  text = NULL       before: this version only
--   since           timestamp = NULL  after: attempts that started at this time or later
--   until           timestamp = NULL  after: attempts that started before this time
--   version         text = NULL       after: this version only
--   tool            text = NULL       this tool only
--   min_n           integer = 20      a side with fewer items is marked too_few
-- columns:
--   measure     text             failure_rate (of attempts), call_failure_rate, p95 (latency without results from a cache), attempts_per_call, accuracy (right / labelled) or confidence_gap (mean confidence - accuracy)
--   unit        text             unit of before, after and difference: share, ms, ratio or points
--   before      number           the measure before
--   after       number           the measure after
--   difference  number           after - before
--   low         low(difference)   95 % interval of difference; NULL if unbounded or unknown
--   high        high(difference)  95 % interval of difference; NULL if unbounded or unknown
--   verdict     text             worse, better, maybe_worse, maybe_better, unclear, too_few, new (nothing before) or gone (nothing after)
--   n_before    count            attempts, calls or labelled attempts that before is computed from
--   n_after     count            the same for after
--   counted     text             what counts as one draw: conversation (a call without one is its own), or call if all calls are independent
--   compared    count            comparisons in this answer that have enough data
-- source: difference of proportions: Newcombe 1998, method 10 (Wilson limits, squared and added), with the effective
--   number of draws, n / design effect, the higher one of both sides (Kish 1965); difference of other measures: the
--   same from the limits of each side (Zou and Donner 2008, MOVER); mean: normal approximation, by draws;
--   percentile: order statistics with the design effect (Woodruff 1952), normal approximation of the binomial,
--   precise to one part in a thousand; normal quantile of Bonferroni's level: Abramowitz and Stegun 26.2.23;
--   percentile by linear interpolation (Hyndman and Fan 1996, type 7); z = 1.959963984540054
WITH scoped AS (
    SELECT
        /* by */ tool, /* end by */
        tool AS of_tool,
        call_id,
        span_id,
        conversation_id,
        -- the parts of call_key(): the key itself would be computed for every attempt, which takes longer
        coalesce(conversation_id, host) AS conversation_or_host,
        CASE WHEN conversation_id IS NULL THEN coalesce(pid, -1) END AS process,
        started_at,
        CASE WHEN ($before_since IS NULL OR started_at >= $before_since)
              AND ($before_until IS NULL OR started_at < $before_until)
              AND ($before_version IS NULL OR tool_version = $before_version) THEN 0 ELSE 1 END AS side,
        status = 'error' AS failed,
        CASE WHEN NOT coalesce(cached, false) THEN known_ms(duration_ms) END AS ms,
        CASE WHEN confidence BETWEEN 0 AND 1 THEN CAST(confidence AS DOUBLE) END AS p
    FROM tool_calls
    WHERE is_finished(status, ending)
      AND ($tool IS NULL OR tool = $tool)
      AND (($before_since IS NULL OR started_at >= $before_since)
              AND ($before_until IS NULL OR started_at < $before_until)
              AND ($before_version IS NULL OR tool_version = $before_version)
          OR ($since IS NULL OR started_at >= $since)
              AND ($until IS NULL OR started_at < $until)
              AND ($version IS NULL OR tool_version = $version))
),
-- grp: a number shared by the rows of a group
numbered AS (
    SELECT *, dense_rank() OVER (ORDER BY /* by names */ tool, /* end by */ 1) AS grp FROM scoped
),
groups AS (
    SELECT /* by names */ tool, /* end by */ grp FROM numbered GROUP BY ALL
),
percentiles AS (
    SELECT grp, side, quantile_cont(ms, 0.95) AS p95 FROM numbered GROUP BY grp, side
),
-- one row per call: the items of each measure, and their sums
per_call AS (
    SELECT
        s.grp,
        s.side,
        draw_key(call_id, conversation_id, conversation_or_host, process) AS draw,
        CASE WHEN conversation_id IS NULL THEN 0.0 ELSE 1.0 END AS in_conversation,
        1.0 AS calls,
        CASE WHEN arg_max(failed, started_at) THEN 1.0 ELSE 0.0 END AS failed,
        CAST(count(*) AS DOUBLE) AS attempts,
        CAST(count(*) FILTER (WHERE failed) AS DOUBLE) AS failures,
        CAST(count(ms) AS DOUBLE) AS timed,
        CAST(count(*) FILTER (WHERE ms > q.p95) AS DOUBLE) AS slow
    FROM numbered AS s
    JOIN percentiles AS q ON q.grp = s.grp AND q.side = s.side
    GROUP BY s.grp, s.side, of_tool, call_id, conversation_id, conversation_or_host, process
),
judged_per_call AS (
    SELECT
        grp,
        side,
        draw_key(call_id, conversation_id, conversation_or_host, process) AS draw,
        CASE WHEN conversation_id IS NULL THEN 0.0 ELSE 1.0 END AS in_conversation,
        CAST(count(*) AS DOUBLE) AS judged,
        CAST(count(*) FILTER (WHERE correct) AS DOUBLE) AS correct,
        CAST(count(p) AS DOUBLE) AS sure,
        coalesce(sum(p - CASE WHEN correct THEN 1.0 ELSE 0.0 END), 0.0) AS gap
    FROM numbered AS s
    JOIN judged AS j ON j.span_id = s.span_id
    WHERE correct IS NOT NULL
    GROUP BY grp, side, of_tool, call_id, conversation_id, conversation_or_host, process
),
draws AS (
    SELECT 'call' AS counted, grp, side, in_conversation, calls, failed, attempts, failures, timed, slow FROM per_call
    UNION ALL
    SELECT 'conversation' AS counted, grp, side, in_conversation, sum(calls) AS calls, sum(failed) AS failed, sum(attempts) AS attempts,
        sum(failures) AS failures, sum(timed) AS timed, sum(slow) AS slow
    FROM per_call
    GROUP BY grp, side, in_conversation, draw
),
judged_draws AS (
    SELECT 'call' AS counted, grp, side, in_conversation, judged, correct, sure, gap FROM judged_per_call
    UNION ALL
    SELECT 'conversation' AS counted, grp, side, in_conversation, sum(judged) AS judged, sum(correct) AS correct, sum(sure) AS sure,
        sum(gap) AS gap
    FROM judged_per_call
    GROUP BY grp, side, in_conversation, draw
),
-- n: number of items of the measure; s: their sum; in_conversation: 1 if the conversation is known, else 0
measured AS (
    SELECT counted, grp, side, in_conversation, 'failure_rate' AS measure, attempts AS n, failures AS s FROM draws
    UNION ALL
    SELECT counted, grp, side, in_conversation, 'call_failure_rate' AS measure, calls AS n, failed AS s FROM draws
    UNION ALL
    SELECT counted, grp, side, in_conversation, 'p95' AS measure, timed AS n, slow AS s FROM draws
    UNION ALL
    SELECT counted, grp, side, in_conversation, 'attempts_per_call' AS measure, calls AS n, attempts AS s FROM draws
    UNION ALL
    SELECT counted, grp, side, in_conversation, 'accuracy' AS measure, judged AS n, correct AS s FROM judged_draws
    UNION ALL
    SELECT counted, grp, side, in_conversation, 'confidence_gap' AS measure, sure AS n, gap AS s FROM judged_draws
),
moments AS (
    SELECT counted, grp, side, measure, sum(n) AS n, sum(s) AS s, count(*) AS units,
        sum(s * s) AS ss, sum(s * n) AS sn, sum(n * n) AS nn, sum(in_conversation) AS conversations, sum(in_conversation * n) AS in_conversations
    FROM measured
    WHERE n > 0
    GROUP BY counted, grp, side, measure
),
-- calls of one conversation are similar and count as one draw; if all calls are independent, both counts are the same
levels AS (
    SELECT grp, measure,
        CASE WHEN sum(CASE WHEN counted = 'conversation' THEN units ELSE -units END) < 0
             THEN 'conversation' ELSE 'call' END AS counted
    FROM moments
    GROUP BY grp, measure
),
sides AS (
    SELECT m.grp, m.measure, m.side, m.counted, m.n, m.units, m.s / m.n AS mean,
        m.units < 5 OR m.conversations < 5 AND 2 * m.in_conversations >= m.n AS few_draws,
        CASE WHEN m.measure = 'p95' THEN q.p95 ELSE m.s / m.n END AS value,
        -- variance of the sum; for draws of one item each it is the variance of the binomial
        greatest(0, ss - 2 * m.s / m.n * sn + power(m.s / m.n, 2) * nn)
            * CASE WHEN m.units < m.n OR m.measure IN ('attempts_per_call', 'confidence_gap')
                   THEN m.units / nullif(m.units - 1, 0) ELSE 1 END AS variance
    FROM moments AS m
    JOIN levels AS w ON w.grp = m.grp AND w.measure = m.measure AND w.counted = m.counted
    JOIN percentiles AS q ON q.grp = m.grp AND q.side = m.side
),
pairs AS (
    SELECT grp, measure,
        max(n) AS max_n,
        count(*) < 2 OR min(n) < $min_n OR max(CASE WHEN few_draws THEN 1 ELSE 0 END) = 1 AS too_small,
        max(CASE WHEN few_draws THEN 1 ELSE 0 END) = 1 AS few_draws,
        -- the design effect of a proportion
        greatest(1, coalesce(max(CASE WHEN mean > 0 AND mean < 1 THEN variance / (n * mean * (1 - mean)) END), 1)) AS effect
    FROM sides
    GROUP BY grp, measure
),
-- a p95 has no interval if not even the larger side can bound it from above: see ranks
sized AS (
    SELECT grp, measure, few_draws,
        too_small OR measure = 'p95' AND max_n < 0.95 * max_n + 1.959963984540054 * sqrt(0.0475 * max_n * effect) + 1 AS too_few
    FROM pairs
),
comparisons AS (
    SELECT count(*) AS compared FROM sized WHERE NOT too_few
),
widths AS (
    SELECT 'single' AS width, 1.959963984540054 AS z
    UNION ALL
    SELECT 'joint' AS width,
        greatest(1.959963984540054, t - (2.515517 + 0.802853 * t + 0.010328 * t * t)
            / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t)) AS z
    FROM (SELECT sqrt(-2 * ln(0.025 / greatest(compared, 1))) AS t FROM comparisons)
),
-- durations equal to one part in a thousand, the shortest first; n_to: durations up to this one
steps AS (
    SELECT grp, side, lowest, highest, sum(n) OVER (PARTITION BY grp, side ORDER BY lowest) AS n_to
    FROM (
        SELECT grp, side, min(ms) AS lowest, max(ms) AS highest, count(*) AS n
        FROM numbered
        WHERE ms IS NOT NULL
        GROUP BY grp, side, round(1000 * ln(greatest(ms, 1e-6)))
    )
),
ranked AS (
    SELECT s.grp, s.side, w.width, 0.95 * s.n AS middle, w.z * sqrt(0.0475 * s.n * p.effect) AS half
    FROM sides AS s
    JOIN pairs AS p ON p.grp = s.grp AND p.measure = s.measure
    CROSS JOIN widths AS w
    WHERE s.measure = 'p95'
),
ranks AS (
    SELECT r.grp, r.side, r.width,
        min(CASE WHEN t.n_to >= r.middle - r.half THEN t.lowest END) AS low,
        min(CASE WHEN t.n_to >= r.middle + r.half + 1 THEN t.highest END) AS high
    FROM ranked AS r
    JOIN steps AS t ON t.grp = r.grp AND t.side = r.side
    GROUP BY r.grp, r.side, r.width
),
limits AS (
    SELECT s.grp, s.measure, s.side, s.width, s.value,
        CASE WHEN s.measure IN ('failure_rate', 'call_failure_rate', 'accuracy') THEN
                 CASE WHEN value <= 0 THEN 0
                      ELSE (e * value + zz / 2 - sqrt(zz * (e * value * (1 - value) + zz / 4))) / (e + zz) END
             WHEN s.measure = 'p95' THEN least(s.value, r.low)
             ELSE value - half END AS low,
        CASE WHEN s.measure IN ('failure_rate', 'call_failure_rate', 'accuracy') THEN
                 CASE WHEN value >= 1 THEN 1
                      ELSE (e * value + zz / 2 + sqrt(zz * (e * value * (1 - value) + zz / 4))) / (e + zz) END
             WHEN s.measure = 'p95' THEN CASE WHEN r.high IS NOT NULL THEN greatest(s.value, r.high) END
             ELSE value + half END AS high
    FROM (
        SELECT s.*, w.width, w.z * w.z AS zz, s.n / p.effect AS e, w.z * sqrt(s.variance) / s.n AS half
        FROM sides AS s
        JOIN pairs AS p ON p.grp = s.grp AND p.measure = s.measure
        CROSS JOIN widths AS w
    ) AS s
    LEFT JOIN ranks AS r ON s.measure = 'p95' AND r.grp = s.grp AND r.side = s.side AND r.width = s.width
),
differences AS (
    SELECT a.grp, a.measure, a.width,
        b.value - a.value AS difference,
        b.value - a.value - sqrt(power(b.value - b.low, 2) + power(a.high - a.value, 2)) AS low,
        b.value - a.value + sqrt(power(b.high - b.value, 2) + power(a.value - a.low, 2)) AS high
    FROM limits AS a
    JOIN limits AS b ON b.grp = a.grp AND b.measure = a.measure AND b.width = a.width AND b.side = 1
    WHERE a.side = 0
),
side_by_side AS (
    SELECT s.grp, s.measure, p.too_few, p.few_draws, s.counted,
        max(CASE WHEN s.side = 0 THEN s.value END) AS before,
        max(CASE WHEN s.side = 1 THEN s.value END) AS after,
        max(CASE WHEN s.side = 0 THEN s.n END) AS n_before,
        max(CASE WHEN s.side = 1 THEN s.n END) AS n_after
    FROM sides AS s
    JOIN sized AS p ON p.grp = s.grp AND p.measure = s.measure
    GROUP BY s.grp, s.measure, p.too_few, p.few_draws, s.counted
),
tested AS (
    SELECT b.*, d.difference,
        CASE WHEN NOT b.few_draws THEN d.low END AS low,
        CASE WHEN NOT b.few_draws THEN d.high END AS high,
        CASE b.measure WHEN 'accuracy' THEN d.difference < 0
             WHEN 'confidence_gap' THEN abs(b.after) > abs(b.before)
             ELSE d.difference > 0 END AS is_worse,
        -- sums of the same numbers in another order differ slightly
        abs(d.difference) > 1e-9 AND coalesce(d.low > 0 OR d.high < 0, false) AS excludes_zero,
        abs(d.difference) > 1e-9 AND coalesce(f.low > 0 OR f.high < 0, false) AS jointly_excludes_zero
    FROM side_by_side AS b
    LEFT JOIN differences AS d ON d.grp = b.grp AND d.measure = b.measure AND d.width = 'single'
    LEFT JOIN differences AS f ON f.grp = b.grp AND f.measure = b.measure AND f.width = 'joint'
),
verdicts AS (
    SELECT *,
        CASE WHEN n_before IS NULL THEN 'new'
             WHEN n_after IS NULL THEN 'gone'
             WHEN too_few THEN 'too_few'
             WHEN jointly_excludes_zero AND is_worse THEN 'worse'
             WHEN jointly_excludes_zero THEN 'better'
             WHEN excludes_zero AND is_worse THEN 'maybe_worse'
             WHEN excludes_zero THEN 'maybe_better'
             WHEN low IS NULL OR high IS NULL THEN 'too_few'
             ELSE 'unclear' END AS verdict
    FROM tested
)
SELECT
    /* by names */ tool, /* end by */
    measure,
    CASE measure WHEN 'p95' THEN 'ms' WHEN 'attempts_per_call' THEN 'ratio' WHEN 'confidence_gap' THEN 'points'
         ELSE 'share' END AS unit,
    before,
    after,
    difference,
    low,
    high,
    verdict,
    CAST(coalesce(n_before, 0) AS BIGINT) AS n_before,
    CAST(coalesce(n_after, 0) AS BIGINT) AS n_after,
    counted,
    compared
FROM verdicts AS v
JOIN groups AS g ON g.grp = v.grp
CROSS JOIN comparisons
ORDER BY
    CASE verdict WHEN 'worse' THEN 0 WHEN 'maybe_worse' THEN 1 WHEN 'maybe_better' THEN 3 WHEN 'better' THEN 4 ELSE 2 END,
    /* by names */ tool, /* end by */
    CASE measure WHEN 'failure_rate' THEN 0 WHEN 'call_failure_rate' THEN 1 WHEN 'p95' THEN 2
         WHEN 'attempts_per_call' THEN 3 WHEN 'accuracy' THEN 4 ELSE 5 END
