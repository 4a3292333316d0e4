-- Is a tool better or worse than before, and is the difference more than noise?
--
-- One row per tool and measure, for two sides: two values of a dimension, such as version:1.2 and version:2.0, or two windows
-- of time, such as 14d..7d and 7d. Without before, the window after is compared with the equally long one before it. Where
-- the values are of tools, the rows are not grouped by tool. An attempt is finished if it ended with a
-- status. A call failed if its last finished attempt failed. difference is after - before, with its 95 % interval. An
-- attempt that belongs to both sides counts as before.
--
-- A difference of 0 lies outside the 95 % interval in about one of twenty comparisons without any change: the verdicts are
-- then `maybe_worse` and `maybe_better`. The verdicts `worse` and `better` require more: the interval that holds for all
-- comparisons of the answer together (Bonferroni) does not contain 0. A confidence gap is worse if it is further from zero.
--
-- Calls of one conversation are similar, so the intervals count clusters: a conversation is a cluster. Without a
-- conversation id, the calls of a trace are a cluster, and a call that is alone in its trace is a cluster of its own; if such
-- calls are similar to each other, the intervals are too narrow. An outage makes calls of neighbouring conversations fail
-- together: a difference that rests on one outage describes that time only.
--
-- The verdict is `too_few` if a side has fewer than min_n items, or fewer than five clusters, or fewer than five
-- conversations while at least half of its items belong to conversations. The interval is then NULL, because
-- few clusters do not show how much clusters differ. A percentile is also `too_few` if no change is visible and a side is too small to bound it:
-- fewer than about 105 independent calls for p95, fewer than seven for p50.
--
-- Measured on simulated histories without any change, with independent calls, or with 5 or more clusters a side: the 95 %
-- interval of a difference contains 0 in 94 to 100 % of them, also if each call resembles the one before across
-- conversations (correlation 0.8). At most 4 % had any verdict `worse` or `better` (docs/explanation/coverage.md).
--
-- group: changes (first)
-- by: tool (default), agent, model, release, environment, attributes
-- parameters:
--   before  side = NULL       the side before: DIMENSION:VALUE or a window of time
--   after   side              the side after, in the same form
--   since   timestamp = NULL  of two values: attempts that started at this time or later
--   until   timestamp = NULL  of two values: attempts that started before this time; else the end of an open window
--   tool    text = NULL       this tool only
--   min_n   integer = 20      a side with fewer items is marked too_few
--   rules   rules = 'all'     certain: failures that only a heuristic rule found count as attempts that did not fail
-- columns:
--   measure     text             failure_rate (of attempts), call_failure_rate, p50 and p95 (latency without results from a cache), attempts_per_call, accuracy (right / labelled) or confidence_gap (mean confidence - accuracy)
--   unit        text             unit of before, after and difference: share, ms, ratio or points
--   before      number           the measure before
--   after       number           the measure after
--   difference  number           after - before
--   low         low(difference)   95 % interval of difference; NULL if unbounded or unknown
--   high        high(difference)  95 % interval of difference; NULL if unbounded or unknown
--   verdict     text             worse, better, maybe_worse, maybe_better, unclear, too_few, new (nothing before) or gone (nothing after)
--   n_before    count            attempts, calls or labelled attempts that before is computed from
--   n_after     count            the same for after
--   counted     text             what counts as one draw: conversation (or trace, or a call that has neither), or call if all calls are independent
--   refused_before  aside        attempts left out of before: refused, the tool was not run
--   refused_after   aside        attempts left out of after: refused
--   compared    count            comparisons in this answer that have enough data
--   clusters    count            conversations (or traces, or calls) of the side that has fewer
--   design_effect  ratio         items / independent items that the side would be equally certain with, of the side where it is larger; NULL for attempts_per_call
-- important: measure, verdict, before, after, difference, n_before, n_after
-- hidden: difference
-- verdict: first {group}: {measure} was {before} and is {after} ({verdict}).
-- next: query errors --tool {tool}
-- source: difference of proportions: Newcombe 1998, method 10 (Wilson limits, squared and added), with the effective
--   number of items (Kish 1965, Korn and Graubard 1998); difference of other measures: the same from the limits of each
--   side (Zou and Donner 2008, MOVER); attempts_per_call: mean by clusters, Student's t; confidence_gap: as in calibration;
--   percentile: order statistics with the design effect (Woodruff 1952), normal approximation of the binomial, precise to
--   one part in a thousand; normal quantile of Bonferroni's level: Abramowitz and Stegun 26.2.23, of Student's t: Wallace
--   1959; percentile by linear interpolation (Hyndman and Fan 1996, type 7); z = 1.959963984540054
WITH scoped AS (
    SELECT
        /* by */ tool, /* end by */
        tool AS of_tool,
        -- the parts of call_key(), as numbers: texts and the key itself would take longer, and twice the memory
        text_key(call_id) AS call_number,
        text_key(coalesce(conversation_id, host)) AS conversation_or_host,
        CASE WHEN conversation_id IS NULL THEN coalesce(pid, -1) END AS process,
        CASE WHEN conversation_id IS NOT NULL THEN text_key(conversation_id) END AS conversation_no,
        CASE WHEN conversation_id IS NULL THEN trace_id END AS lone_trace,
        attempt_order(attempt, started_at, a.span_id) AS place,
        started_at AS started,
        CASE WHEN ($before_since IS NULL OR started_at >= $before_since)
              AND ($before_until IS NULL OR started_at < $before_until)
              AND ($before_value IS NULL OR /* side */ tool_version /* end side */ = $before_value) THEN 0 ELSE 1 END AS side,
        status = 'error' AND ($rules = 'all' OR coalesce(rule_grade, '') <> 'heuristic') AS failed,
        CASE WHEN NOT coalesce(cached, false) THEN known_ms(duration_ms) END AS ms,
        CASE WHEN confidence BETWEEN 0 AND 1 THEN CAST(confidence AS DOUBLE) END AS p,
        j.correct AS correct,
        coalesce(ending = 'refused', false) AS refused
    FROM attempts AS a
    LEFT JOIN judged AS j ON j.span_id = a.span_id
    WHERE (is_finished(status, ending) OR ending = 'refused')
      AND ($tool IS NULL OR tool = $tool)
      AND (($before_since IS NULL OR started_at >= $before_since)
              AND ($before_until IS NULL OR started_at < $before_until)
              AND ($before_value IS NULL OR /* side */ tool_version /* end side */ = $before_value)
          OR ($after_since IS NULL OR started_at >= $after_since)
              AND ($after_until IS NULL OR started_at < $after_until)
              AND ($after_value IS NULL OR /* side */ tool_version /* end side */ = $after_value))
),
-- grp: a number shared by the rows of a group
with_refused AS (
    SELECT *, dense_rank() OVER (ORDER BY /* by names */ tool, /* end by */ 1) AS grp FROM scoped
),
refusals AS (
    SELECT grp, count(*) FILTER (WHERE side = 0) AS refused_before, count(*) FILTER (WHERE side = 1) AS refused_after
    FROM with_refused
    WHERE refused
    GROUP BY grp
),
numbered AS (
    SELECT * FROM with_refused WHERE NOT refused
),
groups AS (
    SELECT /* by names */ tool, /* end by */ grp FROM numbered GROUP BY ALL
),
percentiles AS (
    SELECT grp, side, quantile_cont(ms, 0.5) AS p50, quantile_cont(ms, 0.95) AS p95 FROM numbered GROUP BY grp, side
),
-- one row per call: the items of each measure, and their sums
per_call AS (
    SELECT
        s.grp,
        s.side,
        coalesce(conversation_no, text_key(min(lone_trace))) AS draw,
        CASE WHEN conversation_no IS NULL THEN 0.0 ELSE 1.0 END AS in_conversation,
        min(started) AS first,
        CASE WHEN arg_max(failed, place) THEN 1.0 ELSE 0.0 END AS failed,
        CAST(count(*) AS DOUBLE) AS attempts,
        CAST(count(*) FILTER (WHERE failed) AS DOUBLE) AS failures,
        CAST(count(ms) AS DOUBLE) AS timed,
        CAST(count(*) FILTER (WHERE ms > q.p50) AS DOUBLE) AS slower,
        CAST(count(*) FILTER (WHERE ms > q.p95) AS DOUBLE) AS slowest
    FROM numbered AS s
    JOIN percentiles AS q ON q.grp = s.grp AND q.side = s.side
    GROUP BY s.grp, s.side, of_tool, call_number, conversation_no, conversation_or_host, process
),
judged_per_call AS (
    SELECT
        grp,
        side,
        coalesce(conversation_no, text_key(min(lone_trace))) AS draw,
        CASE WHEN conversation_no IS NULL THEN 0.0 ELSE 1.0 END AS in_conversation,
        min(started) AS first,
        CAST(count(*) AS DOUBLE) AS judged,
        CAST(count(*) FILTER (WHERE correct) AS DOUBLE) AS correct,
        CAST(count(p) AS DOUBLE) AS sure,
        CAST(count(p) FILTER (WHERE correct) AS DOUBLE) AS sure_correct,
        coalesce(sum(p), 0.0) AS confidence
    FROM numbered
    WHERE correct IS NOT NULL
    GROUP BY grp, side, of_tool, call_number, conversation_no, conversation_or_host, process
),
draws AS (
    SELECT grp, side, in_conversation, min(first) AS first, CAST(count(*) AS DOUBLE) AS calls, sum(failed) AS failed, sum(attempts) AS attempts,
        sum(failures) AS failures, sum(timed) AS timed, sum(slower) AS slower, sum(slowest) AS slowest
    FROM per_call
    GROUP BY grp, side, in_conversation, draw
),
judged_draws AS (
    SELECT grp, side, in_conversation, min(first) AS first, CAST(count(*) AS DOUBLE) AS calls, sum(judged) AS judged, sum(correct) AS correct,
        sum(sure) AS sure, sum(sure_correct) AS sure_correct, sum(confidence) AS confidence
    FROM judged_per_call
    GROUP BY grp, side, in_conversation, draw
),
-- the starts that several clusters share: these clusters have no order
tied_draws AS (
    SELECT first FROM draws WHERE calls > 1 GROUP BY grp, side, first HAVING count(*) > 1
),
-- each draw of several calls with the one before it: neighbours in time may be alike
draws_in_order AS (
    SELECT *,
        lag(calls) OVER in_time AS calls_before,
        lag(failed) OVER in_time AS failed_before,
        lag(attempts) OVER in_time AS attempts_before,
        lag(failures) OVER in_time AS failures_before,
        lag(timed) OVER in_time AS timed_before,
        lag(slower) OVER in_time AS slower_before,
        lag(slowest) OVER in_time AS slowest_before
    FROM draws
    WHERE calls > 1 AND first NOT IN (SELECT first FROM tied_draws)
    WINDOW in_time AS (PARTITION BY grp, side ORDER BY first)
    UNION ALL
    SELECT *, NULL AS calls_before, NULL AS failed_before, NULL AS attempts_before, NULL AS failures_before,
        NULL AS timed_before, NULL AS slower_before, NULL AS slowest_before
    FROM draws
    WHERE calls <= 1 OR first IN (SELECT first FROM tied_draws)
),
-- the starts that several clusters share: these clusters have no order
tied_judged AS (
    SELECT first FROM judged_draws WHERE calls > 1 GROUP BY grp, side, first HAVING count(*) > 1
),
judged_in_order AS (
    SELECT *,
        lag(judged) OVER in_time AS judged_before,
        lag(correct) OVER in_time AS correct_before,
        lag(sure) OVER in_time AS sure_before,
        lag(sure_correct) OVER in_time AS sure_correct_before,
        lag(confidence) OVER in_time AS confidence_before
    FROM judged_draws
    WHERE calls > 1 AND first NOT IN (SELECT first FROM tied_judged)
    WINDOW in_time AS (PARTITION BY grp, side ORDER BY first)
    UNION ALL
    SELECT *, NULL AS judged_before, NULL AS correct_before, NULL AS sure_before, NULL AS sure_correct_before,
        NULL AS confidence_before
    FROM judged_draws
    WHERE calls <= 1 OR first IN (SELECT first FROM tied_judged)
),
-- n: number of items of the measure; s: their sum; m: sum of confidence; in_conversation: 1 if the conversation is known
measured AS (
    SELECT grp, side, in_conversation, calls, 'failure_rate' AS measure, attempts AS n, failures AS s, 0.0 AS m,
        attempts_before AS n_before, failures_before AS s_before, 0.0 AS m_before
    FROM draws_in_order
    UNION ALL
    SELECT grp, side, in_conversation, calls, 'call_failure_rate' AS measure, calls AS n, failed AS s, 0.0 AS m,
        calls_before AS n_before, failed_before AS s_before, 0.0 AS m_before
    FROM draws_in_order
    UNION ALL
    SELECT grp, side, in_conversation, calls, 'p50' AS measure, timed AS n, slower AS s, 0.0 AS m,
        timed_before AS n_before, slower_before AS s_before, 0.0 AS m_before
    FROM draws_in_order
    UNION ALL
    SELECT grp, side, in_conversation, calls, 'p95' AS measure, timed AS n, slowest AS s, 0.0 AS m,
        timed_before AS n_before, slowest_before AS s_before, 0.0 AS m_before
    FROM draws_in_order
    UNION ALL
    SELECT grp, side, in_conversation, calls, 'attempts_per_call' AS measure, calls AS n, attempts AS s, 0.0 AS m,
        calls_before AS n_before, attempts_before AS s_before, 0.0 AS m_before
    FROM draws_in_order
    UNION ALL
    SELECT grp, side, in_conversation, calls, 'accuracy' AS measure, judged AS n, correct AS s, 0.0 AS m,
        judged_before AS n_before, correct_before AS s_before, 0.0 AS m_before
    FROM judged_in_order
    UNION ALL
    SELECT grp, side, in_conversation, calls, 'confidence_gap' AS measure, sure AS n, sure_correct AS s, confidence AS m,
        sure_before AS n_before, sure_correct_before AS s_before, confidence_before AS m_before
    FROM judged_in_order
),
moments AS (
    SELECT grp, side, measure, sum(n) AS n, sum(s) AS s, sum(m) AS m, count(*) AS clusters, sum(calls) AS calls,
        sum(s * s) AS ss, sum(s * n) AS sn, sum(n * n) AS nn, sum(m * m) AS mm, sum(m * n) AS mn, sum(m * s) AS ms,
        sum(s * s_before) AS ss_next, sum(s * n_before + n * s_before) AS sn_next, sum(n * n_before) AS nn_next,
        sum(m * m_before) AS mm_next, sum(m * n_before + n * m_before) AS mn_next,
        sum(in_conversation) AS conversations, sum(in_conversation * n) AS in_conversations
    FROM measured
    WHERE n > 0
    GROUP BY grp, side, measure
),
-- share: of items that are counted; q: the quantile that the measure is; df: degrees of freedom
sides AS (
    SELECT m.*,
        s / n AS share,
        CASE m.measure WHEN 'p50' THEN 0.5 WHEN 'p95' THEN 0.95 END AS q,
        CASE m.measure WHEN 'p50' THEN q.p50 WHEN 'p95' THEN q.p95 WHEN 'confidence_gap' THEN (m - s) / n ELSE s / n END AS value,
        clusters < 5 OR conversations < 5 AND 2 * in_conversations >= n AS few_draws,
        greatest(1.0, n * n / nn - 1) AS df,
        neighbour_effect(n, s, ss, sn, nn, ss_next, sn_next, nn_next) AS chain,
        CASE WHEN m.measure <> 'attempts_per_call' THEN chained_n(clusters, n, s, ss, sn, nn, ss_next, sn_next, nn_next) END AS effective,
        CASE m.measure WHEN 'confidence_gap' THEN chained_half(n, m, mm, mn, nn, mm_next, mn_next, nn_next)
            -- calls that are a cluster each: normal approximation
            WHEN 'attempts_per_call' THEN CASE WHEN clusters < n THEN chained_half(n, s, ss, sn, nn, ss_next, sn_next, nn_next)
                ELSE 1.959963984540054 * sqrt(greatest(0.0, ss - s * s / n) / nullif(n - 1, 0) / n) END
            END AS half,
        CASE WHEN m.measure = 'confidence_gap' THEN cluster_correlation(n, m, mm, mn, s, ss, sn, ms, nn) ELSE 0.0 END
            AS correlation
    FROM moments AS m
    JOIN percentiles AS q ON q.grp = m.grp AND q.side = m.side
),
-- a percentile has no interval if not even one side can bound it from above: see ranks
sized AS (
    SELECT grp, measure,
        CASE WHEN sum(calls) > sum(clusters) THEN 'conversation' ELSE 'call' END AS counted,
        min(clusters) AS clusters,
        max(n / effective) AS design_effect,
        max(CASE WHEN few_draws THEN 1 ELSE 0 END) = 1 AS few_draws,
        count(*) < 2 OR min(n) < $min_n OR max(CASE WHEN few_draws THEN 1 ELSE 0 END) = 1
            OR max(CASE WHEN q IS NULL OR n >= q * n + 1.959963984540054 * n * sqrt(q * (1 - q) / effective) + 1
                   THEN 1 ELSE 0 END) = 0 AS too_few
    FROM sides
    GROUP BY grp, measure
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
-- wider: the quantile of Student's t at this width, divided by the one of 95 %, both by Wallace's approximation
widened AS (
    SELECT s.*, w.width, w.z,
        CASE WHEN clusters >= n THEN w.z / 1.959963984540054 ELSE sqrt(
            (exp(power(w.z * (8 * df + 3) / (8 * df + 1), 2) / df) - 1)
            / (exp(power(1.959963984540054 * (8 * df + 3) / (8 * df + 1), 2) / df) - 1)) END AS wider
    FROM sides AS s
    CROSS JOIN widths AS w
),
-- e: effective number of items at this width
scaled AS (
    SELECT *, z * z AS zz, half * wider AS half_width,
        CASE WHEN clusters >= n THEN n
             ELSE greatest(n * n / nn, effective * chain * power(z / 1.959963984540054 / wider, 2)) / chain END AS e
    FROM widened
),
ranked AS (
    SELECT grp, side, measure, width, q * n AS middle, z * n * sqrt(q * (1 - q) / e) AS half FROM scaled WHERE q IS NOT NULL
),
ranks AS (
    SELECT r.grp, r.side, r.measure, r.width,
        min(CASE WHEN t.n_to >= r.middle - r.half THEN t.lowest END) AS low,
        min(CASE WHEN t.n_to >= r.middle + r.half + 1 THEN t.highest END) AS high
    FROM ranked AS r
    JOIN steps AS t ON t.grp = r.grp AND t.side = r.side
    GROUP BY r.grp, r.side, r.measure, r.width
),
shares AS (
    SELECT *,
        CASE WHEN share <= 0 THEN 0.0
             WHEN measure NOT IN ('p50', 'p95', 'attempts_per_call')
             THEN (e * share + zz / 2 - sqrt(zz * (e * share * (1 - share) + zz / 4))) / (e + zz) END AS share_low,
        CASE WHEN measure IN ('p50', 'p95', 'attempts_per_call') THEN NULL
             WHEN share >= 1 THEN 1.0
             ELSE (e * share + zz / 2 + sqrt(zz * (e * share * (1 - share) + zz / 4))) / (e + zz) END AS share_high
    FROM scaled
),
limits AS (
    SELECT s.grp, s.measure, s.side, s.width, s.value,
        CASE WHEN q IS NOT NULL THEN least(s.value, r.low)
             WHEN s.measure = 'confidence_gap'
             THEN s.value - gap_half(half_width, share_high - share, correlation, n, nn)
             WHEN s.measure = 'attempts_per_call' THEN s.value - half_width
             ELSE share_low END AS low,
        CASE WHEN q IS NOT NULL THEN CASE WHEN r.high IS NOT NULL THEN greatest(s.value, r.high) END
             WHEN s.measure = 'confidence_gap'
             THEN s.value + gap_half(half_width, share - share_low, correlation, n, nn)
             WHEN s.measure = 'attempts_per_call' THEN s.value + half_width
             ELSE share_high END AS high
    FROM shares AS s
    LEFT JOIN ranks AS r ON r.measure = s.measure AND r.grp = s.grp AND r.side = s.side AND r.width = s.width
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
    SELECT s.grp, s.measure, p.too_few, p.few_draws, p.counted, p.clusters, p.design_effect,
        max(CASE WHEN s.side = 0 THEN s.value END) AS before,
        max(CASE WHEN s.side = 1 THEN s.value END) AS after,
        max(CASE WHEN s.side = 0 THEN s.n END) AS n_before,
        max(CASE WHEN s.side = 1 THEN s.n END) AS n_after
    FROM sides AS s
    JOIN sized AS p ON p.grp = s.grp AND p.measure = s.measure
    GROUP BY ALL
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
    CASE measure WHEN 'p50' THEN 'ms' WHEN 'p95' THEN 'ms' WHEN 'attempts_per_call' THEN 'ratio' WHEN 'confidence_gap' THEN 'points'
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
    coalesce(refused_before, 0) AS refused_before,
    coalesce(refused_after, 0) AS refused_after,
    compared,
    clusters,
    design_effect
FROM verdicts AS v
JOIN groups AS g ON g.grp = v.grp
LEFT JOIN refusals AS r ON r.grp = v.grp
CROSS JOIN comparisons
ORDER BY
    CASE verdict WHEN 'worse' THEN 0 WHEN 'maybe_worse' THEN 1 WHEN 'maybe_better' THEN 3 WHEN 'better' THEN 4 ELSE 2 END,
    /* by names */ tool, /* end by */
    CASE measure WHEN 'failure_rate' THEN 0 WHEN 'call_failure_rate' THEN 1 WHEN 'p50' THEN 2 WHEN 'p95' THEN 3
         WHEN 'attempts_per_call' THEN 4 WHEN 'accuracy' THEN 5 ELSE 6 END
