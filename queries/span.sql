-- What did a span of another library record?
--
-- One row, or none where no span has the id. Attempts of tools are not in it: the query call has these.
--
-- group: pages
-- parameters:
--   span_id  text = NULL  id of the span
-- columns:
--   name            text  name of the span
--   scope           text  instrumentation scope that created the span
--   scope_version   text  version of the instrumentation
--   span_kind       text  internal, server, client, producer or consumer
--   status          text  ok or error; NULL if it is not set
--   status_message  text  description of the status
--   started_at      time  start time
--   duration_ms     ms    duration
--   attributes      json  attributes of the span, redacted and bounded
--   events          json  array of the events of the span: name, at, attributes
--   links           json  array of the links of the span: trace_id, span_id, attributes
--   service         text  name of the service
--   host            text  name of the machine
--   pid             count  process id
--   trace_id        text  id of the trace
--   span_id         text  id of the span
--   parent_span_id  text  id of the enclosing span
-- content: status_message, attributes, events, links
-- important: name, scope, status, started_at, duration_ms
-- next: query attempts
SELECT
    name,
    scope,
    scope_version,
    span_kind,
    status,
    status_message,
    started_at,
    duration_ms,
    attributes,
    events,
    links,
    service,
    host,
    pid,
    trace_id,
    span_id,
    parent_span_id
FROM spans
WHERE span_id = $span_id
LIMIT 1
