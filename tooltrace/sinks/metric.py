"""The duration histogram of the semantic conventions."""

from __future__ import annotations

from functools import cache

from opentelemetry import metrics
from opentelemetry.context.context import Context
from opentelemetry.metrics import Histogram
from opentelemetry.trace import Span

from tooltrace.otel import attributes as names
from tooltrace.otel import durations, internals
from tooltrace.record import ToolCall
from tooltrace.version import __version__


@cache
def _histogram() -> Histogram:
    meter = metrics.get_meter("tooltrace", __version__, schema_url=names.SCHEMA_URL)
    return meter.create_histogram(
        names.DURATION_METRIC,
        unit=durations.UNIT,
        description=durations.DESCRIPTION,
        explicit_bucket_boundaries_advisory=list(names.DURATION_BUCKETS),
    )


def wanted() -> bool:
    """Whether the application has set a MeterProvider."""
    return internals.has_meter_provider()


def emit(call: ToolCall, span: Span | None = None) -> None:
    """Count ``call`` in the histogram; without a MeterProvider nothing happens. ``span``: of the call, for exemplars."""
    if call.duration_ms is None or not wanted():
        return
    around = None if span is None else Context({internals.SPAN_KEY: span})
    _histogram().record(call.duration_ms / 1e3, durations.duration_attributes(call), around)
