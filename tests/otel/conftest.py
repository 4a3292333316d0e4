"""The application's providers, real ones, put in place for one test: they can be set once a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import opentelemetry._logs._internal as logs_api
import opentelemetry.metrics._internal as metrics_api
import pytest
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Metric
from opentelemetry.sdk.metrics.view import View
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tooltrace as tt
from tooltrace.recording.sinks import evaluation, otel_metric

Logs = Callable[[], list[ReadableLogRecord]]
Measured = Callable[[], list[tuple[Any, Metric]]]


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Logs:
    """Log records of the application's LoggerProvider."""
    exporter, provider = InMemoryLogRecordExporter(), LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    monkeypatch.setattr(logs_api, "_LOGGER_PROVIDER", provider)
    evaluation._recent._items.clear()

    def read() -> list[ReadableLogRecord]:
        assert tt.flush(None)
        return list(exporter.get_finished_logs())

    return read


@pytest.fixture
def metered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Measured]]:
    """Puts a MeterProvider with the given views in place; its answer reads the metrics, each with its scope."""

    def put(*views: View) -> Measured:
        reader = InMemoryMetricReader()
        provider = MeterProvider([reader], views=views, shutdown_on_exit=False)
        monkeypatch.setattr(metrics_api, "_METER_PROVIDER", provider)
        otel_metric._histogram.cache_clear()

        def read() -> list[tuple[Any, Metric]]:
            assert tt.flush(None)
            data = reader.get_metrics_data()
            scopes = [] if data is None else data.resource_metrics[0].scope_metrics
            return [(scope, made) for scope in scopes for made in scope.metrics]

        return read

    yield put
    otel_metric._histogram.cache_clear()


def exporting(**options: Any) -> tuple[TracerProvider, InMemorySpanExporter]:
    """A provider of the SDK's, and what it exported."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False, **options)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter
