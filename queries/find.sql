-- Which attempts contain a text?
--
-- One row per attempt, the one that started last first. Letters match in both cases. A space in `text` stands for any white
-- space. Values are searched as they are stored, so `arguments` and a structured result are JSON; there, a quote, a
-- backslash and a line break also match their JSON escapes. With `words`, `text` must begin and end where words do: "order"
-- does not match "reorder" then. These are words of ASCII letters, digits and _; other characters, such as Chinese, need no
-- word end. To read the next page, pass started_at and span_id of the last row as `before` and `before_span`.
--
-- group: pages
-- parameters:
--   text          text              text to find
--   field         text = NULL       arguments, error, result or seen: search this only
--   words         text = NULL       yes: complete words only
--   since         timestamp = NULL  attempts that started at this time or later
--   until         timestamp = NULL  attempts that started before this time
--   before        timestamp = NULL  next page: started_at of the last row
--   before_span   text = NULL       next page: span_id of the last row
--   tool          text = NULL       this tool only
--   agent         text = NULL       this agent only
--   conversation  text = NULL       this conversation only
--   limit         positive = 50     maximum number of rows
-- columns:
--   started_at    time   start of the attempt
--   tool          text   name of the tool
--   status        text   status that the tool reported; NULL if it reported none
--   ending        text   how the attempt ended
--   code          text   error code
--   field         text   first of these that has the text: arguments, error (message, suggestion, traceback), result (value, text or context), seen (text that the model received)
--   before        text   up to 60 characters before the match
--   match         text   the text that was found
--   after         text   up to 140 characters after the match
--   conversation  text   conversation of the call
--   agent         text   agent that made the call
--   call_id       text   id of the call
--   span_id       text   id of the attempt
-- content: all
-- important: started_at, tool, status, field, before, match, after, call_id
-- verdict: top The newest is one of {tool} at {started_at}: its {field} has the text.
-- next: show {span_id}
WITH received AS (
    SELECT span_id
    FROM messages
    WHERE ($field IS NULL OR $field = 'seen') AND has_text("text", $text, $words)
),
found AS (
    SELECT
        started_at, tool, status, ending, code, conversation_id, agent, call_id, span_id,
        CAST(arguments AS TEXT) AS arguments, CAST(result AS TEXT) AS result, "text" AS result_text,
        CAST(context AS TEXT) AS context_text, error_message, suggestion, traceback, seen_text
    FROM attempts
    WHERE ($since IS NULL OR started_at >= $since)
      AND ($until IS NULL OR started_at < $until)
      AND ($before IS NULL OR started_at < $before OR started_at = $before AND span_id > coalesce($before_span, ''))
      AND ($tool IS NULL OR tool = $tool)
      AND ($agent IS NULL OR agent = $agent)
      AND ($conversation IS NULL OR conversation_id = $conversation)
      AND (
        ($field IS NULL OR $field = 'arguments') AND has_text(CAST(arguments AS TEXT), $text, $words)
        OR ($field IS NULL OR $field = 'error') AND (
            has_text(error_message, $text, $words) OR has_text(suggestion, $text, $words) OR has_text(traceback, $text, $words))
        OR ($field IS NULL OR $field = 'result') AND (
            has_text("text", $text, $words) OR has_text(CAST(result AS TEXT), $text, $words)
            OR has_text(CAST(context AS TEXT), $text, $words))
        OR ($field IS NULL OR $field = 'seen') AND (
            has_text(seen_text, $text, $words) OR span_id IN (SELECT span_id FROM received))
      )
    ORDER BY started_at DESC, span_id
    LIMIT $limit
),
received_texts AS (
    SELECT span_id, arg_max("text", "at") AS received_text
    FROM messages
    WHERE span_id IN (SELECT span_id FROM found) AND has_text("text", $text, $words)
    GROUP BY span_id
),
located AS (
    SELECT
        f.*,
        CASE
            WHEN ($field IS NULL OR $field = 'arguments') AND has_text(arguments, $text, $words) THEN 'arguments'
            WHEN ($field IS NULL OR $field = 'error') AND (
                has_text(error_message, $text, $words) OR has_text(suggestion, $text, $words) OR has_text(traceback, $text, $words))
                THEN 'error'
            WHEN ($field IS NULL OR $field = 'result') AND (
                has_text(result_text, $text, $words) OR has_text(result, $text, $words)
                OR has_text(context_text, $text, $words)) THEN 'result'
            ELSE 'seen'
        END AS field,
        r.received_text
    FROM found AS f
    LEFT JOIN received_texts AS r ON r.span_id = f.span_id
),
chosen AS (
    SELECT
        *,
        CASE
            WHEN field = 'arguments' THEN arguments
            WHEN field = 'error' AND has_text(error_message, $text, $words) THEN error_message
            WHEN field = 'error' AND has_text(suggestion, $text, $words) THEN suggestion
            WHEN field = 'error' THEN traceback
            WHEN field = 'result' AND has_text(result_text, $text, $words) THEN result_text
            WHEN field = 'result' AND has_text(result, $text, $words) THEN result
            WHEN field = 'result' THEN context_text
            WHEN has_text(seen_text, $text, $words) THEN seen_text
            ELSE received_text
        END AS body
    FROM located
),
placed AS (
    SELECT
        *,
        concat(
            '(?s)^.*?(.{0,60}?)(',
            CASE WHEN $words IS NOT NULL AND regexp_matches(body, search_pattern($text, '\b'), 'i')
                THEN search_pattern($text, '\b') ELSE search_pattern($text, '') END,
            ')(.{0,140}).*$'
        ) AS surroundings
    FROM chosen
)
SELECT
    started_at,
    tool,
    status,
    ending,
    code,
    field,
    regexp_replace(body, surroundings, '\1', 'i') AS "before",
    regexp_replace(body, surroundings, '\2', 'i') AS "match",
    regexp_replace(body, surroundings, '\3', 'i') AS "after",
    conversation_id AS conversation,
    agent,
    call_id,
    span_id
FROM placed
ORDER BY started_at DESC, span_id
