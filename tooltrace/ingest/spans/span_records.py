"""Records of spans that are not tool calls: redacted and bounded like all records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from tooltrace.core.records import Span
from tooltrace.ingest.call_builder import MAX_DURATION_NS, MAX_NAME_LENGTH, MAX_TIME_NS, stable_id
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import SpanData
from tooltrace.otel.timestamps import EPOCH
from tooltrace.recording.settings import Settings
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import Json, snapshot

_STACK = "exception.stacktrace"
"""Attribute that is not stored: text can be redacted, but the source lines in a stack trace cannot."""
_SHORT_TEXT = 100
"""Maximum characters of an attribute that is kept before longer ones, such as the name of a model."""
_INT64 = range(-(2**63), 2**63)
_METADATA = frozenset(
    (
        *("error.type", "exception.type", "exception.escaped", "code.function", "code.function.name", "code.namespace"),
        *("mcp.method.name", "mcp.session.id", "mcp.protocol.version", "mcp.tool.name", "mcp.request.id"),
        *("rpc.system", "rpc.system.name", "rpc.service", "rpc.method", "rpc.response.status_code"),
        *("jsonrpc.protocol.version", "jsonrpc.request.id", "rpc.jsonrpc.version", "rpc.jsonrpc.request_id"),
        *("http.request.method", "http.response.status_code", "http.route", "db.system", "db.system.name"),
        *("db.operation", "db.operation.name", "otel.status_code", "otel.status_description", "otel.scope.name"),
        *("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.system", "gen_ai.request.model"),
        *("gen_ai.response.model", "gen_ai.response.id", "gen_ai.response.finish_reasons", "gen_ai.token.type"),
        *("gen_ai.agent.name", "gen_ai.agent.id", "gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.tool.call.id"),
        *("gen_ai.conversation.id", "openinference.span.kind", "traceloop.span.kind", "traceloop.entity.name"),
        *("langfuse.observation.type", "llm.model_name", "llm.provider", "llm.system", "tool.name", "session.id"),
        *("logfire.span_type", "fastmcp.server.name", "fastmcp.component.type", "fastmcp.provider.type"),
    )
)
"""Text attributes that may be stored when arguments and results are not recorded.

They describe which operation ran, not its data. They are listed by full name, because ``mcp.``, ``rpc.`` and
``db.operation.`` are also prefixes of arguments and results.
"""
_METADATA_PREFIXES = ("network.", "server.", "client.", "service.")
"""Prefixes of further attributes that may be stored: all of them describe where an operation ran."""


class SpanOrigin(NamedTuple):
    """The service, its release and environment, the host and the process that made a span."""

    service: str | None = None
    host: str | None = None
    pid: int | None = None
    release: str | None = None
    environment: str | None = None


def origin_of(form: SpanData, here: SpanOrigin) -> SpanOrigin:
    """Return the origin in the span's resource, completed from ``here``."""
    service, host, pid = (form.resource.get(key) for key in (names.SERVICE_NAME, names.HOST_NAME, names.PROCESS_PID))
    if not isinstance(service, str) or service.startswith("unknown_service"):  # the SDK's default for an unset name
        service = here.service
    known = isinstance(pid, int) and not isinstance(pid, bool) and pid in _INT64
    release, environment = form.resource.get(names.SERVICE_VERSION), form.resource.get(names.ENVIRONMENT_NAME)
    return SpanOrigin(
        service or None,
        host if isinstance(host, str) and host else here.host,
        pid if known else here.pid,
        release if isinstance(release, str) and release else here.release,
        environment if isinstance(environment, str) and environment else here.environment,
    )


def to_span_record(form: SpanData, settings: Settings, here: SpanOrigin) -> Span:
    """Return the redacted and bounded record of ``form``."""
    length = form.duration_ns
    origin = origin_of(form, here)
    parts = {
        "attributes": _dumped_attributes(allowed_attributes(form.attributes, settings), settings.field_limit),
        "events": _dumped(events_of(form, settings)),
        "links": _dumped(links_of(form, settings)),
    }
    texts = (form.name, message_of(form), form.scope, form.scope_version, origin.service, origin.host)
    joined = "\n".join((*filter(None, texts), *(part.decode() for part in parts.values() if part)))
    clean = settings.redaction.may_skip(joined)  # most spans hold no secret; a full search costs ten times the rest
    sanitizer = Sanitizer((settings.redaction,), settings.field_limit, clean)
    short = Sanitizer((settings.redaction,), MAX_NAME_LENGTH, clean)
    return Span(
        trace_id=f"{parse_id(form.trace_id, 32):032x}",
        span_id=f"{parse_id(form.span_id, 16):016x}",
        parent_span_id=None if not form.parent_span_id else f"{parse_id(form.parent_span_id, 16):016x}",
        name=short.sanitize_text("name", form.name) or "",
        span_kind=form.kind,
        started_at=EPOCH + timedelta(microseconds=min(max(form.start_ns, 0), MAX_TIME_NS) // 1000),
        duration_ms=length / 1e6 if length is not None and 0 <= length < MAX_DURATION_NS else None,
        status=None if form.status == "unset" else form.status,
        status_message=sanitizer.sanitize_text("status_message", message_of(form)),
        attributes=_json(sanitizer, "attributes", parts["attributes"]),
        events=_json(sanitizer, "events", parts["events"]),
        links=_json(sanitizer, "links", parts["links"]),
        scope=short.sanitize_text("scope", form.scope),
        scope_version=short.sanitize_text("scope_version", form.scope_version),
        service=short.sanitize_text("service", origin.service),
        host=short.sanitize_text("host", origin.host),
        pid=origin.pid,
    )


def parse_id(text: str, digits: int) -> int:
    """Return an id of ``digits`` hex digits as a number; any other text maps to a stable number instead."""
    try:
        found = int(text, 16) if len(text) == digits and text.isalnum() else 0
    except ValueError:
        found = 0
    return found or stable_id(digits // 2, text)


def allowed_attributes(attributes: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the attributes that may be recorded, before redaction."""
    present = {key: value for key, value in attributes.items() if key != _STACK and value is not None}
    if settings.capture == "full":
        return present
    return {
        key: value
        for key, value in present.items()
        if isinstance(value, bool | int | float) or key in _METADATA or key.startswith(_METADATA_PREFIXES)
    }


def events_of(form: SpanData, settings: Settings) -> list[dict[str, Any]]:
    """Return the span's events in the form in which they are recorded."""
    return [
        {
            "name": event.name,
            "at": (EPOCH + timedelta(microseconds=min(max(event.time_ns, 0), MAX_TIME_NS) // 1000)).isoformat(),
            "attributes": allowed_attributes(event.attributes, settings),
        }
        for event in form.events
    ]


def links_of(form: SpanData, settings: Settings) -> list[dict[str, Any]]:
    """Return the span's links in the form in which they are recorded."""
    return [
        {
            "trace_id": link.trace_id,
            "span_id": link.span_id,
            "attributes": allowed_attributes(link.attributes, settings),
        }
        for link in form.links
    ]


def message_of(form: SpanData) -> str | None:
    """Return the message of the status, without a stack trace; None if it is empty.

    Some libraries append the whole stack trace to the message.
    """
    message = form.description
    if not message:
        return None
    return message.partition("Traceback (most recent call last)")[0].rstrip() or None


def _dumped(value: Any) -> bytes | None:
    """Return ``value`` as JSON; None if it is empty."""
    if not value:
        return None
    snap = snapshot(value)
    return snap if isinstance(snap, bytes) else json_of(snap)


def _dumped_attributes(attributes: dict[str, Any], limit: int) -> bytes | None:
    """Return ``attributes`` as JSON, with numbers and short texts first where it is longer than ``limit``.

    What is longer is cut at its end. A long prompt must not cut off the usage of the model, which often stands after it.
    """
    dumped = _dumped(attributes)
    if dumped is None or len(dumped) <= limit:
        return dumped
    return _dumped(dict(sorted(attributes.items(), key=lambda item: _rank(item[1]))))


def _rank(value: Any) -> int:
    """Return the rank of an attribute where some are cut: numbers, short texts, and the others."""
    if isinstance(value, bool | int | float):
        return 0
    return 1 if isinstance(value, str) and len(value) <= _SHORT_TEXT else 2


def _json(sanitizer: Sanitizer, field: str, part: bytes | None) -> Json | None:
    """Return ``part`` redacted and bounded."""
    return None if part is None else sanitizer.sanitize_json(field, part)
