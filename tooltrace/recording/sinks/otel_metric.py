"""The duration histogram of the OpenTelemetry semantic conventions."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from opentelemetry import metrics
from opentelemetry.metrics import Histogram

from tooltrace.otel import attributes as names
from tooltrace.otel import metrics as tool_metrics
from tooltrace.otel import sdk_internals
from tooltrace.otel.metrics import Series
from tooltrace.otel.sdk_histogram import Measurement, record_all
from tooltrace.version import __version__

if TYPE_CHECKING:
    from tooltrace.recording.attempt import Attempt


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


class Durations:
    """Durations of attempts that wait to be recorded in the histogram, by their attributes."""

    def __init__(self) -> None:
        self._measured: dict[Series, list[Measurement]] = {}

    def add(self, series: Series, duration_ms: float, attempt: Attempt) -> None:
        """Add the duration of ``attempt``."""
        known = self._measured.get(series)
        if known is None:
            known = self._measured[series] = []
        known.append(Measurement(duration_ms / 1e3, attempt))

    def record(self) -> None:
        """Record the durations added since the last time."""
        measured, self._measured = self._measured, {}
        for series, durations in measured.items():
            record_all(_histogram(), series.attributes(), durations)
