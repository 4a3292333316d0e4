-- How far is confidence from accuracy, and is that better or worse than before?
--
-- Two rows: 'now' is the window from `since` to `until`, and 'before' is the window from `before` to `since`. A window
-- without labelled attempts has no row. Finished attempts that were labelled and report a confidence from 0 to 1 count. All
-- tools are pooled unless `tool` is set, so one underconfident tool can hide an overconfident one: calibration shows each
-- tool, with more measures.
--
-- Attempts of one conversation are similar, so the interval counts clusters: a conversation is a cluster. Without a
-- conversation id, the attempts of a trace are a cluster, and an attempt that is alone in its trace is a cluster of its own.
-- The interval is that of calibration: it combines the interval of mean_confidence (Student's t) and that of accuracy. In
-- simulations with 5 to 50 clusters and intraclass correlations from 0 to 0.5 it contained the true gap in 93 % or more; of
-- ten independent attempts, in 90 % where nearly all are right.
--
-- Where the share labelled differs between the ten bins of confidence (chi square, p < 0.01), each labelled result stands for
-- the attempts / labelled results of its bin: see weighted. If labels depend on the result itself, no weight
-- corrects them.
--
-- group: trust
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
--   gap_low          low(gap)   95 % interval of gap; NULL if there is one cluster
--   gap_high         high(gap)  95 % interval of gap; NULL if there is one cluster
--   weighted         mark       labelling depends on confidence: labelled results count by the share labelled of their bin
--   clusters         count      conversations (or traces, or attempts) that n belong to
--   design_effect    ratio      n / independent attempts that accuracy would be equally certain with; 1 if each cluster has one
--   too_few          mark       n < min_n, or fewer than 5 clusters of several attempts: read the interval, not the gap
-- hidden: n
-- verdict: first The mean confidence is {mean_confidence}, and {accuracy} of {n:labelled attempt} were right: a gap
--   of {gap}.
-- next: query calibration
-- source: Wilson score interval (Wilson 1927) of the effective number of attempts (Kish 1965, Korn and Graubard 1998);
--   interval of the difference: Zou 2007 (MOVER); z = 1.959963984540054
-- reasoner: gap
SELECT
    CASE WHEN $since IS NULL OR started_at >= $since THEN 'now' ELSE 'before' END AS period,
    cluster,
    CASE WHEN confidence BETWEEN 0 AND 1 THEN CAST(confidence AS DOUBLE) END AS p,
    count(*) AS attempts,
    count(correct) AS labelled,
    count(*) FILTER (WHERE correct) AS s
FROM facts
LEFT JOIN judged ON judged.span_id = facts.span_id
WHERE finished AND (coalesce($before, $since) IS NULL OR started_at >= coalesce($before, $since))
  AND ($until IS NULL OR started_at < $until)
  AND ($tool IS NULL OR tool = $tool)
GROUP BY ALL
