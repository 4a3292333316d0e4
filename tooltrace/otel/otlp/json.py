"""Encode and decode OTLP's JSON form of spans and log events, without protobuf.

As the OTLP specification requires, ids are hex and 64-bit integers are text. The decoder accepts more where the
specification requires that of readers: integers as numbers too, enum values by number or by name, unknown members
ignored. Text that is not valid Unicode is repaired; an integer beyond 64 bits, which OTLP cannot represent, becomes
text.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NoReturn, TypeVar, get_args

from tooltrace.otel.otlp.grouping import by_resource_and_scope
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

MAX_DEPTH: Final = 64
"""Maximum nesting depth of lists and maps in one attribute."""

Object = dict[str, Any]
_INT64: Final = range(-(2**63), 2**63)
_LATEST: Final = 2**64 - 1
_WORDS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class MalformedOtlp(ValueError):
    """The input is not valid OTLP."""


def nonempty_text(text: str | None) -> str:
    """Return valid Unicode text; None becomes the empty string, as in OTLP."""
    return fix_unicode(text or "")


def time_of(nanoseconds: int) -> str:
    """Return nanoseconds since the epoch as text, clamped to the range of OTLP."""
    return str(min(max(nanoseconds, 0), _LATEST))


def pairs(attributes: Object) -> list[Object]:
    """Return ``attributes`` as a list of ``KeyValue``."""
    return [{"key": fix_unicode(key), "value": any_value(value)} for key, value in attributes.items()]


def any_value(value: Any) -> Object:
    """Return ``value`` as an ``AnyValue``. Raises TypeError for a type that OpenTelemetry does not have."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"stringValue": fix_unicode(value)}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue" if value in _INT64 else "stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _word(value)}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode("ascii")}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": pairs(value)}}
    raise TypeError(f"an attribute of the type {type(value).__name__} cannot be encoded as OTLP")


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def read_attributes(holder: Object, depth: int = MAX_DEPTH, name: str = "attributes") -> Object:
    """Return the attributes in the list of ``KeyValue`` under ``name``. The last of duplicate keys counts.

    Raises MalformedOtlp.
    """
    out: Object = {}
    for pair in objects(holder, name):
        key = pair.get("key")
        if not isinstance(key, str):
            unreadable(f"one of its {name} has no key")
        out[fix_unicode(key)] = read_value(pair.get("value"), depth)
    return out


def read_value(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return the Python value of an ``AnyValue``; None if it is empty. Raises MalformedOtlp."""
    if value is None:
        return None
    if depth < 0:
        unreadable(f"an attribute is nested deeper than {MAX_DEPTH} levels")
    members = mapping(value, "a value")
    for name, read in _READERS.items():
        found = members.get(name)
        if found is not None:
            return read(found, depth)
    return None


def _read_text(value: Any, _depth: int) -> str:
    return fix_unicode(value) if isinstance(value, str) else unreadable("a stringValue is not text")


def _read_bool(value: Any, _depth: int) -> bool:
    return value if isinstance(value, bool) else unreadable("a boolValue is neither true nor false")


def _read_int(value: Any, _depth: int) -> int | str:
    number = integer(value)
    if number is not None:
        return number if number in _INT64 else str(number)  # as in any_value: one number must not cost the span
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit():
        return value
    return unreadable("an intValue is not an integer")


def _read_double(value: Any, _depth: int) -> float:
    if isinstance(value, str):
        try:
            return _WORDS[value] if value in _WORDS else float(value)
        except ValueError:
            unreadable("a doubleValue is not a number")
    if isinstance(value, bool) or not isinstance(value, int | float):
        unreadable("a doubleValue is not a number")
    try:
        return float(value)
    except OverflowError:
        unreadable("a doubleValue is too large")


def _read_bytes(value: Any, _depth: int) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        unreadable("a bytesValue is not base64")


def _read_array(value: Any, depth: int) -> list[Any]:
    return [read_value(item, depth - 1) for item in members(mapping(value, "an arrayValue"), "values")]


def _read_map(value: Any, depth: int) -> Object:
    return read_attributes(mapping(value, "a kvlistValue"), depth - 1, "values")


_READERS: Final[dict[str, Callable[[Any, int], Any]]] = {
    "stringValue": _read_text,
    "intValue": _read_int,
    "boolValue": _read_bool,
    "doubleValue": _read_double,
    "arrayValue": _read_array,
    "kvlistValue": _read_map,
    "bytesValue": _read_bytes,
}


def unreadable(reason: str) -> NoReturn:
    """Raise MalformedOtlp with ``reason``."""
    raise MalformedOtlp(reason)


def mapping(value: Any, what: str) -> Object:
    """Return ``value`` if it is an object. Raises MalformedOtlp otherwise."""
    return value if isinstance(value, dict) else unreadable(f"{what} is not an object")


def members(holder: Object, name: str) -> list[Any]:
    """Return the array under ``name``; empty if there is none. Raises MalformedOtlp."""
    value = holder.get(name)
    return [] if value is None else value if isinstance(value, list) else unreadable(f"{name} is not an array")


def objects(holder: Object, name: str) -> Iterator[Object]:
    """Yield the objects of the array under ``name``. Raises MalformedOtlp for an item of another type."""
    for item in members(holder, name):
        yield mapping(item, f"one of {name}")


def string(holder: Object, name: str) -> str | None:
    """Return the text under ``name``; None if it is empty or missing. Raises MalformedOtlp."""
    value = holder.get(name)
    if value is None or isinstance(value, str):
        return fix_unicode(value) if value else None
    unreadable(f"{name} is not text")


def identity(holder: Object, name: str, digits: int) -> str | None:
    """Return the id in lower-case hex; None if it is absent, which OTLP encodes as an empty text or as zeros."""
    value = holder.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) != digits or not value.isascii() or not value.isalnum():
        unreadable(f"{name} is not {digits} hex digits")
    try:
        return value.lower() if int(value, 16) else None
    except ValueError:
        unreadable(f"{name} is not {digits} hex digits")


def required_id(holder: Object, name: str, digits: int) -> str:
    """Return the id as ``identity`` does. Raises MalformedOtlp if it is absent."""
    return identity(holder, name, digits) or unreadable(f"it has no {name}")


def nanoseconds(holder: Object, name: str) -> int:
    """Return the time under ``name`` in nanoseconds since the epoch; 0 if there is none."""
    number = integer(holder.get(name) or 0)
    return number if number is not None and 0 <= number < 2**64 else unreadable(f"{name} is not a time")


def integer(value: Any) -> int | None:
    """Return a whole number, also from its text; None if ``value`` is neither."""
    if isinstance(value, str):
        # Bounded, because int() of a very long text takes quadratic time.
        digits = value.removeprefix("-")
        return int(value) if digits.isascii() and digits.isdigit() and len(digits) < 25 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def enum(holder: Object, name: str, names: dict[str, int], highest: int) -> int:
    """Return the number of an enum value; 0 for a value of a later version."""
    value = holder.get(name) or 0
    number = names.get(value, 0) if isinstance(value, str) and not value.isdigit() else integer(value)
    if number is None:
        unreadable(f"{name} is not an enum value")
    return number if 0 <= number <= highest else 0


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
        end_ns=end,
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
