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


class BatchSinks:
    """The sinks that the application has at the beginning of a batch."""

    def __init__(self) -> None:
        self._logger = current_logger()
        self._events = wants_events()
        self._measures = otel_metric.is_wanted()
        self.is_wanted = self._logger is not None or self._events or self._measures
        """Whether there is a sink at all."""

    def notify(self, item: object) -> None:
        """Pass ``item`` to the metric, the application's log and the events of OpenTelemetry."""
        try:
            if isinstance(item, Attempt):
                self._notify_of_call(item)
            elif self._events and isinstance(item, Outcome):
                evaluation.emit(item)
        except BaseException:
            report("log", lost=0)

    def _notify_of_call(self, attempt: Attempt) -> None:
        call = attempt.call  # made and remembered with the line
        assert call is not None
        if self._measures:
            otel_metric.record(call, attempt)
        if self._events:
            evaluation.remember_call(call)
            otel_events.emit_exception(call, attempt, attempt.trace_flags)
        if self._logger is not None:
            failed = call.status == "error"
            structlog.emit(structlog.fields_of(call), attempt.surroundings, self._logger, failed=failed)
