-- How often is a tool right when its confidence is low, middle or high?
--
-- One row per band of confidence: low is below 0.5, middle below 0.8, high from 0.8. Finished attempts that report a
-- confidence from 0 to 1 count; n of them were labelled. An attempt is right if its labels say so (judged.correct).
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a band of fewer labelled attempts is marked too_few
-- columns:
--   band             text            low, middle or high
--   n                count           labelled attempts of the band
--   accuracy         share           share of n that was right
--   low              low(accuracy)   95 % interval of accuracy
--   high             high(accuracy)  95 % interval of accuracy
--   mean_confidence  share           mean confidence of n
--   attempts         count           finished attempts with a confidence in the band
--   labelled_share   share           n / attempts
--   labelled_low     low(labelled_share)   95 % interval of labelled_share
--   labelled_high    high(labelled_share)  95 % interval of labelled_share
--   too_few          mark            n < min_n: read the interval, not the accuracy
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
WITH scoped AS (
    SELECT
        /* by */ tool, /* end by */
        confidence,
        correct,
        CASE WHEN confidence < 0.5 THEN 1 WHEN confidence < 0.8 THEN 2 ELSE 3 END AS rank
    FROM tool_calls
    LEFT JOIN judged ON judged.span_id = tool_calls.span_id
    WHERE is_finished(status, ending)
      AND confidence BETWEEN 0 AND 1
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        rank,
        count(correct) AS n,
        count(*) FILTER (WHERE correct) AS s,
        avg(confidence) FILTER (WHERE correct IS NOT NULL) AS mean_confidence,
        count(*) AS attempts
    FROM scoped
    GROUP BY ALL
)
SELECT
    /* by names */ tool, /* end by */
    CASE rank WHEN 1 THEN 'low' WHEN 2 THEN 'middle' ELSE 'high' END AS band,
    n,
    s / nullif(n, 0) AS accuracy,
    wilson_low(s, n) AS low,
    wilson_high(s, n) AS high,
    mean_confidence,
    attempts,
    n / attempts AS labelled_share,
    wilson_low(n, attempts) AS labelled_low,
    wilson_high(n, attempts) AS labelled_high,
    n < $min_n AS too_few
FROM counted
ORDER BY /* by names */ tool, /* end by */ rank
