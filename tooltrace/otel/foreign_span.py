"""The OpenTelemetry form of a ``Span``, which another library made."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, get_args

import orjson

from tooltrace.otel import attributes as names
from tooltrace.otel.form import EventForm, LinkForm, SpanForm, SpanKindName
from tooltrace.otel.moments import nanoseconds
from tooltrace.record import Span

_KINDS: Final = get_args(SpanKindName)


def encode_span(record: Span) -> SpanForm:
    """The span that ``record`` was made from, in whole microseconds."""
    start = nanoseconds(record.started_at)
    resource = {names.SERVICE_NAME: record.service, names.HOST_NAME: record.host, names.PROCESS_PID: record.pid}
    kind: Any = record.span_kind if record.span_kind in _KINDS else "internal"
    return SpanForm(
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


def _event(event: dict[str, Any]) -> EventForm:
    at = datetime.fromisoformat(event["at"])
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return EventForm(name=event["name"], time_ns=nanoseconds(at), attributes=event.get("attributes") or {})


def _link(link: dict[str, Any]) -> LinkForm:
    attributes = link.get("attributes") or {}
    return LinkForm(trace_id=link["trace_id"], span_id=link["span_id"], attributes=attributes)
