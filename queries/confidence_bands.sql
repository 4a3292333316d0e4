-- How often is a tool right when its confidence is low, middle or high?
--
-- One row per band of confidence: low is below 0.5, middle below 0.8, high from 0.8. Finished attempts that report a
-- confidence from 0 to 1 count; n of them were labelled. An attempt is right if its labels say so (judged.correct).
--
-- Attempts of one conversation are similar, so the intervals count clusters, as those of failure_rate do: a conversation is
-- a cluster. Without a conversation id, the attempts of a trace are a cluster, and an attempt that is alone in its trace is
-- a cluster of its own.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 95 to 100 % of them (docs/explanation/coverage.md).
--
-- group: trust
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
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
--   clusters         count           conversations (or traces, or attempts) that n belong to
--   design_effect    ratio           n / independent attempts that accuracy would be equally certain with; 1 if each cluster has one
--   too_few          mark            n < min_n, or fewer than 5 clusters of several attempts: read the interval, not the accuracy
-- important: band, n, accuracy, mean_confidence
-- hidden: n
-- verdict: max(n) {group}, confidence {band}: {accuracy} of {n} labelled attempts were right ({low} to {high}), with a
--   mean confidence of {mean_confidence}.
-- next: query calibration --tool {tool}
-- source: Wilson score interval (Wilson 1927), z = 1.959963984540054; z^2 = 3.841458820694124; effective number of
--   attempts: Kish 1965, Korn and Graubard 1998
SELECT
    {by},
    band,
    sum(n) AS n,
    sums(s, n) AS accuracy,
    sum(m) / nullif(sum(n), 0) AS mean_confidence,
    sum(attempts) AS attempts,
    sums(n, attempts) AS labelled_share
FROM (
    SELECT
        {by},
        cluster,
        CASE WHEN confidence < 0.5 THEN 'low' WHEN confidence < 0.8 THEN 'middle' ELSE 'high' END AS band,
        min(confidence) AS lowest,
        count(*) AS attempts,
        count(correct) AS n,
        count(*) FILTER (WHERE correct) AS s,
        sum(CASE WHEN correct IS NOT NULL THEN CAST(confidence AS DOUBLE) ELSE 0.0 END) AS m
    FROM facts
    LEFT JOIN judged ON judged.span_id = facts.span_id
    WHERE finished AND confidence BETWEEN 0 AND 1 AND {window}
    GROUP BY ALL
) AS clusters
GROUP BY ALL
ORDER BY {by}, min(lowest)
