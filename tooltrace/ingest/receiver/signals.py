"""The three signals of OTLP: paths, services and response types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

_PACKAGE = "opentelemetry.proto.collector"


@dataclass(frozen=True, slots=True)
class Signal:
    """One kind of telemetry."""

    name: str
    path: str
    """HTTP path."""
    service: str
    """gRPC service; its method is ``Export``."""
    answer: type[Message]
    rejected: str
    """Field of the response's ``partial_success`` that counts rejected items."""

    @property
    def rejected_json(self) -> str:
        """Name of the field ``rejected`` in JSON."""
        first, *rest = self.rejected.split("_")
        return first + "".join(map(str.title, rest))


TRACES: Final = Signal(
    "traces", "/v1/traces", f"{_PACKAGE}.trace.v1.TraceService", traces.ExportTraceServiceResponse, "rejected_spans"
)
LOGS: Final = Signal(
    "logs", "/v1/logs", f"{_PACKAGE}.logs.v1.LogsService", logs.ExportLogsServiceResponse, "rejected_log_records"
)
METRICS: Final = Signal(
    "metrics",
    "/v1/metrics",
    f"{_PACKAGE}.metrics.v1.MetricsService",
    metrics.ExportMetricsServiceResponse,
    "rejected_data_points",
)
SIGNALS: Final = (TRACES, LOGS, METRICS)
