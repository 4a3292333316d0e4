"""Encoding of a record for OTLP: its span, its log event, and the resource of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from opentelemetry.sdk.resources import OTELResourceDetector

from tooltrace.core.lru import LruMap
from tooltrace.core.records import Begun, Correction, Gate, Loss, Message, Outcome, Record, SavedQuery, Span, ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel.log_codec import exception_log, to_log
from tooltrace.otel.span_codec import encode, encode_span
from tooltrace.otel.span_data import LogData, SpanData

DELIVERY_REASON_PREFIX: Final = "export_"
"""Prefix of the reason of losses that a destination caused: to send them there could cause the next loss."""
REMEMBERED_IDS: Final = 20_000
"""Ids of recent calls that an encoder remembers: of 20,000 calls, or of 10,000 that have a call id of their own."""
REMEMBERED_RESOURCES: Final = 100
_SHARED_FIELDS: Final = {name: key for name, key in names.CALL_RESOURCE_FIELDS.items() if name != "pid"}
"""The fields of a call that its events have in their resource, by name, with their attributes."""


class RecordEncoder:
    """An encoder whose events about a recent call refer to its span.

    Each call is passed to ``log``, which remembers it; ``span`` remembers nothing.

    ``service``, ``host``: those of this process; ``attributes`` and its OTEL_RESOURCE_ATTRIBUTES hold for all records of
    that service on that host.
    """

    def __init__(
        self, service: str | None = None, host: str | None = None, attributes: Mapping[str, Any] | None = None
    ) -> None:
        # attributes of the environment describe this process: records of other services in the store must not get them
        self._here = _known({names.SERVICE_NAME: service, names.HOST_NAME: host})
        environment = OTELResourceDetector().detect().attributes
        known = {**environment, **(attributes or {})}
        # a call has a release and an environment of its own: those of this process may be later ones
        own = names.CALL_RESOURCE_FIELDS.values()
        self._environment = {key: value for key, value in known.items() if key not in own}
        self._recent: LruMap[tuple[str, str, dict[str, Any]]] = LruMap(REMEMBERED_IDS)
        self._resources: LruMap[dict[str, Any]] = LruMap(REMEMBERED_RESOURCES)
        """The resources of the recent calls: many calls have the same one."""

    def span(self, record: Record) -> SpanData | None:
        """Return the span of ``record``; None if it has none."""
        if isinstance(record, ToolCall):
            data = encode(record)
            return replace(data, resource=self.resource_of(data))
        return encode_span(record) if isinstance(record, Span) else None

    def log(self, record: Record) -> LogData | None:
        """Return the log event of ``record``: the exception of a call that raised, or a record that is not a span.

        A saved query is not telemetry, and a call that runs is sent with its end: they have none.
        """
        if isinstance(record, ToolCall):
            self._remember(record)
            data = exception_log(record)
            return data and replace(data, resource=self._resource(data.resource, record.recorder_version))
        if isinstance(record, Span | SavedQuery | Begun):
            return None
        if isinstance(record, Loss) and record.reason.startswith(DELIVERY_REASON_PREFIX):
            return None
        if isinstance(record, Loss):
            data = to_log(record)
            return replace(data, resource=self._resource(data.resource))
        return self._about_a_call(record)

    def resource_of(self, data: SpanData) -> dict[str, Any]:
        """Return the resource of a call's span."""
        return self._resource(data.resource, data.scope_version)

    def _remember(self, call: ToolCall) -> None:
        known = tuple(getattr(call, name) for name in _SHARED_FIELDS)
        resource = self._resources.get(known)
        if resource is None:
            resource = _known(dict(zip(_SHARED_FIELDS.values(), known, strict=True)))
            self._resources.put(known, resource)
        remembered = (call.trace_id, call.span_id, resource)
        self._recent.put((True, call.span_id), remembered)
        if call.call_id != call.span_id:
            self._recent.put((False, call.call_id), remembered)

    def _about_a_call(self, record: Outcome | Correction | Gate | Message) -> LogData:
        by_span = (True, record.span_id or record.call_id)  # a call without an id of its own has that of its span
        found = self._recent.get((False, record.call_id)) if record.span_id is None else None
        trace_id, span_id, resource = found or self._recent.get(by_span) or (None, record.span_id, self._here)
        data = to_log(record, trace_id=trace_id, span_id=span_id)
        return replace(data, resource=self._resource({**resource, **data.resource}))

    def _resource(self, resource: dict[str, Any], version: str | None = None) -> dict[str, Any]:
        """Return the record's own resource with the attributes of this process, if it is the same service and host."""
        here = all(resource.get(key) == value for key, value in self._here.items())
        sdk = {"telemetry.sdk.name": "tooltrace", "telemetry.sdk.language": "python", "telemetry.sdk.version": version}
        return {**(sdk if version else {}), **(self._environment if here else {}), **resource}


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
