-- At what confidence is a tool right often enough?
--
-- One row per requested precision: the lowest confidence t such that of the calls with confidence t or more at least that
-- share is right, with 95 % certainty. Thresholds are tested from high t to low: the test compares the lower 95 % bound of
-- the precision with the requested precision, and stops at the first t that fails. The order is fixed in advance, so no
-- correction for several tests is needed. Some t are skipped whatever their outcomes: those with fewer than min_n calls
-- above them, with fewer than a twentieth of all calls, and with too few for even a perfect record to pass (59 for 0.95,
-- 299 for 0.99; clusters where they have several attempts). A test that started with a handful of calls would mostly stop
-- there. An attempt is right if its labels say so (judged.correct).
--
-- Labelled attempts stand for all attempts: if results below a confidence are never used, and therefore never labelled,
-- this query says nothing about them. Thresholds are rounded down to four decimals in a group with more than 10000
-- different confidences.
--
-- Attempts of one conversation are similar, so the intervals of shares count clusters: a conversation is a cluster. Without
-- a conversation id, the attempts of a trace are a cluster, and an attempt that is alone in its trace is a cluster of its
-- own. The test and lower_bound count the independent attempts that those above t are as precise as; without any wrong
-- attempt, a cluster of several counts as one attempt.
--
-- Measured on simulated histories whose calibrated tool needs a threshold of its own, with independent calls, or with 5 or
-- more clusters that differ: at most 5 % of the thresholds had a lower precision than requested, also where the precision
-- is just below the requested one at every confidence, which is the hardest case; the 95 % intervals of coverage contain the true value in 94 to 100 % of them (docs/explanation/coverage.md).
--
-- group: trust
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL                attempts that started at this time or later
--   until  timestamp = NULL                attempts that started before this time
--   tool   text = NULL                     this tool only
--   min_n  integer = 20                    minimum number of labelled attempts above a threshold
--   asked  shares = '0.8,0.9,0.95,0.99'    the requested precisions
-- columns:
--   precision_asked           share   requested share of right results
--   threshold                 share   use results with this confidence or more; NULL if no threshold passes
--   n                         count   labelled attempts at or above the threshold
--   precision                 share   share of n that was right
--   lower_bound               share   one-sided 95 % lower bound of precision
--   coverage                  share   n / judged: share of results that would be used
--   coverage_low              low(coverage)   95 % interval of coverage
--   coverage_high             high(coverage)  95 % interval of coverage
--   judged                    count   finished attempts that were labelled and report a confidence
--   labelled_share            share   finished attempts that were labelled / finished attempts
--   labelled_low              low(labelled_share)   95 % interval of labelled_share
--   labelled_high             high(labelled_share)  95 % interval of labelled_share
--   missing_confidence_share  share   finished attempts without a confidence / finished attempts
--   missing_low               low(missing_confidence_share)   95 % interval of missing_confidence_share
--   missing_high              high(missing_confidence_share)  95 % interval of missing_confidence_share
--   clusters                  count   conversations (or traces, or attempts) that the judged attempts belong to
--   design_effect             ratio   judged / independent attempts that the share of right results would be equally certain with; 1 if each cluster has one
--   too_few                   mark    judged < min_n, or fewer than 5 clusters of several attempts
-- hidden: judged
-- verdict: max(precision) {group}: from a confidence of {threshold} on, {precision} of {n:labelled attempt} were
--   right; that covers {coverage} of them.
-- next: query reliability --tool {tool}
-- source: Clopper and Pearson 1934, one-sided, of the effective number of attempts (Korn and Graubard 1998); fixed-sequence
--   testing, as in Learn then Test (Angelopoulos et al. 2021)
-- reasoner: thresholds
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
