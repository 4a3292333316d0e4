-- Where did one call stop for a person, and what was decided?
--
-- parameters:
--   call_id  text  the call
-- columns:
--   call_id          text   the call
--   span_id          text   the attempt that stopped
--   kind             text   confirmation, input or external
--   decision         text   approved, declined or expired; NULL while it waits
--   asked_at         time   when the person was asked
--   answered_at      time   when they answered
--   waited_ms        ms     time between the two
--   answered_by      text   who answered
--   note             text   what they said
--   changed          json   the arguments that they changed or gave
--   resumed_span_id  text   the attempt that went on with the answer
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
