-- What ran in a trace or in a conversation, step by step?
--
-- One row per attempt, and one per span of another library, such as an agent run, a model response or a request, in order
-- of time. Pass `trace_id`, `conversation`, or both. The steps of a conversation are its attempts and the spans of their
-- traces, and the traces in which a span of an agent or a model names the conversation, although no tool was called.
-- `parent_span_id` gives the tree; the attempts of one call have the same tool, call_id and first_span_id.
--
-- group: pages
-- parameters:
--   trace_id      text = NULL      steps of this trace
--   conversation  text = NULL      steps of this conversation
--   limit         integer = 20000  maximum number of rows
-- columns:
--   started_at      time   start time
--   kind            text   tool (an attempt), agent, model, retrieval, workflow, or span for any other span
--   tool            text   name of the tool; NULL for a span that is not a tool call
--   span            text   name of a span that is not a tool call; NULL for an attempt
--   scope           text   instrumentation scope that created the span
--   model           text   model that responded or was requested
--   status          text   status that the tool reported, or NULL; for a span that is not a tool call: ok or error
--   ending          text   how the attempt ended
--   code            text   error code
--   duration_ms     ms     time in the tool, or duration of the span
--   consumer_ms     ms     streams: time that the consumer used between items
--   attempt         count  1 for the first execution of the call
--   call_id         text   id of the call
--   first_span_id   text   id of the first attempt of the call, where its id had named another call before
--   message         text   error message, or description of the status; first 200 characters
--   seen            text   text that the model received; first 200 characters; NULL for a span that is not a tool call
--   confidence      share  confidence that the tool reported
--   agent           text   agent that made the call
--   conversation    text   conversation of the call
--   trace_id        text   id of the trace
--   span_id         text   id of the span
--   parent_span_id  text   id of the enclosing span
-- content: message, seen
-- important: started_at, kind, tool, span, status, duration_ms, code, call_id
-- next: show {call_id}
WITH of_conversation AS (
    SELECT trace_id FROM attempts WHERE conversation_id = $conversation
    UNION
    SELECT trace_id
    FROM spans
    -- most spans are excluded by their text, before their JSON is read; a JSON text escapes quotes and backslashes
    WHERE (contains(CAST(attributes AS VARCHAR), $conversation) OR contains($conversation, '"') OR contains($conversation, '\'))
      AND coalesce(
            attributes ->> '$."gen_ai.conversation.id"',
            attributes ->> '$."traceloop.association.properties.session_id"',
            attributes ->> '$."traceloop.association.properties.thread_id"',
            attributes ->> '$."langfuse.session.id"',
            attributes ->> '$."ai.telemetry.metadata.sessionId"',
            attributes ->> '$."ai.telemetry.metadata.conversationId"',
            attributes ->> '$."ai.telemetry.metadata.threadId"',
            attributes ->> '$."ai.telemetry.metadata.chatId"',
            -- other spans have this attribute as well, such as those of a browser session
            CASE WHEN coalesce(
                    attributes ->> '$."gen_ai.operation.name"',
                    attributes ->> '$."openinference.span.kind"',
                    attributes ->> '$."traceloop.span.kind"',
                    attributes ->> '$."langfuse.observation.type"'
                ) IS NOT NULL THEN attributes ->> '$."session.id"' END
        ) = $conversation
),
described AS (
    SELECT
        trace_id, span_id, parent_span_id, name, scope, status, status_message, started_at, duration_ms,
        lower(coalesce(
            attributes ->> '$."gen_ai.operation.name"',
            attributes ->> '$."openinference.span.kind"',
            attributes ->> '$."traceloop.span.kind"',
            attributes ->> '$."langfuse.observation.type"',
            attributes ->> '$."ai.operationId"'
        )) AS operation,
        coalesce(
            attributes ->> '$."gen_ai.response.model"',
            attributes ->> '$."gen_ai.request.model"',
            attributes ->> '$."llm.model_name"',
            attributes ->> '$."ai.model.id"',
            attributes ->> '$."langfuse.observation.model.name"'
        ) AS model
    FROM spans
    WHERE trace_id = $trace_id
       OR trace_id IN (SELECT trace_id FROM of_conversation)
)
SELECT
    started_at,
    'tool' AS kind,
    tool,
    NULL AS span,
    NULL AS scope,
    NULL AS model,
    status,
    ending,
    code,
    duration_ms,
    consumer_ms,
    attempt,
    call_id,
    first_span_id,
    left(error_message, 200) AS message,
    left(seen_text, 200) AS seen,
    confidence,
    agent,
    conversation_id AS conversation,
    trace_id,
    span_id,
    parent_span_id
FROM attempts
WHERE trace_id = $trace_id OR conversation_id = $conversation
UNION ALL
SELECT
    started_at,
    CASE
        WHEN operation IN ('invoke_agent', 'create_agent', 'agent') THEN 'agent'
        WHEN operation IN ('invoke_workflow', 'workflow', 'chain') THEN 'workflow'
        WHEN operation IN ('embeddings', 'embedding', 'retrieval', 'retriever', 'reranker') OR starts_with(operation, 'ai.embed')
            THEN 'retrieval'
        WHEN operation IN ('chat', 'text_completion', 'generate_content', 'llm', 'generation')
            OR starts_with(operation, 'ai.generate') OR starts_with(operation, 'ai.stream') THEN 'model'
        ELSE 'span'
    END AS kind,
    NULL AS tool,
    name AS span,
    scope,
    model,
    status,
    NULL AS ending,
    NULL AS code,
    duration_ms,
    NULL AS consumer_ms,
    NULL AS attempt,
    NULL AS call_id,
    NULL AS first_span_id,
    left(status_message, 200) AS message,
    NULL AS seen,
    NULL AS confidence,
    NULL AS agent,
    NULL AS conversation,
    trace_id,
    span_id,
    parent_span_id
FROM described
ORDER BY started_at, span_id
LIMIT $limit
