-- Where did one call wait for a person, and what was decided?
--
-- One row per stop, in order of time.
--
-- group: pages
-- parameters:
--   call_id  text  id of the call
-- columns:
--   call_id          text   id of the call
--   span_id          text   the attempt that waited
--   kind             text   confirmation, input, external or review
--   decision         text   approved, declined or expired; NULL while waiting
--   asked_at         time   time of the request
--   answered_at      time   time of the answer
--   waited_ms        ms     time from the request to the answer
--   answered_by      text   person who answered
--   note             text   note of that person
--   changed          json   arguments that the person changed or added
--   resumed_span_id  text   the attempt that continued after the answer
-- next: show {call_id}
SELECT
    call_id,
    span_id,
    kind,
    decision,
    asked_at,
    answered_at,
    (epoch_us(answered_at) - epoch_us(asked_at)) / 1000.0 AS waited_ms,
    answered_by,
    note,
    changed,
    resumed_span_id
FROM gates
WHERE call_id = $call_id
ORDER BY asked_at, span_id
