"""OTLP: spans, log events and the duration metric to an OpenTelemetry collector, by http/protobuf or gRPC.

Configured by the standard variables ``OTEL_EXPORTER_OTLP_*``, ``OTEL_TRACES_EXPORTER``, ``OTEL_LOGS_EXPORTER`` and
``OTEL_METRICS_EXPORTER`` (``none`` turns that signal off), or by a ``Target``. Journals are delivered to one
destination per signal, so that a failing signal does not delay the others; history goes to one destination with all
signals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tooltrace.core.records import Record, ToolCall
from tooltrace.errors import ConfigError
from tooltrace.exporters.otlp_config import GRPC, Signal, SignalSettings, chosen, settings_of, span_sampler
from tooltrace.exporters.otlp_metrics import histograms
from tooltrace.exporters.otlp_records import RecordEncoder
from tooltrace.exporters.protocol import ExportError, MissingExtra, PartlyRefused, Refused, Target, Unavailable
from tooltrace.faults import faults
from tooltrace.otel.content_policy import apply_policy, outgoing_log
from tooltrace.otel.otlp.proto_json import merge_json, message_to_json
from tooltrace.otel.otlp.to_proto import histograms_to_proto, logs_to_proto, spans_to_proto
from tooltrace.redact.redaction import Redaction

COUNTED: Final = "counted_until_ns"
"""Key in ``memory`` of the end of the duration metric's last point."""


class Sender(Protocol):
    """A transport for the requests of one signal."""

    encodes_json: bool
    """Whether requests and responses are JSON; else they are protobuf."""

    def send(self, request: bytes) -> bytes:
        """Send ``request`` and return the response. Raises ExportError."""

    def close(self) -> None:
        """Close the connection."""


def create(target: Target) -> OtlpDestination:
    """Create the destination that ``target`` and the environment configure.

    Raises ConfigError, and ImportError without the extra.
    """
    settings = [settings_of(signal, target) for signal in chosen(target)]
    if not settings:
        raise ConfigError(
            "OTEL_SDK_DISABLED, OTEL_…_EXPORTER and OTEL_EXPORTER_OTLP_…_ENDPOINT turn every signal off; "
            "nothing is exported"
        )
    senders = {each.signal: _sender(each) for each in settings}
    return OtlpDestination(
        senders,
        RecordEncoder(target.service, target.host, target.attributes),
        f"{settings[0].protocol} {settings[0].place}",
    )


def _sender(settings: SignalSettings) -> Sender:
    if settings.protocol == GRPC:
        try:
            from tooltrace.exporters.otlp_grpc import GrpcSender
        except ImportError as error:
            raise MissingExtra(f"OTLP by gRPC: {error}: pip install 'tooltrace-recorder[otlp,grpc]'") from error
        return GrpcSender(settings)
    from tooltrace.exporters.otlp_http import HttpSender

    return HttpSender(settings)


class OtlpDestination:
    """An OTLP destination that sends each signal to its own endpoint."""

    def __init__(self, senders: dict[Signal, Sender], encoder: RecordEncoder, description: str = "") -> None:
        self.description = description
        self._senders = senders
        self._encoder = encoder
        self.parts: Sequence[str] = tuple(senders)
        self.memory: dict[str, Any] = {}
        self._is_sampled = span_sampler()

    def send(self, records: Sequence[Record]) -> None:
        """Send every signal of ``records``; the error of one signal does not stop the others."""
        errors: list[ExportError] = []
        for part in self.parts:
            try:
                self.send_part(part, records)
            except ExportError as error:
                errors.append(error)
        if errors:
            raise next((error for error in errors if isinstance(error, Unavailable)), errors[0])

    def send_part(self, part: str, records: Sequence[Record]) -> None:
        """Send one signal of ``records``, if they contain any of it."""
        if part == "traces":
            self._send_spans(records)
        elif part == "logs":
            self._send_logs(records)
        else:
            self._send_metrics(records)

    def close(self) -> None:
        """Close the connections."""
        for sender in self._senders.values():
            sender.close()

    def _send_spans(self, records: Iterable[Record]) -> None:
        try:
            spans = [
                apply_policy(span)
                for span in map(self._encoder.span, records)
                if span is not None and self._is_sampled(span.trace_id)
            ]
            request = self._encoded("traces", spans_to_proto(spans))
        except (ValueError, TypeError, KeyError) as error:
            raise Refused(f"it cannot be encoded as OTLP: {error}") from error
        if spans:
            try:
                self._send("traces", request, ExportTraceServiceResponse(), "rejected_spans")
            except Refused as error:
                # probably a wrong address: keep the spans until it is corrected
                if error.whole:
                    raise Unavailable(str(error)) from error
                raise

    def _send_logs(self, records: Iterable[Record]) -> None:
        try:
            logs = [outgoing_log(log) for log in map(self._encoder.log, records) if log is not None]
            request = self._encoded("logs", logs_to_proto(logs))
        except (ValueError, TypeError, KeyError) as error:
            raise Refused(f"it cannot be encoded as OTLP: {error}") from error
        if logs:
            try:
                self._send("logs", request, ExportLogsServiceResponse(), "rejected_log_records")
            # not kept as spans are: many receivers accept no logs, and their journals would be kept for nothing
            except Refused as error:
                raise Refused(str(error), whole=error.whole, count=len(logs)) from error

    def _send_metrics(self, records: Iterable[Record]) -> None:
        calls = [record for record in records if isinstance(record, ToolCall)]
        try:
            after = int(self.memory.get(COUNTED, 0))
            points = histograms(calls, after_ns=after, resource_of=self._encoder.resource_of)
            request = self._encoded("metrics", histograms_to_proto(points))
        except (ValueError, TypeError, OverflowError) as error:
            raise Refused(f"it cannot be encoded as OTLP: {error}") from error
        if points:
            try:
                self._send("metrics", request, ExportMetricsServiceResponse(), "rejected_data_points")
            except Refused as error:
                if not error.whole:
                    raise
                _warn_metrics_rejected(error)
            except PartlyRefused as error:
                _warn_metrics_rejected(error)
            # delta temporality: the next point begins where this one ended, even if the receiver refused this one
            self.memory[COUNTED] = points[0].end_ns

    def _encoded(self, signal: Signal, request: Message) -> bytes:
        return message_to_json(request) if self._senders[signal].encodes_json else request.SerializeToString()

    def _send(self, signal: Signal, request: bytes, answer: Message, rejected: str) -> None:
        response = self._senders[signal].send(request)
        try:
            if self._senders[signal].encodes_json:
                merge_json(response or b"{}", answer)
            else:
                answer.MergeFromString(response)
        except (DecodeError, ValueError):  # acknowledged even so
            return
        partial: Any = answer.partial_success  # type: ignore[attr-defined]
        count, message = int(getattr(partial, rejected)), Redaction().redact_text(str(partial.error_message))[:300]
        if count > 0:
            raise PartlyRefused(f"{signal}: {count} refused: {message}", count)
        if message:
            faults.warn_once(
                f"export_{signal}", f"tooltrace: the receiver of {signal} reports: {message}", counted=False
            )


def _warn_metrics_rejected(error: ExportError) -> None:
    """Warn that the receiver rejects metrics. Nothing is lost, because the spans contain the same durations."""
    faults.warn_once("export_metrics", f"tooltrace: {error}; the calls are sent as spans nevertheless", counted=False)
