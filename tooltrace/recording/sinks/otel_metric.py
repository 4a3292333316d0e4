"""The duration histogram of the OpenTelemetry semantic conventions."""

from __future__ import annotations

from functools import cache

from opentelemetry import metrics
from opentelemetry.context.context import Context
from opentelemetry.metrics import Histogram
from opentelemetry.trace import Span, set_span_in_context

from tooltrace.core.records import ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel import metrics as tool_metrics
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
    """Whether the application has set a MeterProvider, not one of the API itself."""
    return not type(metrics.get_meter_provider()).__module__.startswith("opentelemetry.metrics.")


def record(call: ToolCall, span: Span) -> None:
    """Record the duration of ``call``. ``span``: its span, for exemplars."""
    if call.duration_ms is not None:
        context = set_span_in_context(span, Context())
        _histogram().record(call.duration_ms / 1e3, tool_metrics.duration_attributes(call), context)
