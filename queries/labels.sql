-- How was one call, or one conversation, labelled?
--
-- One row per label of the call or of one of its attempts, or of the conversation itself, in order of time.
--
-- group: pages
-- parameters:
--   call_id          text = NULL  id of the call
--   conversation_id  text = NULL  id of the conversation
-- columns:
--   call_id     text    id of the call
--   span_id     text    the labelled attempt; NULL if the label is for the call or the conversation
--   correct     flag    whether the result was right
--   score       share   score of the result, 0 to 1
--   labeler     text    person or program that gave the label
--   reason      text    reason for the label
--   labeled_at  time    time of the label
-- next: show {call_id}
SELECT call_id, span_id, correct, score, labeler, reason, labeled_at
FROM outcomes
WHERE call_id = $call_id
   OR span_id IN (SELECT span_id FROM attempts WHERE call_id = $call_id)
   OR conversation_id = $conversation_id AND target_kind = 'conversation'
ORDER BY labeled_at, labeler
