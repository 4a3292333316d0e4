-- Which calls should be labelled next, to learn most about calibration?
--
-- One row per attempt that nobody has labelled, the most useful first. Finished attempts count, one of each call: its last.
-- Attempts are divided into strata: tool and band of confidence (low below 0.5, middle below 0.8, high from 0.8; none
-- without a confidence, unread without a confidence where no rule could read the result). The accuracy of a tool is
-- estimated as the sum over its bands of share × accuracy of the band. A further label of a band with n labels reduces the
-- variance of that estimate by about share² × p (1 - p) / ((n + 2) (n + 3)), where p = (right + 1) / (n + 2). Rows are
-- ordered by that reduction, so large, uncertain and little labelled bands come first, and each row counts the rows of its
-- stratum before it as labelled.
--
-- Every fifth row is an unread result, as long as there are any: their labels show how many of them failed, so that the
-- failure rate is a range, from the failures that were read to those and the share estimated among the unread. Calls
-- without a confidence whose result was read teach nothing about calibration, so they are left out; with
-- `without_confidence` = yes they come last: their labels show how often a tool is right.
--
-- Within a stratum the choice is random, but the same for the same `seed`: each of its calls without a label is in the list
-- with the stated probability, whether it is right or wrong. Labels of a complete list are a fair sample within each band;
-- over bands, a label stands for 1 / (labelled / calls) calls of its band, which is the weight that calibration gives it.
-- A list that is labelled in part, such as the calls that look wrong, is no fair sample.
--
-- group: trust
-- parameters:
--   since               timestamp = NULL  attempts that started at this time or later
--   until               timestamp = NULL  attempts that started before this time
--   tool                text = NULL       this tool only
--   seed                integer = 0       another seed gives another random choice
--   without_confidence  text = 'no'       yes: calls without a confidence too, after all others
--   limit               integer = 20      number of attempts; 999,999 of a stratum at most
-- columns:
--   tool         text    name of the tool
--   band         text    low, middle, high, none without a confidence, or unread without a confidence and a reading
--   confidence   share   confidence that the tool reported
--   status       text    status that the tool reported
--   started_at   time    start time
--   call_id      text    id of the call
--   span_id      text    id of the attempt
--   gain         number  reduction of the variance of the tool's accuracy by this label
--   calls        count   calls of the stratum
--   labelled     count   labelled calls of the stratum
--   probability  number  probability with which a call of the stratum without a label is in this list
-- important: tool, band, confidence, call_id, labelled
-- verdict: top A label of {call_id} says the most about calibration: {tool}, with a confidence of {confidence}.
-- next: show {call_id}
-- source: optimal allocation: Neyman 1934; greedy, with the posterior mean of a uniform prior as accuracy;
--   inclusion probabilities of a stratified sample: Horvitz and Thompson 1952
-- reasoner: to_label
SELECT
    tool, stratum, stratum_calls, stratum_labelled, stratum_right, tool_calls, confidence, status, started_at, call_id, span_id,
    md5(concat(CAST($seed AS VARCHAR), '/', span_id)) AS draw
FROM facts
JOIN (
    SELECT stratum, stratum_calls, stratum_labelled, stratum_right, tool_calls, unnest(spans) AS candidate
    FROM (
        SELECT *, sum(stratum_calls) OVER (PARTITION BY tool) AS tool_calls
        FROM (
            SELECT
                tool,
                CASE WHEN confidence < 0.5 THEN 1 WHEN confidence < 0.8 THEN 2 WHEN confidence <= 1 THEN 3 WHEN grade = 'unread' THEN 5 ELSE 4 END AS stratum,
                count(*) AS stratum_calls,
                count(correct) AS stratum_labelled,
                count(*) FILTER (WHERE correct) AS stratum_right,
                min_by(span_id, CASE WHEN correct IS NULL THEN md5(concat(CAST($seed AS VARCHAR), '/', span_id)) END, least($limit, 999999)) AS spans
            FROM facts
            LEFT JOIN (SELECT span_id AS judged_span, correct FROM judged) AS labels ON judged_span = span_id
            WHERE {window} AND ends_call
            GROUP BY ALL
        ) AS strata
    ) AS with_tool
) AS candidates ON candidate = span_id
