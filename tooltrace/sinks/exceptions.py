"""The exception event of an attempt that raised."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan

from tooltrace.record import ToolCall
from tooltrace.sinks import events


def emit(call: ToolCall, span: ReadableSpan, flags: int) -> None:
    """Send the exception that ended ``call``, unless the tool recorded one on its ``span`` itself: once is enough."""
    from tooltrace.otel.events import exception_log

    form = exception_log(call)
    if form is not None and not any(event.name == "exception" for event in span.events):
        events.emit(form, flags)
