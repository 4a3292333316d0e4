-- How well does the confidence of a tool match its accuracy?
--
-- One row per group. An attempt is right if its labels say so (judged.correct), not because it did not raise. Finished
-- attempts count; n of them were labelled and report a confidence from 0 to 1. A confidence that is not a number or lies
-- outside that range counts as missing. The columns answer two separate questions. Calibration (gap, ece, mcb, cox_*): are
-- calls with confidence 0.8 right eight times in ten? Discrimination (auroc, aurc, dsc): are calls with a higher confidence
-- right more often? An ece is above 0 by chance alone, so a tool is marked miscalibrated only if its ece is above the 95th
-- percentile of the ece that a perfectly calibrated tool with the same confidences shows. Tools are not pooled unless `by`
-- omits the tool.
--
-- Attempts of one conversation are similar, so the intervals and tests count clusters: a conversation is a cluster.
-- Without a conversation id, the attempts of a trace are a cluster, and an attempt that is alone in its trace is a cluster
-- of its own. An accuracy is as certain as that of n / design_effect independent attempts. The ece of a calibrated tool is
-- multiplied by the root of design_effect, and cox_lr is divided by it for cox_p. The interval of gap combines those of
-- mean_confidence (Student's t) and accuracy, with the correlation of both between clusters.
--
-- Measured on simulated histories with independent calls, or with 5 or more clusters that differ: the 95 % intervals contain
-- the true value in 93 % or more of them (of ten independent attempts, that of gap in 90 % where nearly all are right). A
-- calibrated tool was miscalibrated in at most 6 to 7 %, and had cox_p < 0.05 in at most 5 %, also if each call resembles
-- the one before across conversations (docs/explanation/coverage.md).
--
-- Results from a cache count as often as they were labelled. auroc, aurc, mce and the scores are not shares of calls and
-- have no interval.
--
-- There are ten bins of equal width; 0.1 belongs to the second, and edges are compared as integers in units of 1e-9. The
-- null distribution of ece is a simulation that gives the same result each time: 1000 draws of the number of right calls in
-- each bin, binomial with the bin's mean confidence if its variance is below 25, otherwise normal with the same skewness;
-- above 500 groups there are fewer draws. The bootstrap (200 Poisson draws) resamples clusters; more than 200 of
-- them are combined into 200 parts. ece_high is ece plus 1.96 bootstrap standard
-- deviations. ece_low is ece minus its bootstrap bias and 1.96 standard deviations, or 0 if ece is not above the null. If
-- there is one cluster alone, the intervals of gap and ece are NULL. Confidences of 0 and 1 are
-- treated as 1e-6 and 1 - 1e-6 for cox_*, and as 1e-15 and 1 - 1e-15 for log_loss. mcb, dsc and unc use confidences rounded
-- to four decimals in a group with more than 10000 different ones; all other columns are exact.
--
-- Where the share labelled differs between the ten bins of confidence (chi square, p < 0.01), each labelled result stands for
-- the attempts / labelled results of its bin: see weighted. If labels depend on the result itself, no weight
-- corrects them.
--
-- group: trust (first)
-- by: tool (default), version, code, agent, model, release, environment, conversation, day, hour, status, rule, rule_grade, attributes
-- parameters:
--   since  timestamp = NULL  attempts that started at this time or later
--   until  timestamp = NULL  attempts that started before this time
--   tool   text = NULL       this tool only
--   min_n  integer = 20      a group of fewer labelled attempts is marked too_few
-- columns:
--   n                         count           finished attempts that were labelled and report a confidence
--   labelled_share            share           finished attempts that were labelled / finished attempts
--   labelled_low              low(labelled_share)   95 % interval of labelled_share
--   labelled_high             high(labelled_share)  95 % interval of labelled_share
--   missing_confidence_share  share           finished attempts without a confidence / finished attempts
--   missing_low               low(missing_confidence_share)   95 % interval of missing_confidence_share
--   missing_high              high(missing_confidence_share)  95 % interval of missing_confidence_share
--   mean_confidence           share           mean confidence of n
--   accuracy                  share           share of n that was right
--   accuracy_low              low(accuracy)   95 % interval of accuracy
--   accuracy_high             high(accuracy)  95 % interval of accuracy
--   gap                       points          mean_confidence - accuracy: above 0 is overconfident
--   gap_low                   low(gap)        95 % interval of gap; NULL if there is one cluster
--   gap_high                  high(gap)       95 % interval of gap
--   ece                       share           expected calibration error: mean distance of confidence and accuracy over bins of equal width
--   ece_low                   low(ece)        95 % bootstrap interval of ece
--   ece_high                  high(ece)       95 % bootstrap interval of ece
--   ece_mass                  share           the same over ten bins of equal size; attempts with equal confidence share a bin
--   ece_null_mean             share           mean ece of a perfectly calibrated tool with these confidences and clusters
--   ece_null_p95              share           95th percentile of the ece of such a tool
--   miscalibrated             flag            ece is above ece_null_p95
--   debiased_ece2             number          squared distance over bins minus its bias; 0 if that is negative
--   debiased_below_zero       mark            debiased_ece2 was negative and is shown as 0
--   mce                       share           maximum calibration error: largest distance over bins
--   brier                     number          mean squared distance of confidence and outcome; equals mcb - dsc + unc
--   mcb                       number          miscalibration: how much isotonic recalibration would reduce brier
--   dsc                       number          discrimination: how much better recalibrated confidence predicts than accuracy alone
--   unc                       number          uncertainty: brier of a constant confidence equal to accuracy
--   log_loss                  number          mean of -ln(probability given to the outcome)
--   auroc                     share           probability that a right call has a higher confidence than a wrong one; NULL if all calls are right, or all wrong
--   aurc                      share           share wrong among the k most confident calls, averaged over k; lower is better
--   cox_intercept             number          a in logit(right) = a + b logit(confidence); 0 is calibrated
--   cox_slope                 number          b in the same model; 1 is calibrated, below 1 too extreme; NULL if not identified
--   cox_lr                    number          likelihood ratio statistic against a = 0, b = 1
--   cox_p                     number          p value of cox_lr / design_effect: chi square with 2 degrees of freedom
--   spiegelhalter_z           number          z score of brier against its expectation if calibrated
--   weighted                  mark            labelling depends on confidence: labelled results count by the share labelled of their bin
--   clusters                  count           conversations (or traces, or attempts) that n belong to
--   design_effect             ratio           n / independent attempts that accuracy would be equally certain with; 1 if each cluster has one
--   too_few                   mark            n < min_n, or fewer than 5 clusters of several attempts: read the intervals, not the values
-- important: n, accuracy, gap, mean_confidence, ece, miscalibrated
-- hidden: n
-- verdict: max(ece) {group}: the mean confidence is {mean_confidence}, and {accuracy} of {n} labelled attempts were
--   right ({accuracy_low} to {accuracy_high}).
-- next: query reliability --tool {tool}
-- source: ECE and MCE: Naeini 2015; its bias: Bröcker 2012, Kumar 2019 (a bin of one call counts 0); mcb, dsc, unc:
--   CORP, Dimitriadis, Gneiting and Jordan 2021; Cox 1958; Spiegelhalter 1986; AURC: Geifman 2019, expected over ties; clusters:
--   Kish 1965, Korn and Graubard 1998, Rao and Scott 1984; interval of gap: Zou 2007 (MOVER)
-- reasoner: calibration
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
