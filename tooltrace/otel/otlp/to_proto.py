"""Encode spans, log events and histograms as OTLP's protobuf messages.

Text that is not valid Unicode is repaired; an integer beyond 64 bits, which OTLP cannot represent, becomes text. A
value nested deeper than protobuf readers must accept becomes JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, get_args

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1 import metrics_pb2 as metrics
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from tooltrace.otel import attributes as names
from tooltrace.otel.otlp.grouping import by_resource_and_scope
from tooltrace.otel.span_codec import SCOPE
from tooltrace.otel.span_data import LogData, SpanData, SpanKindName, SpanStatus
from tooltrace.redact.texts import fix_unicode
from tooltrace.redact.walk import to_json_bytes

MAX_DEPTH: Final = 20
"""Maximum nesting depth of lists and maps: each level costs up to four of protobuf's default 100 levels."""

_KINDS: Final = {name: number for number, name in enumerate(get_args(SpanKindName), 1)}
_STATUSES: Final = {name: number for number, name in enumerate(get_args(SpanStatus))}
_INT64: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramPoint:
    """One point of a histogram with delta temporality: the counts between two times."""

    name: str
    unit: str = ""
    description: str = ""
    start_ns: int
    """Nanoseconds since the epoch."""
    end_ns: int
    count: int
    sum: float
    min: float
    max: float
    bounds: tuple[float, ...]
    """Upper edges of all buckets except the last, which is unbounded. An edge belongs to the bucket below it."""
    buckets: tuple[int, ...]
    """Counts, one more than bounds."""
    attributes: dict[str, Any] = field(default_factory=dict)
    resource: dict[str, Any] = field(default_factory=dict)
    scope: str | None = None
    scope_version: str | None = None


_Form = TypeVar("_Form", SpanData, LogData, HistogramPoint)
_Item = TypeVar("_Item")


def spans_to_proto(forms: Iterable[SpanData]) -> ExportTraceServiceRequest:
    """Return the request of the trace service: the spans grouped by resource and scope, in their order.

    Raises ValueError for an id that is not hex, or a time that OTLP cannot represent.
    """
    groups = [
        ResourceSpans(
            resource=resource,
            scope_spans=[ScopeSpans(scope=scope, spans=spans, schema_url=_schema(scope)) for scope, spans in scopes],
        )
        for resource, scopes in _grouped(forms, _span)
    ]
    return ExportTraceServiceRequest(resource_spans=groups)


def logs_to_proto(forms: Iterable[LogData]) -> ExportLogsServiceRequest:
    """Return the request of the logs service; see :func:`spans_to_proto`."""
    groups = [
        ResourceLogs(
            resource=resource,
            scope_logs=[ScopeLogs(scope=scope, log_records=logs, schema_url=_schema(scope)) for scope, logs in scopes],
        )
        for resource, scopes in _grouped(forms, _log)
    ]
    return ExportLogsServiceRequest(resource_logs=groups)


def histograms_to_proto(forms: Iterable[HistogramPoint]) -> ExportMetricsServiceRequest:
    """Return the request of the metrics service. Points with the same name, resource and scope form one metric."""
    groups = [
        metrics.ResourceMetrics(
            resource=resource,
            scope_metrics=[
                metrics.ScopeMetrics(scope=scope, metrics=_metrics(points), schema_url=_schema(scope))
                for scope, points in scopes
            ],
        )
        for resource, scopes in _grouped(forms, lambda form: form)
    ]
    return ExportMetricsServiceRequest(resource_metrics=groups)


def any_value(value: Any, depth: int = MAX_DEPTH) -> AnyValue:
    """Return ``value`` as an ``AnyValue``; a type that OpenTelemetry does not have becomes text."""
    # Texts first: most attributes are texts, and a bool must come before int, whose subclass it is.
    if value is None:
        return AnyValue()
    if isinstance(value, str):
        return AnyValue(string_value=fix_unicode(value))
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value) if value in _INT64 else AnyValue(string_value=str(value))
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    if isinstance(value, list | tuple | dict):
        return _nested(value, depth)
    return AnyValue(string_value=fix_unicode(str(value)))


def _nested(value: Any, depth: int) -> AnyValue:
    if depth <= 0:
        return AnyValue(string_value=_as_text(value))
    if isinstance(value, dict):
        return AnyValue(kvlist_value=KeyValueList(values=attributes_of(value, depth - 1)))
    return AnyValue(array_value=ArrayValue(values=[any_value(item, depth - 1) for item in value]))


def _as_text(value: Any) -> str:
    try:
        return to_json_bytes(value).decode()
    except (TypeError, ValueError):  # nested too deeply for orjson, or not Unicode
        return "…"


def attributes_of(values: Mapping[str, Any], depth: int = MAX_DEPTH) -> list[KeyValue]:
    """Return a mapping as OTLP's list of pairs."""
    return [KeyValue(key=fix_unicode(str(key)), value=any_value(value, depth)) for key, value in values.items()]


def _grouped(
    forms: Iterable[_Form], write: Callable[[_Form], _Item]
) -> list[tuple[Resource, list[tuple[InstrumentationScope, list[_Item]]]]]:
    return [
        (
            Resource(attributes=attributes_of(of_resource[0][0].resource)),
            [(_scope(of_scope[0]), [write(form) for form in of_scope]) for of_scope in of_resource],
        )
        for of_resource in by_resource_and_scope(forms)
    ]


def _scope(form: SpanData | LogData | HistogramPoint) -> InstrumentationScope:
    return InstrumentationScope(name=fix_unicode(form.scope or ""), version=fix_unicode(form.scope_version or ""))


def _schema(scope: InstrumentationScope) -> str:
    """Return the URL of the conventions for our own spans, events and points; empty for others."""
    return names.SCHEMA_URL if scope.name == SCOPE else ""


def _span(form: SpanData) -> Span:
    return Span(
        trace_id=bytes.fromhex(form.trace_id),
        span_id=bytes.fromhex(form.span_id),
        parent_span_id=bytes.fromhex(form.parent_span_id or ""),
        name=fix_unicode(form.name),
        kind=_KINDS[form.kind],  # type: ignore[arg-type]
        start_time_unix_nano=form.start_ns,
        end_time_unix_nano=form.end_ns,
        attributes=attributes_of(form.attributes),
        events=[
            Span.Event(
                name=fix_unicode(event.name), time_unix_nano=event.time_ns, attributes=attributes_of(event.attributes)
            )
            for event in form.events
        ],
        links=[
            Span.Link(
                trace_id=bytes.fromhex(link.trace_id),
                span_id=bytes.fromhex(link.span_id),
                attributes=attributes_of(link.attributes),
            )
            for link in form.links
        ],
        status=Status(code=_STATUSES[form.status], message=fix_unicode(form.description or "")),  # type: ignore[arg-type]
    )


def _log(form: LogData) -> LogRecord:
    return LogRecord(
        time_unix_nano=form.time_ns,
        observed_time_unix_nano=form.time_ns,
        severity_number=form.severity or 0,  # type: ignore[arg-type]
        body=None if form.body is None else any_value(form.body),
        attributes=attributes_of(form.attributes),
        trace_id=bytes.fromhex(form.trace_id or ""),
        span_id=bytes.fromhex(form.span_id or ""),
        event_name=fix_unicode(form.event_name or ""),
    )


def _metrics(forms: list[HistogramPoint]) -> list[metrics.Metric]:
    found: dict[str, metrics.Metric] = {}
    for form in forms:
        metric = found.get(form.name)
        if metric is None:
            metric = found[form.name] = metrics.Metric(
                name=form.name, unit=form.unit, description=form.description, histogram=metrics.Histogram()
            )
            metric.histogram.aggregation_temporality = metrics.AGGREGATION_TEMPORALITY_DELTA
        metric.histogram.data_points.append(_point(form))
    return list(found.values())


def _point(form: HistogramPoint) -> metrics.HistogramDataPoint:
    return metrics.HistogramDataPoint(
        start_time_unix_nano=form.start_ns,
        time_unix_nano=form.end_ns,
        count=form.count,
        sum=form.sum,
        min=form.min,
        max=form.max,
        bucket_counts=form.buckets,
        explicit_bounds=form.bounds,
        attributes=attributes_of(form.attributes),
    )
