"""The one record between everything that sees a call and everything that keeps or shows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NewType, Self

Json = NewType("Json", str)
"""JSON text: compact, valid UTF-8, redacted and bounded already."""


@dataclass(frozen=True, kw_only=True)  # no slots: see `of`
class ToolCall:
    """One attempt of one call: what was asked, what came of it, and what it cost.

    Field names are the columns of the table ``tool_calls``. Unknown is None, never "" or 0.
    Ids are OpenTelemetry hex. Whoever makes a record has redacted and bounded its text before.
    """

    # which tool
    tool: str
    """Name of the tool (``gen_ai.tool.name``)."""
    tool_version: str | None = None
    tool_type: str | None = None
    """``function``, ``extension`` or ``datastore``."""
    tool_description: str | None = None

    # which call, and where in the trace
    call_id: str
    """What the model asked for, once. Equals ``span_id`` where nobody gave an id."""
    attempt: int = 1
    """1 for the first execution of the call, 2 for the first retry."""
    trace_id: str
    span_id: str
    """Unique: the identity of this record."""
    parent_span_id: str | None = None
    conversation_id: str | None = None
    agent: str | None = None

    # when
    started_at: datetime
    """Aware, UTC, whole microseconds."""
    duration_ms: float | None = None
    """Time in the tool, from the monotonic clock; a stream's excludes what its consumer held."""
    first_item_ms: float | None = None
    """Streams only: from the start to the first item."""
    consumer_ms: float | None = None
    """Streams only: how long the consumer held the stream between items."""

    # what came of it
    status: str | None = None
    """``success``, ``partial`` or ``error``; None where the tool reported nothing."""
    ending: str = "returned"
    """How it ended: returned, raised, cancelled, abandoned, paused, declined or expired."""
    code: str | None = None
    error_type: str | None = None
    """Class of the exception, or the error type that a response names."""
    error_message: str | None = None
    retryable: bool | None = None
    suggestion: str | None = None
    user_message: str | None = None
    confidence: float | None = None
    """In [0, 1]."""
    signals: Json | None = None
    """Object: name of each signal that made the confidence, and its value."""
    next_action: str | None = None
    cached: bool | None = None
    explanation: str | None = None
    sources: Json | None = None
    """Array of the sources that the result came from; rows of the table ``sources``."""

    # what went in and out
    text: str | None = None
    seen_text: str | None = None
    """What the model was given."""
    arguments: Json | None = None
    result: Json | None = None
    stats: Json | None = None
    context: Json | None = None
    attributes: Json | None = None
    """Object: what the tool or its surroundings set on the span."""

    # how it was recorded
    rule: str | None = None
    """The rule that read the result."""
    rule_grade: str | None = None
    """``certain`` or ``heuristic``."""
    truncated: bool | None = None
    """True where a field was longer than the limit."""
    full_sizes: Json | None = None
    """Object: field name to its true size in bytes, for each truncated field."""
    redacted: bool | None = None
    """True where a secret was taken out, or a field was dropped because it could not be redacted."""
    flags: Json | None = None
    """Array of what was wrong with what the tool gave: ``confidence_out_of_range``, …"""
    service: str | None = None
    host: str | None = None
    pid: int | None = None
    recorder_version: str | None = None

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Self:
        """A record with these ``fields``, unchecked; what is left out has its default. It takes a tenth of the
        time of the frozen dataclass's own constructor, and one is made for every call."""
        self = object.__new__(cls)
        self.__dict__.update(fields)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A later judgement of one attempt, or of a call: was the result right?"""

    call_id: str | None = None
    span_id: str | None = None
    correct: bool | None = None
    score: float | None = None
    """In [0, 1]."""
    labeler: str = "human"
    reason: str | None = None
    labeled_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Records that were made and could not be kept, counted by reason."""

    reason: str
    count: int
    at: datetime
    detail: str | None = None
    service: str | None = None
    host: str | None = None
    pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A stop for a person: asked, and perhaps answered."""

    call_id: str
    span_id: str
    kind: str
    """``confirmation``, ``input`` or ``external``."""
    decision: str | None = None
    """``approved``, ``declined``, ``expired``; None while it waits."""
    asked_at: datetime
    answered_at: datetime | None = None
    answered_by: str | None = None
    note: str | None = None
    changed: Json | None = None
    """Object: argument to its new value."""
    resumed_span_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What the model was given of one attempt."""

    call_id: str
    span_id: str | None = None
    """The attempt; None where this process did not record it."""
    style: str | None = None
    """The form of the message: ``openai``, ``anthropic``, ``plain``, or a framework's name."""
    text: str | None = None
    """The message, redacted and bounded."""
    sha256: str
    """Of the whole text after redaction, hex: tells whether two messages were the same."""
    length: int
    """Characters of the whole text, after redaction."""
    error: bool
    """Whether the text tells of an error."""
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span that is no tool call, of any library: what stands around the calls in their traces."""

    trace_id: str
    span_id: str
    """Unique: the identity of this record."""
    parent_span_id: str | None = None
    name: str
    span_kind: str | None = None
    """``internal``, ``server``, ``client``, ``producer`` or ``consumer``."""
    started_at: datetime
    """Aware, UTC, whole microseconds."""
    duration_ms: float | None = None
    status: str | None = None
    """``ok`` or ``error``; None where the span says neither."""
    status_message: str | None = None
    attributes: Json | None = None
    """Object, redacted and bounded."""
    events: Json | None = None
    """Array of objects ``name``, ``at`` and ``attributes``."""
    links: Json | None = None
    """Array of objects ``trace_id``, ``span_id`` and ``attributes``."""
    scope: str | None = None
    """Name of the instrumentation that made it."""
    scope_version: str | None = None
    service: str | None = None
    host: str | None = None
    pid: int | None = None


Record = ToolCall | Outcome | Loss | Gate | Message | Span
