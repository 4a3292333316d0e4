-- How far is the confidence of the tools from their accuracy, and is that better or worse than before?
--
-- Two rows: 'now' is the window from `since` to `until`, and 'before' is the window from `before` to `since`. A window
-- without labelled attempts has no row. Finished attempts that were labelled and report a confidence from 0 to 1 count. All
-- tools are pooled unless `tool` is set, so one underconfident tool can hide an overconfident one: calibration shows each
-- tool, with more measures.
--
-- alias: confidence_gap
-- parameters:
--   since   timestamp = NULL  attempts that started at this time or later
--   until   timestamp = NULL  attempts that started before this time
--   before  timestamp = NULL  start of the window before, which ends at since; NULL omits it
--   tool    text = NULL       this tool only
--   min_n   integer = 20      a window of fewer labelled attempts is marked too_few
-- columns:
--   period           text       now or before
--   n                count      labelled attempts with a confidence
--   mean_confidence  share      mean confidence of n
--   accuracy         share      share of n that was right
--   gap              points     mean_confidence - accuracy: above 0 is overconfident
--   gap_low          low(gap)   95 % interval of gap: normal approximation, each conversation counted as one draw
--   gap_high         high(gap)  95 % interval of gap; NULL if there is one conversation, or conversations do not differ
--   too_few          mark       n < min_n: read the interval, not the gap
WITH judgements AS (
    SELECT
        CASE WHEN $since IS NULL OR c.started_at >= $since THEN 'now' ELSE 'before' END AS period,
        draw_key(c.call_id, c.conversation_id, c.host, c.pid) AS unit,
        count(*) AS n,
        sum(CAST(c.confidence AS DOUBLE)) AS sp,
        sum(CASE WHEN j.correct THEN 1.0 ELSE 0.0 END) AS s
    FROM attempts AS c
    JOIN judged AS j ON j.span_id = c.span_id
    WHERE is_finished(c.status, c.ending)
      AND c.confidence BETWEEN 0 AND 1
      AND j.correct IS NOT NULL
      AND (coalesce($before, $since) IS NULL OR c.started_at >= coalesce($before, $since))
      AND ($until IS NULL OR c.started_at < $until)
      AND ($tool IS NULL OR c.tool = $tool)
    GROUP BY ALL
),
sums AS (
    SELECT period, sum(n) AS n, sum(sp) AS sp, sum(s) AS s, count(*) AS units FROM judgements GROUP BY period
),
with_intervals AS (
    SELECT
        t.period,
        t.n,
        t.sp / t.n AS mean_confidence,
        t.s / t.n AS accuracy,
        (t.sp - t.s) / t.n AS gap,
        sqrt(t.units / nullif(t.units - 1, 0) * sum(power(u.sp - u.s - u.n * (t.sp - t.s) / t.n, 2))) / t.n AS sd
    FROM sums AS t
    JOIN judgements AS u ON u.period = t.period
    GROUP BY t.period, t.n, t.sp, t.s, t.units
)
SELECT
    period,
    CAST(n AS BIGINT) AS n,
    mean_confidence,
    accuracy,
    gap,
    gap - 1.959963984540054 * CASE WHEN sd > 1e-9 THEN sd END AS gap_low,
    gap + 1.959963984540054 * CASE WHEN sd > 1e-9 THEN sd END AS gap_high,
    n < $min_n AS too_few
FROM with_intervals
ORDER BY period DESC
