"""The duration histogram of the semantic conventions."""

from __future__ import annotations

from functools import cache

from opentelemetry import metrics
from opentelemetry.metrics import Histogram

from tooltrace.otel import attributes as names
from tooltrace.otel import internals
from tooltrace.otel.codec import error_type
from tooltrace.record import ToolCall
from tooltrace.version import __version__


@cache
def _histogram() -> Histogram:
    meter = metrics.get_meter("tooltrace", __version__)
    return meter.create_histogram(
        names.DURATION_METRIC,
        unit="s",
        description="Duration of a tool's execution.",
        explicit_bucket_boundaries_advisory=list(names.DURATION_BUCKETS),
    )


def wanted() -> bool:
    """Whether the application has set a MeterProvider."""
    return internals.has_meter_provider()


def emit(call: ToolCall) -> None:
    """Count ``call`` in the histogram. Without a MeterProvider nothing happens."""
    if call.duration_ms is None:
        return
    attributes = {names.OPERATION_NAME: names.EXECUTE_TOOL, names.TOOL_NAME: call.tool}
    if call.tool_type is not None:
        attributes[names.TOOL_TYPE] = call.tool_type
    if call.status == "error":
        attributes[names.ERROR_TYPE] = error_type(call)
    _histogram().record(call.duration_ms / 1e3, attributes)
