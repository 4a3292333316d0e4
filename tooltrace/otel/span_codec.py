"""Encode records as OpenTelemetry spans and decode tool calls: ``decode(encode(call)) == call``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, Final, get_args

import orjson

from tooltrace.core.records import Span, ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import EventData, LinkData, SpanData, SpanKindName
from tooltrace.otel.timestamps import EPOCH, nanoseconds
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.snapshot import Json

_KINDS: Final = get_args(SpanKindName)


def encode_span(record: Span) -> SpanData:
    """Return the span that ``record`` was made from, in whole microseconds."""
    start = nanoseconds(record.started_at)
    resource = {names.SERVICE_NAME: record.service, names.HOST_NAME: record.host, names.PROCESS_PID: record.pid}
    kind: Any = record.span_kind if record.span_kind in _KINDS else "internal"
    return SpanData(
        name=record.name,
        trace_id=record.trace_id,
        span_id=record.span_id,
        parent_span_id=record.parent_span_id,
        kind=kind,
        start_ns=start,
        end_ns=start + round((record.duration_ms or 0.0) * 1e6),
        status="error" if record.status == "error" else "ok" if record.status == "ok" else "unset",
        description=record.status_message,
        attributes=orjson.loads(record.attributes or "{}"),
        events=tuple(map(_event, orjson.loads(record.events or "[]"))),
        links=tuple(map(_link, orjson.loads(record.links or "[]"))),
        resource={key: value for key, value in resource.items() if value is not None},
        scope=record.scope,
        scope_version=record.scope_version,
    )


def _event(event: dict[str, Any]) -> EventData:
    at = datetime.fromisoformat(event["at"])
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return EventData(name=event["name"], time_ns=nanoseconds(at), attributes=event.get("attributes") or {})


def _link(link: dict[str, Any]) -> LinkData:
    attributes = link.get("attributes") or {}
    return LinkData(trace_id=link["trace_id"], span_id=link["span_id"], attributes=attributes)


SCOPE = "tooltrace"
"""Name of the instrumentation scope of our spans."""

MAX_DURATION_MS = 1e12
"""Maximum duration of a span in milliseconds, about 31 years; larger values are invalid."""

_FIELDS = tuple(names.FIELDS)
_KEYS = tuple(names.FIELDS.values())
_VALUES = attrgetter(*_FIELDS)
_BY_KEY = {key: name for name, key in names.FIELDS.items()}


def span_attributes(call: ToolCall) -> dict[str, Any]:
    """Return the attributes of the call's span. Attributes that the tool set keep their own names."""
    out: dict[str, Any] = orjson.loads(call.attributes) if call.attributes else {}
    out[names.OPERATION_NAME] = names.EXECUTE_TOOL
    pairs = zip(_KEYS, _VALUES(call), strict=True)
    # Our attributes come last, so that an attribute of the tool does not replace a field.
    out.update((key, value) for key, value in pairs if value is not None)
    if call.call_id != call.span_id:
        out[names.TOOL_CALL_ID] = call.call_id
    if call.status == "error":
        out[names.ERROR_TYPE] = error_type(call)
    elif call.result is None and call.text is not None:
        # Other backends show this attribute only; a lone surrogate, which orjson refuses, becomes "?".
        out[names.TOOL_CALL_RESULT] = json_of(call.text.encode("utf-8", "replace").decode()).decode()
        out[names.RESULT_IS_TEXT] = True
    return out


def error_type(call: ToolCall) -> str:
    """Return the error type for span and metric: the error's class, else its code, else ``_OTHER``."""
    return call.error_type or call.code or names.ERROR_TYPE_OTHER


def encode(call: ToolCall) -> SpanData:
    """Return the call's span."""
    start = nanoseconds(call.started_at)
    elapsed_ms = (call.duration_ms or 0.0) + (call.consumer_ms or 0.0)
    if not 0 <= elapsed_ms < MAX_DURATION_MS:  # an imported record may have any duration; the attribute keeps it
        elapsed_ms = 0.0
    resource = {key: getattr(call, name) for name, key in names.CALL_RESOURCE_FIELDS.items()}
    failed = call.status == "error"
    return SpanData(
        name=f"{names.EXECUTE_TOOL} {call.tool}",
        trace_id=call.trace_id,
        span_id=call.span_id,
        parent_span_id=call.parent_span_id,
        start_ns=start,
        end_ns=start + round(elapsed_ms * 1e6),
        status="error" if failed else "unset",  # the conventions require unset, not ok
        description=call.error_message if failed else None,
        attributes=span_attributes(call),
        resource={key: value for key, value in resource.items() if value is not None},
        scope=SCOPE,
        scope_version=call.recorder_version,
    )


def decode(form: SpanData) -> ToolCall:
    """Return the call that ``form`` was made from."""
    origin: dict[str, Any] = {name: form.resource.get(key) for name, key in names.CALL_RESOURCE_FIELDS.items()}
    fields = {_BY_KEY[key]: value for key, value in form.attributes.items() if key in _BY_KEY}
    if form.attributes.get(names.RESULT_IS_TEXT):
        fields.pop("result", None)
    custom = {key: value for key, value in form.attributes.items() if key not in names.RESERVED}
    return ToolCall(
        **fields,
        call_id=form.attributes.get(names.TOOL_CALL_ID, form.span_id),
        trace_id=form.trace_id,
        span_id=form.span_id,
        parent_span_id=form.parent_span_id,
        started_at=EPOCH + timedelta(microseconds=form.start_ns // 1000),
        attributes=Json(json_of(custom).decode()) if custom else None,
        **origin,
    )
