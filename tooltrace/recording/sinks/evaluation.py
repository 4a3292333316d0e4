"""The evaluation event of the OpenTelemetry semantic conventions, which exports a label."""

from __future__ import annotations

from tooltrace.core.lru import LruMap
from tooltrace.core.records import Outcome, ToolCall
from tooltrace.recording.sinks import otel_events

_recent: LruMap[tuple[str, str]] = LruMap(20_000)
"""Trace id and span id of the latest attempts of this process, by call id and by span id."""

is_wanted = otel_events.is_wanted
"""Whether the application has set a LoggerProvider."""


def remember_call(call: ToolCall) -> None:
    """Remember the ids of ``call``, so that the event of a later label refers to its span."""
    if call.status is not None:
        _recent.put((False, call.call_id), (call.trace_id, call.span_id))
        _recent.put((True, call.span_id), (call.trace_id, call.span_id))


def emit(outcome: Outcome, *, trace_id: str | None = None, span_id: str | None = None) -> None:
    """Send ``outcome`` as an event whose parent is the judged span.

    ``trace_id``, ``span_id``: ids of that span; where left out, the remembered ids are used.
    """
    from tooltrace.otel.log_codec import to_log

    judged = (trace_id, span_id or outcome.span_id)
    if judged[0] is None or judged[1] is None:
        key = (False, outcome.call_id) if outcome.span_id is None else (True, outcome.span_id)
        judged = _recent.get(key) or (None, None)
    otel_events.emit(to_log(outcome, trace_id=judged[0], span_id=judged[1]))
