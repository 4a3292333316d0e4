"""Spans and log events as plain data: the common form between records and every OpenTelemetry encoding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

SpanKindName = Literal["internal", "server", "client", "producer", "consumer"]
SpanStatus = Literal["unset", "ok", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventData:
    """An event within a span."""

    name: str
    time_ns: int
    """Nanoseconds since the epoch."""
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkData:
    """A link from a span to another span."""

    trace_id: str
    span_id: str
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanData:
    """A span of any library.

    Ids are lower-case hex. Attribute values are those of OpenTelemetry's ``AnyValue``: text, bool, int, float, bytes,
    None, and lists and string-keyed dicts of these.
    """

    name: str
    trace_id: str
    span_id: str
    parent_span_id: str | None = None
    kind: SpanKindName = "internal"
    start_ns: int
    """Nanoseconds since the epoch."""
    end_ns: int
    """Nanoseconds since the epoch; 0 where the end is unknown."""
    status: SpanStatus = "unset"
    description: str | None = None
    """Message of the status, on error."""
    attributes: dict[str, Any] = field(default_factory=dict)
    events: tuple[EventData, ...] = ()
    links: tuple[LinkData, ...] = ()
    resource: dict[str, Any] = field(default_factory=dict)
    scope: str | None = None
    """Name of the instrumentation that made the span."""
    scope_version: str | None = None

    @property
    def duration_ns(self) -> int | None:
        """Nanoseconds from the start to the end; None where the end is unknown."""
        return self.end_ns - self.start_ns if self.end_ns else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogData:
    """A log record of any library; an event if it has a name."""

    event_name: str | None = None
    time_ns: int
    """Nanoseconds since the epoch: the time of the event, else the time it was observed."""
    severity: int | None = None
    """OpenTelemetry's severity number: 9 is INFO, 13 WARN, 17 ERROR."""
    body: Any = None
    attributes: dict[str, Any] = field(default_factory=dict)
    trace_id: str | None = None
    span_id: str | None = None
    resource: dict[str, Any] = field(default_factory=dict)
    scope: str | None = None
    scope_version: str | None = None


MAX_SHARED_LENGTH = 4096
"""Maximum characters of a text that all spans of a resource or a scope share, such as the name of the service."""


def shared_text(text: str | None) -> str | None:
    """Return ``text``, or how long it is where it is no name: each span with it would be searched for secrets in it."""
    if text is None or len(text) <= MAX_SHARED_LENGTH:
        return text
    return f"(a text of {len(text):,} characters)"


def shared_attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a resource with their texts as :func:`shared_text` has them."""
    return {key: shared_text(value) if isinstance(value, str) else value for key, value in attributes.items()}
