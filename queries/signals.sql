-- Which signals behind a confidence are informative?
--
-- One row per signal: how often results are right with it and without it. An attempt has a signal if it names the signal
-- with a value other than false, 0, null or empty. A signal whose value is text counts as one signal per text, such as
-- match=exact. All other labelled attempts of the group are without it. Finished attempts count. An attempt is right if its
-- labels say so (judged.correct). A difference does not prove that the signal is the cause.
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a signal with fewer labelled attempts on either side is marked too_few
-- columns:
--   signal            text              name of the signal
--   n_with            count             labelled attempts with the signal
--   n_without         count             labelled attempts without the signal
--   accuracy_with     share             share right with the signal
--   with_low          low(accuracy_with)      95 % interval of accuracy_with
--   with_high         high(accuracy_with)     95 % interval of accuracy_with
--   accuracy_without  share             share right without the signal
--   without_low       low(accuracy_without)   95 % interval of accuracy_without
--   without_high      high(accuracy_without)  95 % interval of accuracy_without
--   difference        points            accuracy_with - accuracy_without
--   low               low(difference)   95 % interval of difference
--   high              high(difference)  95 % interval of difference
--   labelled_share    share             n_with / finished attempts with the signal
--   labelled_low      low(labelled_share)   95 % interval of labelled_share
--   labelled_high     high(labelled_share)  95 % interval of labelled_share
--   too_few           mark              n_with or n_without < min_n: read the interval, not the difference
-- source: Wilson score intervals (Wilson 1927), z = 1.959963984540054; interval of the difference: Newcombe 1998, method
--   10
WITH scoped AS (
    SELECT
        /* by */ tool, /* end by */
        correct,
        signals
    FROM tool_calls
    LEFT JOIN judged ON judged.span_id = tool_calls.span_id
    WHERE is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
-- many attempts have the same signals; each distinct set is parsed once
signal_sets AS (
    SELECT
        /* by names */ tool, /* end by */
        CAST(signals AS TEXT) AS signals,
        count(*) AS attempts,
        count(correct) AS n,
        count(*) FILTER (WHERE correct) AS s
    FROM scoped
    GROUP BY ALL
),
named AS (
    SELECT
        /* by names */ tool, /* end by */
        CASE WHEN e.type = 'VARCHAR' THEN concat(e.key, '=', json_extract_string(e.value, '$')) ELSE e.key END AS signal,
        attempts,
        n,
        s
    FROM signal_sets, json_each(CASE WHEN json_type(signals) = 'OBJECT' THEN signals END) AS e
    WHERE CAST(e.value AS TEXT) NOT IN ('null', 'false', '""', '[]', '{}')
      AND coalesce(TRY_CAST(CAST(e.value AS TEXT) AS DOUBLE) <> 0, true)
),
-- rows with signal NULL hold the totals of the group
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        signal,
        CAST(sum(attempts) AS DOUBLE) AS attempts,
        CAST(sum(n) AS DOUBLE) AS n,
        CAST(sum(s) AS DOUBLE) AS s
    FROM (
        SELECT * FROM named
        UNION ALL
        SELECT /* by names */ tool, /* end by */ NULL AS signal, attempts, n, s FROM signal_sets
    )
    GROUP BY ALL
),
compared AS (
    SELECT *,
        max(CASE WHEN signal IS NULL THEN n END) OVER of_group - n AS m,
        max(CASE WHEN signal IS NULL THEN s END) OVER of_group - s AS r
    FROM counted
    WINDOW of_group AS (PARTITION BY /* by names */ tool, /* end by */ 1)
),
with_intervals AS (
    SELECT *,
        s / nullif(n, 0) AS p,
        r / nullif(m, 0) AS q
    FROM compared
    WHERE signal IS NOT NULL
),
wilson AS (
    SELECT *,
        wilson_low(s, n) AS p_low,
        wilson_high(s, n) AS p_high,
        wilson_low(r, m) AS q_low,
        wilson_high(r, m) AS q_high
    FROM with_intervals
)
SELECT
    /* by names */ tool, /* end by */
    signal,
    CAST(n AS BIGINT) AS n_with,
    CAST(m AS BIGINT) AS n_without,
    p AS accuracy_with,
    p_low AS with_low,
    p_high AS with_high,
    q AS accuracy_without,
    q_low AS without_low,
    q_high AS without_high,
    p - q AS difference,
    p - q - sqrt(power(p - p_low, 2) + power(q_high - q, 2)) AS low,
    p - q + sqrt(power(p_high - p, 2) + power(q - q_low, 2)) AS high,
    n / attempts AS labelled_share,
    wilson_low(n, attempts) AS labelled_low,
    wilson_high(n, attempts) AS labelled_high,
    n < $min_n OR m < $min_n AS too_few
FROM wilson
ORDER BY /* by names */ tool, /* end by */ difference DESC NULLS LAST, signal
