-- How far are these attempts labelled?
--
-- One row per attempt of the list, in its order; ids of no attempt are left out. Labels of the attempt and of its call
-- count, as in judged.
--
-- group: pages
-- parameters:
--   spans  text = NULL  span ids, separated by commas
-- columns:
--   place         count  position in the list, from 1
--   tool          text   name of the tool
--   status        text   status that the tool reported
--   confidence    share  confidence that the tool reported
--   call_id       text   id of the call
--   span_id       text   id of the attempt
--   correct       flag   whether the result was right, by the majority of labelers; NULL without a label
--   labelers      count  number of labelers
-- important: place, tool, confidence, correct, labelers, call_id
-- next: show {call_id}
WITH listed AS (
    SELECT span_id, row_number() OVER () AS place FROM (SELECT unnest(string_split(coalesce($spans, ''), ',')) AS span_id)
)
SELECT
    l.place,
    a.tool,
    a.status,
    a.confidence,
    a.call_id,
    l.span_id,
    j.correct,
    coalesce(j.labelers, 0) AS labelers
FROM listed AS l
JOIN attempts AS a ON a.span_id = l.span_id
LEFT JOIN judged AS j ON j.span_id = l.span_id
ORDER BY l.place
