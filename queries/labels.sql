-- How was one call judged?
--
-- parameters:
--   call_id  text  the call
-- columns:
--   call_id     text    the call
--   span_id     text    the attempt that was judged; NULL where it is the call
--   correct     flag    whether the result was right
--   score       share   how right it was
--   labeler     text    who judged
--   reason      text    why
--   labeled_at  time    when
SELECT call_id, span_id, correct, score, labeler, reason, labeled_at
FROM outcomes
WHERE call_id = $call_id
   OR span_id IN (SELECT span_id FROM tool_calls WHERE call_id = $call_id)
ORDER BY labeled_at, labeler
