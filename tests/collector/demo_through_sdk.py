"""``demo_through_sdk.py CALLS STORE``: the demo in an application that has set up OpenTelemetry itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from opentelemetry import metrics, trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

if os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter


def main(calls: int, store: Path) -> None:
    traces = TracerProvider()
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(), max_queue_size=100_000))
    trace.set_tracer_provider(traces)
    meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter(), export_interval_millis=1e6)])
    metrics.set_meter_provider(meters)
    logs = LoggerProvider()
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(), max_queue_size=100_000))
    set_logger_provider(logs)

    import tooltrace as tt
    from tooltrace.demo.run import run

    run(store, calls=calls, seed=7)
    tt.shutdown()
    for provider in (traces, meters, logs):
        provider.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
