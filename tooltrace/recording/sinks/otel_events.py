"""Log events sent through the LoggerProvider of the application, including exceptions of attempts."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from opentelemetry import trace as trace_api
from opentelemetry._logs import Logger, LoggerProvider, SeverityNumber, get_logger_provider
from opentelemetry.context.context import Context
from opentelemetry.sdk.trace import ReadableSpan

from tooltrace.core.records import ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import LogData
from tooltrace.version import __version__

_SEVERITY_TEXT: Final = {None: None, 9: "INFO", 13: "WARN"}


def is_wanted() -> bool:
    """Whether the application has set a LoggerProvider, not one of the API itself."""
    return not type(get_logger_provider()).__module__.startswith("opentelemetry._logs.")


def emit(form: LogData, flags: int = trace_api.TraceFlags.SAMPLED) -> None:
    """Send ``form`` as a log event.

    ``flags``: trace flags of the event's span; unknown flags default to sampled.
    """
    _logger(get_logger_provider()).emit(
        timestamp=form.time_ns,
        context=_context(form, flags),
        severity_number=None if form.severity is None else SeverityNumber(form.severity),
        severity_text=_SEVERITY_TEXT[form.severity],
        body=form.body,
        attributes=form.attributes,
        event_name=form.event_name,
    )


@lru_cache(maxsize=1)
def _logger(provider: LoggerProvider) -> Logger:
    return provider.get_logger("tooltrace", __version__, names.SCHEMA_URL)


def _context(form: LogData, flags: int) -> Context:
    """Return a context in which the event's span is current, or an invalid span where the event has none.

    Without an explicit context, the SDK would use the current span of the background thread.
    """
    if form.trace_id is None or form.span_id is None:
        return trace_api.set_span_in_context(trace_api.INVALID_SPAN, Context())
    state = trace_api.TraceFlags(flags)
    ids = trace_api.SpanContext(int(form.trace_id, 16), int(form.span_id, 16), is_remote=True, trace_flags=state)
    return trace_api.set_span_in_context(trace_api.NonRecordingSpan(ids), Context())


def emit_exception(call: ToolCall, span: ReadableSpan, flags: int) -> None:
    """Send the exception that ended ``call`` as an event.

    Sends nothing where the tool itself recorded an exception on ``span``, to avoid a duplicate.
    """
    from tooltrace.otel.log_codec import exception_log

    form = exception_log(call)
    if form is not None and not any(event.name == "exception" for event in span.events):
        emit(form, flags)
