"""Spans and log events as rows of the exporter's tables, equal to those that the collector's exporter writes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from tooltrace.clickhouse.attribute_sql import Variant
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import LogData, SpanData
from tooltrace.redact.plain_data import json_of

_SECOND: Final = 10**9


def span_row(form: SpanData, variant: Variant = "map") -> dict[str, Any]:
    """Return the row of ``otel_traces``."""
    row: dict[str, Any] = {
        "Timestamp": _format_time(form.start_ns),
        "TraceId": form.trace_id,
        "SpanId": form.span_id,
        "ParentSpanId": form.parent_span_id or "",
        "TraceState": "",
        "SpanName": form.name,
        "SpanKind": form.kind.capitalize(),
        "ServiceName": form.resource.get(names.SERVICE_NAME, ""),
        "ScopeName": form.scope or "",
        "ScopeVersion": form.scope_version or "",
        "Duration": max(form.end_ns - form.start_ns, 0),
        "StatusCode": form.status.capitalize(),
        "StatusMessage": form.description or "",
        "Events.Timestamp": [_format_time(event.time_ns) for event in form.events],
        "Events.Name": [event.name for event in form.events],
        "Events.Attributes": [_values(event.attributes, variant) for event in form.events],
        "Links.TraceId": [link.trace_id for link in form.links],
        "Links.SpanId": [link.span_id for link in form.links],
        "Links.TraceState": ["" for _ in form.links],
        "Links.Attributes": [_values(link.attributes, variant) for link in form.links],
    }
    return row | _attributes("Resource", form.resource, variant) | _attributes("Span", form.attributes, variant)


def log_row(form: LogData, variant: Variant = "map") -> dict[str, Any]:
    """Return the row of ``otel_logs``."""
    row: dict[str, Any] = {
        "Timestamp": _format_time(form.time_ns),
        "TraceId": form.trace_id or "",
        "SpanId": form.span_id or "",
        "TraceFlags": 0,
        "SeverityText": "",
        "SeverityNumber": form.severity or 0,
        "ServiceName": form.resource.get(names.SERVICE_NAME, ""),
        "Body": as_text(form.body),
        "ResourceSchemaUrl": "",
        "ScopeSchemaUrl": "",
        "ScopeName": form.scope or "",
        "ScopeVersion": form.scope_version or "",
        "EventName": form.event_name or "",
    }
    row |= _attributes("Resource", form.resource, variant) | _attributes("Scope", {}, variant)
    return row | _attributes("Log", form.attributes, variant)


def as_text(value: Any) -> str:
    """Return an attribute's value as text, for a map."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _format_float(value)
    if isinstance(value, int):
        return str(value)
    return "" if value is None else json_of(value).decode()


def _format_float(value: float) -> str:
    """Format a float as Go's JSON does: the shortest exact text, with an exponent only below 1e-6 and from 1e21 on."""
    if not math.isfinite(value):
        return "json: unsupported value: " + {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    exact = Decimal(repr(value)).normalize()
    if 1e-6 <= abs(value) < 1e21:
        return f"{exact:f}"
    digits = "".join(map(str, exact.as_tuple().digits))
    power = exact.adjusted()
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{'-' if value < 0 else ''}{digits[0]}{fraction}e{'+' if power > 0 else '-'}{abs(power)}"


def _values(attributes: Mapping[str, Any], variant: Variant) -> dict[str, Any]:
    return {key: as_text(value) for key, value in attributes.items()} if variant == "map" else dict(attributes)


def _attributes(of: str, attributes: Mapping[str, Any], variant: Variant) -> dict[str, Any]:
    columns: dict[str, Any] = {f"{of}Attributes": _values(attributes, variant)}
    if variant == "json":
        # The exporter writes the names too, because a JSON column splits them at their dots.
        columns[f"{of}AttributesKeys"] = list(attributes)
    return columns


def _format_time(ns: int) -> str:
    """Format a time in UTC; a time outside the range of ``DateTime64(9)`` becomes the nearest one inside."""
    ns = min(max(ns, 0), 2**63 - 1)
    return f"{datetime.fromtimestamp(ns // _SECOND, UTC):%Y-%m-%d %H:%M:%S}.{ns % _SECOND:09}"


def lines(rows: list[dict[str, Any]]) -> bytes:
    """Return ``rows`` in ClickHouse's format JSONEachRow."""
    return b"\n".join(map(_line, rows))


def _line(row: dict[str, Any]) -> bytes:
    try:
        return json_of(row)
    except TypeError:  # a number beyond 64 bits
        return json.dumps(row).encode()
