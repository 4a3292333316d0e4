"""What a record is for OTLP: its span, its log event, and the resource of both."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, get_args

import orjson
from opentelemetry.sdk.resources import OTELResourceDetector

from tooltrace.otel import attributes as names
from tooltrace.otel.codec import encode
from tooltrace.otel.events import exception_log, to_log
from tooltrace.otel.form import EventForm, LinkForm, LogForm, SpanForm, SpanKindName
from tooltrace.otel.moments import nanoseconds
from tooltrace.record import Gate, Loss, Message, Outcome, Record, Span, ToolCall
from tooltrace.surroundings import Recent

_KINDS: Final = get_args(SpanKindName)
OF_DELIVERY: Final = "export_"
"""How the reason of a loss begins that a destination caused: to send it there could cause the next."""


class Forms:
    """Remembers the calls that went by, so that what is said of one later is found beside its span.

    ``service``, ``host``: of this process, whose OTEL_RESOURCE_ATTRIBUTES hold for all of that service on that host.
    """

    def __init__(self, service: str | None = None, host: str | None = None) -> None:
        self._here = _known({names.SERVICE_NAME: service, names.HOST_NAME: host})
        said = OTELResourceDetector().detect().attributes
        self._said = {key: value for key, value in said.items() if key != names.SERVICE_NAME}
        self._recent: Recent[tuple[str, str, dict[str, Any]]] = Recent()

    def span(self, record: Record) -> SpanForm | None:
        """The span of ``record``, where it is one."""
        if isinstance(record, ToolCall):
            self.remember(record)
            form = encode(record)
            return replace(form, resource=self.resource_of(form))
        return span_form(record) if isinstance(record, Span) else None

    def log(self, record: Record) -> LogForm | None:
        """The log event of ``record``: the exception of a call that raised, and what is no span."""
        if isinstance(record, ToolCall):
            self.remember(record)
            form = exception_log(record)
            return form and replace(form, resource=self._resource(form.resource, record.recorder_version))
        if isinstance(record, Span) or (isinstance(record, Loss) and record.reason.startswith(OF_DELIVERY)):
            return None
        if isinstance(record, Loss):
            form = to_log(record)
            return replace(form, resource=self._resource(form.resource))
        return self._about_a_call(record)

    def resource_of(self, form: SpanForm) -> dict[str, Any]:
        """What is known of where the span of a call was made."""
        return self._resource(form.resource, form.scope_version)

    def remember(self, call: ToolCall) -> None:
        """Something may be said of ``call`` later."""
        kept = (call.trace_id, call.span_id, _known({names.SERVICE_NAME: call.service, names.HOST_NAME: call.host}))
        self._recent.put((False, call.call_id), kept)
        self._recent.put((True, call.span_id), kept)

    def _about_a_call(self, record: Outcome | Gate | Message) -> LogForm:
        key = (False, record.call_id) if record.span_id is None else (True, record.span_id)
        trace_id, span_id, resource = self._recent.get(key) or (None, record.span_id, self._here)
        form = to_log(record, trace_id=trace_id, span_id=span_id)
        return replace(form, resource=self._resource({**resource, **form.resource}))

    def _resource(self, own: dict[str, Any], version: str | None = None) -> dict[str, Any]:
        """What the record says of itself, and what this process knows of its service."""
        here = all(own.get(key) == value for key, value in self._here.items())
        sdk = {"telemetry.sdk.name": "tooltrace", "telemetry.sdk.language": "python", "telemetry.sdk.version": version}
        return {**(sdk if version else {}), **(self._said if here else {}), **own}


def span_form(record: Span) -> SpanForm:
    """The span that ``record`` was made from, in whole microseconds."""
    start = nanoseconds(record.started_at)
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
        resource=_known(
            {names.SERVICE_NAME: record.service, names.HOST_NAME: record.host, names.PROCESS_PID: record.pid}
        ),
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


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
