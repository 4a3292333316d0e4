"""Decode spans and log events from OTLP's protobuf form; :mod:`tooltrace.otel.otlp.json` decodes the JSON form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar, get_args

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tooltrace.otel.otlp.json import MAX_DEPTH, MalformedOtlp
from tooltrace.otel.otlp.proto_layers import groups
from tooltrace.otel.span_data import (
    EventData,
    LinkData,
    LogData,
    SpanData,
    SpanKindName,
    SpanStatus,
    shared_attributes,
    shared_text,
)

ITEM_BYTES: Final = 4 * 1024 * 1024
"""Maximum bytes of one span or log record. Parsing takes up to about fifty times as much memory."""
MAX_PARTS: Final = 10_000
"""Maximum number of attributes, events or links of one item."""

Refused = Callable[[str], None]
"""Callback that receives the reason, once for each span or log record that is left out."""

_Message = TypeVar("_Message", bound=Message)
_Form = TypeVar("_Form", SpanData, LogData)
_KINDS: Final[tuple[SpanKindName, ...]] = get_args(SpanKindName)  # numbered from 1; 0 is unspecified
_STATUSES: Final[tuple[SpanStatus, ...]] = get_args(SpanStatus)


def spans_from_proto(data: bytes, *, refused: Refused = lambda _: None) -> Iterator[SpanData]:
    """Yield the spans of an ``ExportTraceServiceRequest``. ``refused`` gets the reason for each unreadable span.

    Raises MalformedOtlp if ``data`` is not such a request, possibly only after some of its spans.
    """
    return _read(data, Span, _span, refused)


def logs_from_proto(data: bytes, *, refused: Refused = lambda _: None) -> Iterator[LogData]:
    """Yield the log records of an ``ExportLogsServiceRequest``, as in :func:`spans_from_proto`."""
    return _read(data, LogRecord, _log, refused)


def _read(
    data: bytes, kind: type[_Message], read: Callable[[_Message, dict[str, Any]], _Form], refused: Refused
) -> Iterator[_Form]:
    # Each item is parsed alone, so that one bad item does not refuse the request, and memory holds one at a time.
    for group in groups(data):
        about = _about(group.resource, group.scope)
        for item in group.items:
            try:
                form = read(_parsed(kind, item), about)
            except MalformedOtlp as error:
                refused(str(error))
            else:
                yield form


def _about(resource: bytes, scope: bytes) -> dict[str, Any]:
    try:
        named = _parsed(InstrumentationScope, scope)
        attributes = shared_attributes(_attributes(_parsed(Resource, resource).attributes))
    except MalformedOtlp as error:
        raise MalformedOtlp(f"a resource or a scope cannot be read: {error}") from error
    return {
        "resource": attributes,
        "scope": shared_text(named.name) or None,
        "scope_version": shared_text(named.version) or None,
    }


def _parsed(kind: type[_Message], data: bytes) -> _Message:
    if len(data) > ITEM_BYTES:
        raise MalformedOtlp(f"it is larger than {ITEM_BYTES >> 20} MiB")
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise MalformedOtlp(f"it is not valid protobuf: {error}") from error


def _span(span: Span, about: dict[str, Any]) -> SpanData:
    start, end = span.start_time_unix_nano, span.end_time_unix_nano
    if not (start or end):
        raise MalformedOtlp("it has no time")
    return SpanData(
        name=span.name,
        trace_id=_required_id(span.trace_id, "trace id", 16),
        span_id=_required_id(span.span_id, "span id", 8),
        parent_span_id=_id(span.parent_span_id, "parent span id", 8),
        kind=_KINDS[span.kind - 1 if 0 < span.kind <= len(_KINDS) else 0],
        start_ns=start or end,
        end_ns=end,
        status=_STATUSES[span.status.code if 0 <= span.status.code < len(_STATUSES) else 0],
        description=span.status.message or None,
        attributes=_attributes(span.attributes),
        events=tuple(map(_event, _limited(span.events, "events"))),
        links=tuple(map(_link, _limited(span.links, "links"))),
        **about,
    )


def _event(event: Span.Event) -> EventData:
    return EventData(name=event.name, time_ns=event.time_unix_nano, attributes=_attributes(event.attributes))


def _link(link: Span.Link) -> LinkData:
    return LinkData(
        trace_id=_required_id(link.trace_id, "trace id of a link", 16),
        span_id=_required_id(link.span_id, "span id of a link", 8),
        attributes=_attributes(link.attributes),
    )


def _log(log: LogRecord, about: dict[str, Any]) -> LogData:
    return LogData(
        event_name=log.event_name or None,
        time_ns=log.time_unix_nano or log.observed_time_unix_nano,
        severity=log.severity_number if 0 < log.severity_number <= 24 else None,
        body=_value(log.body, MAX_DEPTH),
        attributes=_attributes(log.attributes),
        trace_id=_id(log.trace_id, "trace id", 16),
        span_id=_id(log.span_id, "span id", 8),
        **about,
    )


def _id(data: bytes, what: str, size: int) -> str | None:
    """Return the id in lower-case hex; None if it is absent, which OTLP encodes as no bytes or as zeros."""
    if data and len(data) != size:
        raise MalformedOtlp(f"its {what} is {len(data)} bytes long, not {size}")
    return data.hex() if any(data) else None


def _required_id(data: bytes, what: str, size: int) -> str:
    found = _id(data, what, size)
    if found is None:
        raise MalformedOtlp(f"it has no {what}")
    return found


def _limited(parts: Any, what: str) -> Any:
    if len(parts) > MAX_PARTS:
        raise MalformedOtlp(f"it has {len(parts):,} {what}, more than {MAX_PARTS:,}")
    return parts


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: _value(pair.value, MAX_DEPTH) for pair in _limited(pairs, "attributes")}


def _value(value: AnyValue, depth: int) -> Any:
    """Return the Python value of ``value``; None if it is empty."""
    name = value.WhichOneof("value")
    if name == "string_value":
        return value.string_value
    if name == "array_value":
        return [_value(item, _deeper(depth)) for item in value.array_value.values]
    if name == "kvlist_value":
        return {pair.key: _value(pair.value, _deeper(depth)) for pair in value.kvlist_value.values}
    return getattr(value, name) if name in _SCALARS else None


_SCALARS: Final = frozenset({"bool_value", "int_value", "double_value", "bytes_value"})


def _deeper(depth: int) -> int:
    if depth <= 0:
        raise MalformedOtlp(f"an attribute is nested deeper than {MAX_DEPTH} levels")
    return depth - 1
