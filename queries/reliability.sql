-- How does the accuracy of a tool depend on its confidence?
--
-- One row per point of the diagram, with confidence on the horizontal axis and accuracy on the vertical one; a calibrated
-- tool lies on the diagonal. Each group has two series. 'bin' has ten bins of equal width (0.1 belongs to the second) and
-- the band that contains 95 % of the bins of a calibrated tool with these confidences. 'isotonic' has the steps of the best
-- fit that never falls, which needs no bins. The steps have no band, because the outcomes determine where they start and
-- end. Finished attempts that were labelled and report a confidence from 0 to 1 count. An attempt is right if its labels
-- say so (judged.correct).
--
-- Edges of bins are compared as integers in units of 1e-9. The isotonic fit uses confidences rounded to four decimals in a
-- group with more than 10000 different ones.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals
-- contain the true value in 93 to 99 % of them; for a calibrated tool a bin is outside in at most 4 %
-- (docs/explanation/coverage.md).
--
-- Where the share labelled differs between the ten bins of confidence (chi square, p < 0.01), each labelled result stands for
-- the attempts / labelled results of its bin: in the isotonic steps; bins need no weights. If labels depend on the result itself, no weight
-- corrects them.
--
-- group: trust
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a point of fewer attempts is marked too_few
-- columns:
--   series           text            bin or isotonic
--   confidence_from  share           lowest confidence of the point
--   confidence_to    share           highest confidence of the point
--   confidence       share           mean confidence: horizontal position of the point
--   n                count           labelled attempts
--   accuracy         share           share right: vertical position of the point
--   low              low(accuracy)   95 % interval of accuracy; bins only
--   high             high(accuracy)  95 % interval of accuracy; bins only
--   band_low         share           lower end of the 95 % consistency band of a calibrated tool
--   band_high        share           upper end of the 95 % consistency band of a calibrated tool
--   outside          flag            accuracy lies outside the band
--   labelled_share   share           labelled attempts of a bin / finished attempts with such a confidence
--   labelled_low     low(labelled_share)   95 % interval of labelled_share
--   labelled_high    high(labelled_share)  95 % interval of labelled_share
--   too_few          mark            n < min_n, or they are from fewer than 5 clusters: read the interval, not the point
--   clusters         count           conversations among n, or traces without a conversation; bins only
--   design_effect    ratio           labelled attempts for each independent one that accuracy is as precise as; bins only
-- important: series, confidence, n, accuracy, outside
-- verdict: max(n) {group}: at a confidence of {confidence}, {accuracy} of {n:labelled attempt} were right.
-- next: query thresholds --tool {tool}
-- source: CORP, Dimitriadis, Gneiting and Jordan 2021; consistency band: Bröcker and Smith 2007, its exact form for the
--   binomial of n / design effect with the bin's mean confidence; Wilson score interval (Wilson 1927) of n / design
--   effect (Kish 1965; Korn and Graubard 1998)
-- reasoner: reliability
SELECT
    {by},
    cluster,
    CASE WHEN confidence BETWEEN 0 AND 1 THEN CAST(confidence AS DOUBLE) END AS p,
    count(*) AS attempts,
    count(correct) AS labelled,
    count(*) FILTER (WHERE correct) AS s
FROM facts
LEFT JOIN judged ON judged.span_id = facts.span_id
WHERE finished AND {window}
GROUP BY ALL
