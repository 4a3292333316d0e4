"""The evaluation event of the semantic conventions: a label, as other tools see it."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from opentelemetry import trace as trace_api
from opentelemetry._logs import Logger, LoggerProvider, NoOpLoggerProvider, get_logger_provider
from opentelemetry._logs._internal import ProxyLoggerProvider
from opentelemetry.context.context import Context

from tooltrace.otel import attributes as names
from tooltrace.record import Outcome, ToolCall
from tooltrace.surroundings import Recent
from tooltrace.version import __version__

_recent: Recent[tuple[str, str]] = Recent(20_000)
"""Trace and span of what this process recorded lately, by call and by span."""

os.register_at_fork(after_in_child=_recent.after_fork)


def wanted() -> bool:
    """Whether the application has set a LoggerProvider."""
    return not isinstance(get_logger_provider(), ProxyLoggerProvider | NoOpLoggerProvider)


def remember(call: ToolCall) -> None:
    """A label of ``call`` may come: the event is to be found beside its span."""
    if call.status is not None:
        _recent.put((False, call.call_id), (call.trace_id, call.span_id))
        _recent.put((True, call.span_id), (call.trace_id, call.span_id))


def emit(outcome: Outcome, *, trace_id: str | None = None, span_id: str | None = None) -> None:
    """Send ``outcome`` as an event, parented to the judged span: ``trace_id`` and ``span_id``, else as remembered."""
    judged = (trace_id, span_id or outcome.span_id)
    if judged[0] is None or judged[1] is None:
        key = (False, outcome.call_id) if outcome.span_id is None else (True, outcome.span_id)
        judged = _recent.get(key) or (None, None)
    _logger(get_logger_provider()).emit(
        timestamp=max(0, round(outcome.labeled_at.timestamp() * 1e6)) * 1000,
        context=_context(*judged),
        attributes=_attributes(outcome),
        event_name=names.EVALUATION_EVENT,
    )


@lru_cache(maxsize=1)
def _logger(provider: LoggerProvider) -> Logger:
    return provider.get_logger("tooltrace", __version__)


def _attributes(outcome: Outcome) -> dict[str, Any]:
    """As in the view ``judged``: right is 1 and wrong is 0 where no score was given, and right from 0.5 on."""
    correct = outcome.correct if outcome.correct is not None else (outcome.score or 0.0) >= 0.5
    known: dict[str, Any] = {
        names.EVALUATION_NAME: outcome.labeler,
        names.EVALUATION_SCORE_VALUE: float(correct) if outcome.score is None else outcome.score,
        names.EVALUATION_SCORE_LABEL: "correct" if correct else "incorrect",
        names.EVALUATION_EXPLANATION: outcome.reason,
        names.TOOL_CALL_ID: outcome.call_id,
        names.JUDGED_SPAN_ID: outcome.span_id,
    }
    return {key: value for key, value in known.items() if value is not None}


def _context(trace_id: str | None, span_id: str | None) -> Context:
    """One in which the judged span is current. Whether it was sampled is not recorded; it is taken to have been."""
    if trace_id is None or span_id is None:
        return trace_api.set_span_in_context(trace_api.INVALID_SPAN, Context())
    ids = trace_api.SpanContext(int(trace_id, 16), int(span_id, 16), True, trace_api.TraceFlags(1))
    return trace_api.set_span_in_context(trace_api.NonRecordingSpan(ids), Context())
