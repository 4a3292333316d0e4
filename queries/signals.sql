-- Which confidence signals are informative?
--
-- One row per signal: how often results are right with it and without it. An attempt has a signal if it names the signal
-- with a value other than false, 0, null or empty. A signal whose value is text counts as one signal per text, such as
-- match=exact. All other labelled attempts of the group are without it. Finished attempts count. An attempt is right if its
-- labels say so (judged.correct). A difference does not prove that the signal is the cause.
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
--   clusters          count             conversations (or traces, or attempts) of the side that has fewer
--   design_effect     ratio             labelled attempts / independent attempts that the accuracy would be equally certain with, of the side where it is larger
--   too_few           mark              n_with or n_without < min_n, or fewer than 5 clusters of several attempts: read the interval, not the difference
-- content: all
-- important: signal, difference, n_with, n_without, accuracy_with, accuracy_without
-- hidden: n_without
-- verdict: max(difference) {group}: with the signal {signal}, {accuracy_with} of the results were right, without it
--   {accuracy_without}.
-- next: query confidence_bands --tool {tool}
-- source: Wilson score intervals (Wilson 1927), z = 1.959963984540054; interval of the difference: Newcombe 1998, method
--   10; effective numbers of attempts: Kish 1965, Korn and Graubard 1998
-- reasoner: signals
SELECT
    {by},
    cluster,
    CAST(signals AS TEXT) AS signals,
    count(*) AS attempts,
    count(correct) AS n,
    count(*) FILTER (WHERE correct) AS s
FROM facts
LEFT JOIN judged ON judged.span_id = facts.span_id
WHERE finished AND {window}
GROUP BY ALL
