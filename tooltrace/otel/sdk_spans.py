"""Convert the SDK's spans to plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from tooltrace.otel.span_data import EventData, LinkData, SpanData, SpanKindName, SpanStatus

_KINDS: dict[str, SpanKindName] = {name.upper(): name for name in get_args(SpanKindName)}
_STATUSES: dict[StatusCode, SpanStatus] = {StatusCode.OK: "ok", StatusCode.ERROR: "error", StatusCode.UNSET: "unset"}


def from_sdk(span: ReadableSpan) -> SpanData:
    """Return the ended ``span`` as plain data."""
    ids = span.get_span_context()
    assert ids is not None  # a span that has ended has ids
    scope = span.instrumentation_scope
    start = span.start_time or 0
    return SpanData(
        name=span.name,
        trace_id=f"{ids.trace_id:032x}",
        span_id=f"{ids.span_id:016x}",
        parent_span_id=None if span.parent is None else f"{span.parent.span_id:016x}",
        kind=_KINDS[span.kind.name],
        start_ns=start,
        end_ns=span.end_time or 0,
        status=_STATUSES[span.status.status_code],
        description=span.status.description,
        attributes=_to_json_value(span.attributes or {}),
        events=tuple(
            EventData(name=event.name, time_ns=event.timestamp, attributes=_to_json_value(event.attributes or {}))
            for event in span.events
        ),
        links=tuple(
            LinkData(
                trace_id=f"{link.context.trace_id:032x}",
                span_id=f"{link.context.span_id:016x}",
                attributes=_to_json_value(link.attributes or {}),
            )
            for link in span.links
        ),
        resource=_to_json_value(span.resource.attributes),
        scope=scope.name if scope else None,
        scope_version=scope.version if scope else None,
    )


def _to_json_value(value: Any) -> Any:
    """Copy an attribute value into plain lists and dicts: the SDK uses tuples and read-only mappings."""
    if isinstance(value, Mapping):
        return {str(key): _to_json_value(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_to_json_value(item) for item in value]
    return value
