"""Encode and decode OTLP's JSON form of spans and log events, without protobuf.

As the OTLP specification requires, ids are hex and 64-bit integers are text. The decoder accepts more where the
specification requires that of readers: integers as numbers too, enum values by number or by name, unknown members
ignored. Text that is not valid Unicode is repaired; an integer beyond 64 bits, which OTLP cannot represent, becomes
text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar, get_args

from tooltrace.otel.otlp.grouping import by_resource_and_scope
from tooltrace.otel.otlp.json_values import (
    MAX_DEPTH,
    MalformedOtlp,
    Object,
    any_value,
    enum,
    identity,
    mapping,
    members,
    nanoseconds,
    nonempty_text,
    objects,
    pairs,
    read_attributes,
    read_value,
    required_id,
    string,
    time_of,
    unreadable,
)
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
from tooltrace.redact.texts import fix_unicode

__all__ = ["MAX_DEPTH", "MalformedOtlp", "logs_from_json", "logs_to_json", "spans_from_json", "spans_to_json"]

Refused = Callable[[str], None]
"""Callback that receives the reason, once for each span or log record that is left out."""

_Form = TypeVar("_Form", SpanData, LogData)
_KINDS: Final[tuple[SpanKindName, ...]] = get_args(SpanKindName)  # numbered from 1; 0 is unspecified
_STATUSES: Final[tuple[SpanStatus, ...]] = get_args(SpanStatus)
_KIND_NAMES: Final = {"SPAN_KIND_UNSPECIFIED": 0} | {
    f"SPAN_KIND_{name.upper()}": number for number, name in enumerate(_KINDS, 1)
}
_STATUS_NAMES: Final = {f"STATUS_CODE_{name.upper()}": number for number, name in enumerate(_STATUSES)}
_SEVERITIES: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
_SEVERITY_NAMES: Final = {"SEVERITY_NUMBER_UNSPECIFIED": 0} | {
    f"SEVERITY_NUMBER_{name}{more or ''}": 4 * place + (more or 1)
    for place, name in enumerate(_SEVERITIES)
    for more in (None, 2, 3, 4)
}


# Encoding.


def spans_to_json(forms: Iterable[SpanData]) -> Object:
    """Return an ``ExportTraceServiceRequest``: the spans grouped by resource and scope, in their order."""
    return {"resourceSpans": _grouped(forms, "scopeSpans", "spans", _span)}


def logs_to_json(forms: Iterable[LogData]) -> Object:
    """Return an ``ExportLogsServiceRequest``: the log records grouped by resource and scope, in their order."""
    return {"resourceLogs": _grouped(forms, "scopeLogs", "logRecords", _log)}


def _grouped(forms: Iterable[_Form], scopes: str, items: str, write: Callable[[_Form], Object]) -> list[Object]:
    return [
        {
            "resource": {"attributes": pairs(of_resource[0][0].resource)},
            scopes: [
                {"scope": _scope(of_scope[0]), items: [write(form) for form in of_scope]} for of_scope in of_resource
            ],
        }
        for of_resource in by_resource_and_scope(forms)
    ]


def _scope(form: SpanData | LogData) -> Object:
    return _known(name=nonempty_text(form.scope), version=nonempty_text(form.scope_version))


def _span(form: SpanData) -> Object:
    return {
        "traceId": form.trace_id,
        "spanId": form.span_id,
        "parentSpanId": form.parent_span_id or "",
        "name": fix_unicode(form.name),
        "kind": _KINDS.index(form.kind) + 1,
        "startTimeUnixNano": time_of(form.start_ns),
        "endTimeUnixNano": time_of(form.end_ns),
        "attributes": pairs(form.attributes),
        **_known(events=[_event(event) for event in form.events], links=[_link(link) for link in form.links]),
        "status": _known(message=nonempty_text(form.description), code=_STATUSES.index(form.status)),
    }


def _event(event: EventData) -> Object:
    return {
        "timeUnixNano": time_of(event.time_ns),
        "name": fix_unicode(event.name),
        **_known(attributes=pairs(event.attributes)),
    }


def _link(link: LinkData) -> Object:
    return {"traceId": link.trace_id, "spanId": link.span_id, **_known(attributes=pairs(link.attributes))}


def _log(form: LogData) -> Object:
    return {
        "timeUnixNano": time_of(form.time_ns),
        # The specification requires the time of observation; our events are observed when they happen.
        "observedTimeUnixNano": time_of(form.time_ns),
        **_known(severityNumber=form.severity),
        **({} if form.body is None else {"body": any_value(form.body)}),
        "attributes": pairs(form.attributes),
        "traceId": form.trace_id or "",
        "spanId": form.span_id or "",
        **_known(eventName=nonempty_text(form.event_name)),
    }


def _known(**members: Any) -> Object:
    """Return the members that are not empty: readers use the empty value for a missing member."""
    return {name: value for name, value in members.items() if value}


# Decoding.


def spans_from_json(data: Any, *, refused: Refused = lambda _: None) -> Iterator[SpanData]:
    """Yield the spans of an ``ExportTraceServiceRequest``. ``refused`` gets the reason for each unreadable span.

    Raises MalformedOtlp if ``data`` is not such a request.
    """
    return _read(data, "resourceSpans", "scopeSpans", "spans", _read_span, refused)


def logs_from_json(data: Any, *, refused: Refused = lambda _: None) -> Iterator[LogData]:
    """Yield the log records of an ``ExportLogsServiceRequest``, as in :func:`spans_from_json`."""
    return _read(data, "resourceLogs", "scopeLogs", "logRecords", _read_log, refused)


def _read(
    data: Any,
    resources: str,
    scopes: str,
    items: str,
    read: Callable[[Object, Object], _Form],
    refused: Refused,
) -> Iterator[_Form]:
    for block in objects(mapping(data, "the request"), resources):
        common = _resource(block)
        for scope in objects(block, scopes):
            named = mapping(scope.get("scope") or {}, "scope")
            about = {
                **common,
                "scope": shared_text(string(named, "name")),
                "scope_version": shared_text(string(named, "version")),
            }
            for item in members(scope, items):
                try:
                    form = read(mapping(item, f"one of {items}"), about)
                except ValueError as error:
                    refused(str(error))
                else:
                    yield form


def _resource(block: Object) -> Object:
    try:
        resource = mapping(block.get("resource") or {}, "resource")
        return {"resource": shared_attributes(read_attributes(resource))}
    except MalformedOtlp as error:
        raise MalformedOtlp(f"a resource cannot be read: {error}") from error


def _read_span(span: Object, about: Object) -> SpanData:
    start, end = nanoseconds(span, "startTimeUnixNano"), nanoseconds(span, "endTimeUnixNano")
    if not (start or end):
        unreadable("it has no time")
    status = mapping(span.get("status") or {}, "status")
    return SpanData(
        name=string(span, "name") or "",
        trace_id=required_id(span, "traceId", 32),
        span_id=required_id(span, "spanId", 16),
        parent_span_id=identity(span, "parentSpanId", 16),
        kind=_KINDS[max(enum(span, "kind", _KIND_NAMES, len(_KINDS)) - 1, 0)],
        start_ns=start or end,
        end_ns=end or start,
        status=_STATUSES[enum(status, "code", _STATUS_NAMES, len(_STATUSES) - 1)],
        description=string(status, "message"),
        attributes=read_attributes(span),
        events=tuple(map(_read_event, objects(span, "events"))),
        links=tuple(map(_read_link, objects(span, "links"))),
        **about,
    )


def _read_event(event: Object) -> EventData:
    return EventData(
        name=string(event, "name") or "",
        time_ns=nanoseconds(event, "timeUnixNano"),
        attributes=read_attributes(event),
    )


def _read_link(link: Object) -> LinkData:
    return LinkData(
        trace_id=required_id(link, "traceId", 32),
        span_id=required_id(link, "spanId", 16),
        attributes=read_attributes(link),
    )


def _read_log(log: Object, about: Object) -> LogData:
    return LogData(
        event_name=string(log, "eventName"),
        time_ns=nanoseconds(log, "timeUnixNano") or nanoseconds(log, "observedTimeUnixNano"),
        severity=enum(log, "severityNumber", _SEVERITY_NAMES, 24) or None,
        body=read_value(log.get("body")),
        attributes=read_attributes(log),
        trace_id=identity(log, "traceId", 32),
        span_id=identity(log, "spanId", 16),
        **about,
    )
