"""The duration histogram of the OpenTelemetry semantic conventions."""

from __future__ import annotations

from functools import cache

from opentelemetry import metrics
from opentelemetry.context.context import Context
from opentelemetry.metrics import Histogram
from opentelemetry.trace import Span

from tooltrace.core.records import ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel import metrics as tool_metrics
from tooltrace.otel import sdk_internals
from tooltrace.version import __version__


@cache
def _histogram() -> Histogram:
    meter = metrics.get_meter("tooltrace", __version__, schema_url=names.SCHEMA_URL)
    return meter.create_histogram(
        names.DURATION_METRIC,
        unit=tool_metrics.UNIT,
        description=tool_metrics.DESCRIPTION,
        explicit_bucket_boundaries_advisory=list(names.DURATION_BUCKETS),
    )


def is_wanted() -> bool:
    """Whether the application has set a MeterProvider."""
    return sdk_internals.has_meter_provider()


def emit(call: ToolCall, span: Span | None = None) -> None:
    """Record the duration of ``call`` in the histogram, where the application has a MeterProvider.

    ``span``: span of the call, for exemplars.
    """
    if call.duration_ms is None or not is_wanted():
        return
    span_context = None if span is None else Context({sdk_internals.SPAN_KEY: span})
    _histogram().record(call.duration_ms / 1e3, tool_metrics.duration_attributes(call), span_context)
