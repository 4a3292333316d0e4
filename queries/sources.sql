-- Which sources can be trusted?
--
-- One row per source and type in a group, over the finished attempts whose result names the source. An attempt counts once
-- per source, even if it names several places in it. A source is identified by its id, else by its url, else by its label.
-- An attempt is right if its labels say so (judged.correct). Confidence is compared with accuracy over the attempts that
-- have both: overconfident_by is their mean_confidence minus the share of them that was right.
--
-- by: tool (default), version, code, agent, conversation, day, hour, status, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a source of fewer labelled attempts is marked too_few
-- columns:
--   source                    text   id of the source, else its url, else its label; NULL where it has none
--   type                      text   document, file, api, database, user_input or other
--   n                         count  attempts that name the source
--   missing_id_share          share  share of n that name it without an id
--   missing_id_low            low(missing_id_share)   95 % interval of missing_id_share
--   missing_id_high           high(missing_id_share)  95 % interval of missing_id_share
--   labelled                  count  labelled attempts among n
--   labelled_share            share  labelled / n
--   labelled_low              low(labelled_share)   95 % interval of labelled_share
--   labelled_high             high(labelled_share)  95 % interval of labelled_share
--   accuracy                  share  share of labelled that was right
--   low                       low(accuracy)             95 % interval of accuracy
--   high                      high(accuracy)            95 % interval of accuracy
--   missing_confidence_share  share  share of n without a confidence
--   missing_low               low(missing_confidence_share)   95 % interval of missing_confidence_share
--   missing_high              high(missing_confidence_share)  95 % interval of missing_confidence_share
--   compared                  count  labelled attempts with a confidence
--   mean_confidence           share  mean confidence of compared
--   overconfident_by          number  mean_confidence - share of compared that was right; negative if underconfident
--   overconfident_low         low(overconfident_by)     95 % interval; it covers the share right, with the confidences fixed
--   overconfident_high        high(overconfident_by)    95 % interval; it covers the share right, with the confidences fixed
--   group_missing_id_share    share  share of all pairs of attempt and source in the group without an id
--   group_missing_low         low(group_missing_id_share)   95 % interval of group_missing_id_share
--   group_missing_high        high(group_missing_id_share)  95 % interval of group_missing_id_share
--   unsourced_share           share  share of the finished attempts of the group without an error that name no source
--   unsourced_low             low(unsourced_share)   95 % interval of unsourced_share
--   unsourced_high            high(unsourced_share)  95 % interval of unsourced_share
--   too_few                   mark   labelled < min_n: read the interval, not the rate
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124
WITH finished AS (
    SELECT
        /* by */ tool, /* end by */
        span_id AS attempt_span,
        CASE WHEN confidence BETWEEN 0 AND 1 THEN confidence END AS valid_confidence,
        CASE WHEN status <> 'error' THEN 1 ELSE 0 END AS answered,
        CASE WHEN status <> 'error' AND coalesce(CAST(sources AS VARCHAR), '[]') = '[]' THEN 1 ELSE 0 END AS unsourced
    FROM tool_calls
    WHERE is_finished(status, ending)
      AND ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
),
cited AS (
    SELECT
        span_id AS attempt_span,
        coalesce(nullif(id, ''), nullif(url, ''), nullif(label, '')) AS source,
        type,
        max(CASE WHEN nullif(id, '') IS NULL THEN 1 ELSE 0 END) AS without_id
    FROM sources
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($tool IS NULL OR tool = $tool)
    GROUP BY ALL
),
-- each attempt once per source, and once without a source
attempt_sources AS (
    SELECT
        /* by names */ tool, /* end by */
        true AS sourced,
        source,
        type,
        without_id,
        0 AS answered,
        0 AS unsourced,
        valid_confidence,
        j.correct,
        CASE WHEN j.correct IS NOT NULL THEN valid_confidence END AS compared_confidence
    FROM finished AS f
    JOIN cited AS c ON c.attempt_span = f.attempt_span
    LEFT JOIN judged AS j ON j.span_id = f.attempt_span
    UNION ALL
    SELECT /* by names */ tool, /* end by */ false, NULL, NULL, 0, answered, unsourced, NULL, NULL, NULL
    FROM finished
),
counted AS (
    SELECT
        /* by names */ tool, /* end by */
        sourced,
        source,
        type,
        count(*) AS n,
        sum(without_id) AS missing,
        sum(answered) AS answers,
        sum(unsourced) AS unsourced_n,
        count(correct) AS labelled,
        count(*) FILTER (WHERE correct) AS correct_n,
        count(valid_confidence) AS confident,
        count(compared_confidence) AS compared,
        count(compared_confidence) FILTER (WHERE correct) AS compared_correct_n,
        avg(compared_confidence) AS mean_confidence
    FROM attempt_sources
    GROUP BY ALL
),
totals AS (
    SELECT *,
        CAST(sum(CASE WHEN sourced THEN n END) OVER of_group AS BIGINT) AS group_n,
        sum(missing) OVER of_group AS group_missing,
        sum(answers) OVER of_group AS group_answers,
        sum(unsourced_n) OVER of_group AS group_unsourced
    FROM counted
    WINDOW of_group AS (PARTITION BY /* by names */ tool, /* end by */ 1)
)
SELECT
    /* by names */ tool, /* end by */
    source,
    type,
    n,
    missing / n AS missing_id_share,
    wilson_low(missing, n) AS missing_id_low,
    wilson_high(missing, n) AS missing_id_high,
    labelled,
    labelled / n AS labelled_share,
    wilson_low(labelled, n) AS labelled_low,
    wilson_high(labelled, n) AS labelled_high,
    correct_n / nullif(labelled, 0) AS accuracy,
    wilson_low(correct_n, labelled) AS low,
    wilson_high(correct_n, labelled) AS high,
    1 - confident / n AS missing_confidence_share,
    wilson_low(n - confident, n) AS missing_low,
    wilson_high(n - confident, n) AS missing_high,
    compared,
    mean_confidence,
    mean_confidence - compared_correct_n / nullif(compared, 0) AS overconfident_by,
    mean_confidence - wilson_high(compared_correct_n, compared) AS overconfident_low,
    mean_confidence - wilson_low(compared_correct_n, compared) AS overconfident_high,
    group_missing / group_n AS group_missing_id_share,
    wilson_low(group_missing, group_n) AS group_missing_low,
    wilson_high(group_missing, group_n) AS group_missing_high,
    group_unsourced / nullif(group_answers, 0) AS unsourced_share,
    wilson_low(group_unsourced, group_answers) AS unsourced_low,
    wilson_high(group_unsourced, group_answers) AS unsourced_high,
    labelled < $min_n AS too_few
FROM totals
WHERE sourced
ORDER BY n DESC, /* by names */ tool, /* end by */ source NULLS LAST, type
