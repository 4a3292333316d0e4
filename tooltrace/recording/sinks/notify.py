"""The notification of all sinks of a record that was taken from the queue. Faults of a sink are reported, never raised."""

from __future__ import annotations

import sys
import threading
from typing import Any

from tooltrace.core.records import Outcome
from tooltrace.faults import report_fault
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.sinks import evaluation, otel_events, otel_metric, structlog


def report(where: str, *, lost: int = 1) -> None:
    """Count a fault; call it inside an except block. With ``raise_faults``, call ``threading.excepthook`` instead."""
    try:
        report_fault(where, lost=lost)
    except BaseException:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), None)))


def current_logger() -> Any:
    """Return the application's logger; None where there is none, or the interpreter is finalizing."""
    if not structlog.is_wanted() or sys.is_finalizing():
        return None
    try:
        return structlog.logger()
    except BaseException:
        report("log", lost=0)
        return None


def wants_events() -> bool:
    """Whether to send events of labels and exceptions."""
    try:
        return evaluation.is_wanted() and not sys.is_finalizing()
    except BaseException:
        report("log", lost=0)
        return False


def notify(item: object, logger: Any, *, events: bool) -> None:
    """Pass ``item`` to the metric, the application's log and, where ``events``, the events."""
    try:
        if isinstance(item, Attempt):
            call = item.record()
            otel_metric.emit(call, item)
            if events:
                evaluation.remember_call(call)
                otel_events.emit_exception(call, item, item.trace_flags)
            if logger is not None:
                structlog.emit(call, item.surroundings, logger)
        elif events and isinstance(item, Outcome):
            evaluation.emit(item)
    except BaseException:
        report("log", lost=0)
