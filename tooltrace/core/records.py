"""The record types, which recorders and receivers produce and which stores, exporters and views consume.

Each field is declared once, in this module. Its column, its attribute and their descriptions are derived from that
declaration, see :mod:`tooltrace.core.fields`. An unknown value is None, never "" or 0. Times are aware, UTC, in whole
microseconds.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Struct

from tooltrace.core.fields import About
from tooltrace.redact.snapshot import Json

__all__ = ["RECORD_TYPES", "Gate", "Json", "Loss", "Message", "Outcome", "Record", "Span", "ToolCall"]


class ToolCall(Struct, frozen=True, kw_only=True):
    """One attempt of one call: its arguments, its result and its duration.

    Field names are the columns of the table ``attempts``. Ids are OpenTelemetry hex. The code that makes a record
    redacts and bounds its text beforehand.
    """

    # which tool
    tool: Annotated[str, About("Name of the tool.", "gen_ai.tool.name")]
    tool_version: Annotated[str | None, About("Version of the tool.", "tooltrace.tool.version")] = None
    tool_type: Annotated[str | None, About("function, extension or datastore.", "gen_ai.tool.type")] = None
    tool_description: Annotated[
        str | None, About("The tool's description of itself.", "gen_ai.tool.description", prose=True, late=True)
    ] = None

    # which call, and where in the trace
    call_id: Annotated[str, About("Id that the model gave the call; the span_id where nobody gave one.")]
    attempt: Annotated[
        int, About("1 for the first execution of the call, 2 for the first retry.", "tooltrace.attempt")
    ] = 1
    trace_id: Annotated[str, About("OpenTelemetry trace, 32 hex digits.")]
    span_id: Annotated[str, About("OpenTelemetry span, 16 hex digits; unique: the identity of the row.")]
    parent_span_id: Annotated[str | None, About("The span that was current when the tool was called.")] = None
    conversation_id: Annotated[
        str | None, About("The conversation or session that the call belongs to.", "gen_ai.conversation.id")
    ] = None
    agent: Annotated[str | None, About("Name of the agent that called.", "gen_ai.agent.name")] = None

    # when
    started_at: Annotated[datetime, About("When the attempt began; UTC.")]
    duration_ms: Annotated[
        float | None,
        About(
            "Milliseconds in the tool, by the monotonic clock, without the time that a stream's consumer held it.",
            "tooltrace.duration_ms",
        ),
    ] = None
    first_item_ms: Annotated[
        float | None, About("Streams: milliseconds from the start to the first item.", "tooltrace.first_item_ms")
    ] = None
    consumer_ms: Annotated[
        float | None,
        About("Streams: milliseconds that the consumer held the stream between items.", "tooltrace.consumer_ms"),
    ] = None

    # the result
    status: Annotated[
        str | None,
        About(
            "What the tool reported: success, partial or error; unknown where it reported nothing.", "tooltrace.status"
        ),
    ] = None
    ending: Annotated[
        str,
        About("How it ended: returned, raised, cancelled, abandoned, paused, declined or expired.", "tooltrace.ending"),
    ] = "returned"
    code: Annotated[str | None, About("Error code, such as TIMEOUT.", "tooltrace.code")] = None
    error_type: Annotated[
        str | None,
        About("Class of the exception, or the error type that the response names.", "tooltrace.error.type"),
    ] = None
    error_message: Annotated[
        str | None,
        About(
            "Error message, redacted; of a partial result, why it is partial.", "tooltrace.error.message", prose=True
        ),
    ] = None
    retryable: Annotated[
        bool | None, About("Whether the tool said that trying again may help.", "tooltrace.retryable")
    ] = None
    suggestion: Annotated[
        str | None, About("What the tool advised to do about the error.", "tooltrace.suggestion", prose=True)
    ] = None
    user_message: Annotated[
        str | None,
        About("What a person may be told about the error.", "tooltrace.user_message", prose=True, late=True),
    ] = None
    confidence: Annotated[float | None, About("How sure the tool was, 0 to 1.", "tooltrace.confidence")] = None
    signals: Annotated[
        Json | None,
        About(
            "Object: name of each signal that made the confidence, and its value.", "tooltrace.signals", content=True
        ),
    ] = None
    next_action: Annotated[str | None, About("What the tool advised to do next.", "tooltrace.next_action")] = None
    cached: Annotated[bool | None, About("Whether the result came from a cache.", "tooltrace.cached")] = None
    explanation: Annotated[
        str | None,
        About(
            "Why the tool gave this result, in its own words.",
            "tooltrace.explanation",
            content=True,
            prose=True,
            late=True,
        ),
    ] = None
    sources: Annotated[
        Json | None,
        About(
            "Array of where the result came from; the view sources has them as rows.",
            "tooltrace.sources",
            content=True,
            late=True,
        ),
    ] = None

    # input and output
    text: Annotated[str | None, About("The result as text.", "tooltrace.text", content=True, prose=True)] = None
    seen_text: Annotated[
        str | None, About("What the model was given.", "tooltrace.seen_text", content=True, prose=True)
    ] = None
    arguments: Annotated[
        Json | None,
        About("Object: the arguments, redacted and bounded.", "gen_ai.tool.call.arguments", content=True),
    ] = None
    result: Annotated[
        Json | None, About("The result, redacted and bounded.", "gen_ai.tool.call.result", content=True)
    ] = None
    stats: Annotated[
        Json | None, About("Object: numbers that the tool reported about its work.", "tooltrace.stats", content=True)
    ] = None
    context: Annotated[
        Json | None,
        About("Object: what the response carried about its surroundings.", "tooltrace.context", content=True),
    ] = None
    attributes: Annotated[Json | None, About("Object: what the tool or its surroundings set on the span.")] = None

    # how it was recorded
    rule: Annotated[str | None, About("The rule that read the result.", "tooltrace.rule")] = None
    rule_grade: Annotated[
        str | None, About("certain or heuristic: how far the rule can be trusted.", "tooltrace.rule_grade")
    ] = None
    truncated: Annotated[bool | None, About("True where a field was longer than the limit.", "tooltrace.truncated")] = (
        None
    )
    full_sizes: Annotated[
        Json | None,
        About(
            "Object: name of each truncated field, and its true size in bytes, where that is known.",
            "tooltrace.full_sizes",
            late=True,
        ),
    ] = None
    redacted: Annotated[
        bool | None,
        About(
            "True where a secret was taken out, or a field was dropped because it could not be redacted.",
            "tooltrace.redacted",
        ),
    ] = None
    flags: Annotated[
        Json | None,
        About(
            "Array of what was wrong with what the tool gave, such as confidence_out_of_range.",
            "tooltrace.flags",
            late=True,
        ),
    ] = None
    service: Annotated[str | None, About("Name of the service that recorded it.")] = None
    host: Annotated[str | None, About("Machine that recorded it.")] = None
    pid: Annotated[int | None, About("Process that recorded it.")] = None
    recorder_version: Annotated[
        str | None,
        About("Version of tooltrace that recorded it; marks a span as made by tooltrace.", "tooltrace.version"),
    ] = None


class Outcome(Struct, frozen=True, kw_only=True):
    """A later judgement whether the result of an attempt, or of a call, was right."""

    call_id: Annotated[str | None, About("The call that is judged, where it is named.", "gen_ai.tool.call.id")] = None
    span_id: Annotated[
        str | None, About("The attempt that is judged; unknown where the whole call is.", "tooltrace.judged.span_id")
    ] = None
    correct: Annotated[bool | None, About("Whether the result was right.")] = None
    score: Annotated[float | None, About("How right it was, 0 to 1.", "gen_ai.evaluation.score.value")] = None
    labeler: Annotated[str, About("Who judged: human, or the name of a check.", "tooltrace.labeler", prose=True)] = (
        "human"
    )
    reason: Annotated[str | None, About("Why, redacted.", "gen_ai.evaluation.explanation", prose=True)] = None
    labeled_at: Annotated[datetime, About("When it was judged; UTC.")]


class Loss(Struct, frozen=True, kw_only=True):
    """A count of records that were made and could not be stored, for one reason."""

    reason: Annotated[
        str,
        About("Why, such as queue_full, write_failed, torn_line, damaged_line.", "tooltrace.loss.reason", prose=True),
    ]
    count: Annotated[int, About("How many.", "tooltrace.loss.count")]
    at: Annotated[datetime, About("When it was noticed; UTC.")]
    detail: Annotated[
        str | None, About("Where: file and byte, where that is known.", "tooltrace.loss.detail", prose=True)
    ] = None
    service: Annotated[str | None, About("Service that lost them.")] = None
    host: Annotated[str | None, About("Machine that lost them.")] = None
    pid: Annotated[int | None, About("Process that lost them.")] = None


class Gate(Struct, frozen=True, kw_only=True):
    """A stop of a call that waits for a person's answer, and the answer where there is one."""

    call_id: Annotated[str, About("The call that was stopped.", "gen_ai.tool.call.id")]
    span_id: Annotated[str, About("The attempt that was stopped.", "tooltrace.gate.span_id")]
    kind: Annotated[str, About("confirmation, input or external.", "tooltrace.gate.kind")]
    decision: Annotated[
        str | None, About("approved, declined or expired; unknown while it waits.", "tooltrace.gate.decision")
    ] = None
    asked_at: Annotated[datetime, About("When the person was asked; UTC.", "tooltrace.gate.asked_at")]
    answered_at: Annotated[datetime | None, About("When the person answered; UTC.", "tooltrace.gate.answered_at")] = (
        None
    )
    answered_by: Annotated[str | None, About("Who answered.", "tooltrace.gate.answered_by", prose=True)] = None
    note: Annotated[str | None, About("What they said.", "tooltrace.gate.note", prose=True)] = None
    changed: Annotated[
        Json | None,
        About(
            "Object: name of each argument that they changed, and its new value; null without content.",
            "tooltrace.gate.changed",
            content=True,
        ),
    ] = None
    resumed_span_id: Annotated[
        str | None, About("The attempt that went on with the answer.", "tooltrace.gate.resumed_span_id")
    ] = None


class Message(Struct, frozen=True, kw_only=True):
    """The message that the model received for one attempt."""

    call_id: Annotated[str, About("The call.", "gen_ai.tool.call.id")]
    span_id: Annotated[
        str | None, About("The attempt; unknown where the process did not record it.", "tooltrace.message.span_id")
    ] = None
    style: Annotated[
        str | None,
        About("Form of the message: openai, anthropic, plain, or a framework's name.", "tooltrace.message.style"),
    ] = None
    text: Annotated[
        str | None, About("The message, redacted and bounded.", "tooltrace.message.text", content=True, prose=True)
    ] = None
    sha256: Annotated[
        str,
        About(
            "Hash of the whole text after redaction, hex: tells whether two messages were the same.",
            "tooltrace.message.sha256",
        ),
    ]
    length: Annotated[int, About("Characters of the whole text after redaction.", "tooltrace.message.length")]
    error: Annotated[bool, About("Whether the text tells of an error.", "tooltrace.message.error")]
    at: Annotated[datetime, About("When it was made; UTC.")]


class Span(Struct, frozen=True, kw_only=True):
    """A span of any library that is not a tool call: the surroundings of the calls in their traces."""

    trace_id: Annotated[str, About("OpenTelemetry trace, 32 hex digits.")]
    span_id: Annotated[str, About("OpenTelemetry span, 16 hex digits; unique: the identity of the row.")]
    parent_span_id: Annotated[str | None, About("The span that it was made in.")] = None
    name: Annotated[str, About("Name of the span.")]
    span_kind: Annotated[str | None, About("internal, server, client, producer or consumer.")] = None
    started_at: Annotated[datetime, About("When it began; UTC.")]
    duration_ms: Annotated[float | None, About("Milliseconds that it took.")] = None
    status: Annotated[str | None, About("ok or error; unknown where the span says neither.")] = None
    status_message: Annotated[str | None, About("What the status says, redacted.", prose=True)] = None
    attributes: Annotated[Json | None, About("Object: its attributes, redacted and bounded.", content=True)] = None
    events: Annotated[Json | None, About("Array of what happened in it: name, at, attributes.", content=True)] = None
    links: Annotated[
        Json | None,
        About("Array of the spans that it is linked to: trace_id, span_id, attributes.", content=True),
    ] = None
    scope: Annotated[str | None, About("Name of the instrumentation that made it.")] = None
    scope_version: Annotated[str | None, About("Version of the instrumentation.")] = None
    service: Annotated[str | None, About("Name of the service that made it.")] = None
    host: Annotated[str | None, About("Machine that made it.")] = None
    pid: Annotated[int | None, About("Process that made it.")] = None


Record = ToolCall | Outcome | Loss | Gate | Message | Span
"""Any record."""
RECORD_TYPES: tuple[type[Record], ...] = (ToolCall, Outcome, Gate, Message, Loss, Span)
"""The classes of all records."""
