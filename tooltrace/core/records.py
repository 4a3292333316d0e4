"""The record types, which recorders and receivers produce and which stores, exporters and views consume.

Each field is declared once, in this module. Its column, its attribute and their descriptions are derived from that
declaration, see :mod:`tooltrace.core.fields`. An unknown value is None, never "" or 0. Times are aware, UTC, in whole
microseconds.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from msgspec import Struct

from tooltrace.core.begun import Begun
from tooltrace.core.fields import About
from tooltrace.core.judgements import Correction, Outcome
from tooltrace.redact.snapshot import Json

__all__ = [
    "ENDINGS",
    "RECORD_TYPES",
    "Begun",
    "Correction",
    "Gate",
    "Json",
    "Loss",
    "Message",
    "Outcome",
    "Record",
    "SavedQuery",
    "Span",
    "ToolCall",
]

ENDINGS: Final = (
    "returned", "raised", "cancelled", "abandoned", "paused", "declined", "expired", "lost", "refused",
    "handed_over",
)  # fmt: skip
"""The values of ``ToolCall.ending``."""


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
        str | None,
        About("Description of the tool, as the model receives it.", "gen_ai.tool.description", prose=True),
    ] = None

    # which call, and where in the trace
    call_id: Annotated[str, About("The model's id of the call; the span_id where there is none.")]
    attempt: Annotated[
        int, About("1 for the first execution of the call, 2 for the first retry.", "tooltrace.attempt")
    ] = 1
    trace_id: Annotated[str, About("OpenTelemetry trace id, 32 hex digits.", made=True)]
    span_id: Annotated[str, About("OpenTelemetry span id, 16 hex digits; unique, the key of the row.", made=True)]
    parent_span_id: Annotated[
        str | None, About("Id of the span that was current when the tool was called.", made=True)
    ] = None
    conversation_id: Annotated[
        str | None, About("Id of the conversation or session of the call.", "gen_ai.conversation.id")
    ] = None
    agent: Annotated[str | None, About("Name of the agent that made the call.", "gen_ai.agent.name")] = None
    model: Annotated[
        str | None, About("Name of the model that asked for the call, where it is known.", "tooltrace.model")
    ] = None

    first_span_id: Annotated[
        str | None,
        About(
            "Span id of the call's first attempt, where its call_id had named another call before; else unknown.",
            "tooltrace.first_span_id",
            made=True,
        ),
    ] = None

    # when
    started_at: Annotated[datetime, About("Start of the attempt, UTC.")]
    duration_ms: Annotated[
        float | None,
        About(
            "Milliseconds in the tool, by the monotonic clock; for a stream, without the time of its consumer.",
            "tooltrace.duration_ms",
        ),
    ] = None
    first_item_ms: Annotated[
        float | None, About("Streams: milliseconds from the start to the first item.", "tooltrace.first_item_ms")
    ] = None
    consumer_ms: Annotated[
        float | None,
        About("Streams: milliseconds that the consumer used between items.", "tooltrace.consumer_ms"),
    ] = None

    # the result
    status: Annotated[
        str | None,
        About(
            "Status that the tool reported: success, partial or error; unknown where it reported none.",
            "tooltrace.status",
            made=True,
        ),
    ] = None
    ending: Annotated[
        str,
        About(f"How the attempt ended: {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}.", "tooltrace.ending", made=True),
    ] = "returned"
    code: Annotated[
        str | None,
        About(
            "Error code, such as TIMEOUT; of a cancelled attempt TIMEOUT for a deadline, CANCELLED for a person or the program, else NULL.",
            "tooltrace.code",
        ),
    ] = None
    error_type: Annotated[
        str | None,
        About("Class of the exception, or the error type that the response names.", "tooltrace.error.type"),
    ] = None
    error_message: Annotated[
        str | None,
        About(
            "Error message, redacted; for a partial result, the reason why it is partial.",
            "tooltrace.error.message",
            prose=True,
        ),
    ] = None
    retryable: Annotated[bool | None, About("Whether the same call may succeed later.", "tooltrace.retryable")] = None
    suggestion: Annotated[
        str | None, About("The tool's advice on how to correct the error.", "tooltrace.suggestion", prose=True)
    ] = None
    user_message: Annotated[
        str | None,
        About("Error message for the person who uses the agent.", "tooltrace.user_message", prose=True),
    ] = None
    confidence: Annotated[
        float | None, About("The tool's confidence that its result is right, 0 to 1.", "tooltrace.confidence")
    ] = None
    signals: Annotated[
        Json | None,
        About("Object: the signals behind the confidence, value by name.", "tooltrace.signals", content=True),
    ] = None
    next_action: Annotated[
        str | None,
        About("Next action that the tool stated; unknown where it stated none.", "tooltrace.next_action"),
    ] = None
    cached: Annotated[bool | None, About("Whether the result came from a cache.", "tooltrace.cached")] = None
    explanation: Annotated[
        str | None,
        About(
            "The tool's explanation of its result.",
            "tooltrace.explanation",
            content=True,
            prose=True,
        ),
    ] = None
    sources: Annotated[
        Json | None,
        About(
            "Array of the sources of the result; the view sources has them as rows.",
            "tooltrace.sources",
            content=True,
        ),
    ] = None

    # input and output
    text: Annotated[str | None, About("The result as text.", "tooltrace.text", content=True, prose=True)] = None
    seen_text: Annotated[
        str | None,
        About("Text that the model received as the result.", "tooltrace.seen_text", content=True, prose=True),
    ] = None
    arguments: Annotated[
        Json | None,
        About("Object: the arguments, redacted and bounded.", "gen_ai.tool.call.arguments", content=True),
    ] = None
    result: Annotated[
        Json | None, About("The result, redacted and bounded.", "gen_ai.tool.call.result", content=True)
    ] = None
    stats: Annotated[
        Json | None, About("Object: figures that the tool reported about its work.", "tooltrace.stats", content=True)
    ] = None
    context: Annotated[
        Json | None,
        About(
            "Object: further values of the response, such as members of the tool's protocol.",
            "tooltrace.context",
            content=True,
        ),
    ] = None
    attributes: Annotated[
        Json | None, About("Object: attributes that the tool or the application set on the span.")
    ] = None

    # how it was recorded
    rule: Annotated[str | None, About("The rule that read the result.", "tooltrace.rule")] = None
    rule_grade: Annotated[
        str | None,
        About(
            "Reliability of the reading: certain, heuristic, or unread where nothing states whether the tool worked.",
            "tooltrace.rule_grade",
            made=True,
        ),
    ] = None
    truncated: Annotated[bool | None, About("True where a field was longer than the limit.", "tooltrace.truncated")] = (
        None
    )
    full_sizes: Annotated[
        Json | None,
        About(
            "Object: full size in bytes of each truncated field, by name, where it is known.",
            "tooltrace.full_sizes",
            made=True,
        ),
    ] = None
    redacted: Annotated[
        bool | None,
        About(
            "True where a secret was removed, or a field was dropped because it could not be redacted.",
            "tooltrace.redacted",
        ),
    ] = None
    flags: Annotated[
        Json | None,
        About(
            "Array of defects of the tool's result or of its ids, such as confidence_out_of_range and reused_id.",
            "tooltrace.flags",
        ),
    ] = None
    service: Annotated[str | None, About("Name of the service that recorded the call.")] = None
    release: Annotated[str | None, About("Release of that service, as its operator names it.")] = None
    environment: Annotated[str | None, About("Where that service ran, such as staging or production.")] = None
    host: Annotated[str | None, About("Name of the machine that recorded the call.")] = None
    pid: Annotated[int | None, About("Process id of the recorder.")] = None
    recorder_version: Annotated[
        str | None,
        About(
            "Version of tooltrace that recorded the call; marks a span as made by tooltrace.",
            "tooltrace.version",
            made=True,
        ),
    ] = None

    # how it was corrected
    status_recorded: Annotated[
        str | None,
        About(
            "The status as it was recorded, where a correction changed the reading; else unknown.",
            "tooltrace.status_recorded",
            made=True,
        ),
    ] = None
    reading_recorded: Annotated[
        Json | None,
        About(
            "Object: code, rule and rule_grade as they were recorded, where a correction changed the reading.",
            "tooltrace.reading_recorded",
            made=True,
        ),
    ] = None
    linked_by: Annotated[
        str | None,
        About(
            "How an attempt after the first is known to belong to its call: call_id, where the id was given again, or the "
            "retry library, stamina or tenacity.",
            "tooltrace.linked_by",
            made=True,
        ),
    ] = None
    traceback: Annotated[
        str | None,
        About(
            "Where the exception was raised: file, line and function of the innermost frames, without lines of source; "
            "redacted.",
            "tooltrace.error.traceback",
            prose=True,
        ),
    ] = None
    result_tokens: Annotated[
        int | None,
        About(
            "Tokens of the result, as counted by configure(tokens=…); unknown where nothing counted them.",
            "tooltrace.result_tokens",
        ),
    ] = None


class SavedQuery(Struct, frozen=True, kw_only=True):
    """A query that a person saved under a name. Of several with one name the latest counts."""

    name: Annotated[str, About("Name of the query.")]
    sql: Annotated[str | None, About("The SQL; unknown where the query was deleted.")] = None
    saved_by: Annotated[str, About("Who saved the query.")] = "human"
    saved_at: Annotated[datetime, About("Time when the query was saved, UTC.")]


class Loss(Struct, frozen=True, kw_only=True):
    """A count of records that were made and could not be stored, for one reason."""

    reason: Annotated[
        str,
        About(
            "Reason of the loss, such as queue_full, write_failed, torn_line, damaged_line.",
            "tooltrace.loss.reason",
            prose=True,
        ),
    ]
    count: Annotated[int, About("Number of lost records.", "tooltrace.loss.count")]
    at: Annotated[datetime, About("Time when the loss was noticed, UTC.")]
    detail: Annotated[
        str | None, About("Place of the loss, where it is known: file and byte.", "tooltrace.loss.detail", prose=True)
    ] = None
    service: Annotated[str | None, About("Name of the service that lost the records.")] = None
    host: Annotated[str | None, About("Name of the machine that lost the records.")] = None
    pid: Annotated[int | None, About("Process id of the recorder that lost the records.")] = None


class Gate(Struct, frozen=True, kw_only=True):
    """A stop of a call that waits for a person's answer, and the answer where there is one."""

    call_id: Annotated[str, About("Id of the call that was stopped.", "gen_ai.tool.call.id")]
    span_id: Annotated[str, About("Id of the attempt that was stopped.", "tooltrace.gate.span_id", made=True)]
    kind: Annotated[
        str,
        About(
            "What the call waits for: confirmation, input, external or review (of its result).",
            "tooltrace.gate.kind",
            made=True,
        ),
    ]
    decision: Annotated[
        str | None,
        About(
            "Decision: approved, declined or expired; unknown while the call waits.",
            "tooltrace.gate.decision",
            made=True,
        ),
    ] = None
    asked_at: Annotated[datetime, About("Time when the person was asked, UTC.", "tooltrace.gate.asked_at")]
    answered_at: Annotated[
        datetime | None, About("Time of the person's answer, UTC.", "tooltrace.gate.answered_at")
    ] = None
    answered_by: Annotated[
        str | None, About("Name of the person who answered.", "tooltrace.gate.answered_by", prose=True)
    ] = None
    note: Annotated[str | None, About("The person's note.", "tooltrace.gate.note", prose=True)] = None
    changed: Annotated[
        Json | None,
        About(
            "Object: new value of each argument that the person changed, by name; null values without content.",
            "tooltrace.gate.changed",
            content=True,
        ),
    ] = None
    resumed_span_id: Annotated[
        str | None,
        About("Id of the attempt that continued with the answer.", "tooltrace.gate.resumed_span_id", made=True),
    ] = None


class Message(Struct, frozen=True, kw_only=True):
    """The message that the model received for one attempt."""

    call_id: Annotated[str, About("Id of the call.", "gen_ai.tool.call.id")]
    span_id: Annotated[
        str | None,
        About(
            "Id of the attempt; unknown where the process did not record it.", "tooltrace.message.span_id", made=True
        ),
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
            "SHA-256 of the whole text after redaction, hex; equal for equal messages.",
            "tooltrace.message.sha256",
            made=True,
        ),
    ]
    length: Annotated[int, About("Number of characters of the whole text after redaction.", "tooltrace.message.length")]
    error: Annotated[bool, About("Whether the text reports an error.", "tooltrace.message.error")]
    at: Annotated[datetime, About("Time when the message was made, UTC.")]
    tokens: Annotated[
        int | None,
        About(
            "Tokens of the whole text after redaction, as counted by configure(tokens=…).",
            "tooltrace.message.tokens",
        ),
    ] = None


class Span(Struct, frozen=True, kw_only=True):
    """A span of any library that is not a tool call: the surroundings of the calls in their traces."""

    trace_id: Annotated[str, About("OpenTelemetry trace id, 32 hex digits.", made=True)]
    span_id: Annotated[str, About("OpenTelemetry span id, 16 hex digits; unique, the key of the row.", made=True)]
    parent_span_id: Annotated[str | None, About("Id of the parent span.", made=True)] = None
    name: Annotated[str, About("Name of the span.")]
    span_kind: Annotated[
        str | None, About("Kind of the span: internal, server, client, producer or consumer.", made=True)
    ] = None
    started_at: Annotated[datetime, About("Start of the span, UTC.")]
    duration_ms: Annotated[float | None, About("Duration of the span in milliseconds.")] = None
    status: Annotated[str | None, About("Status of the span: ok or error; unknown where it is unset.", made=True)] = (
        None
    )
    status_message: Annotated[str | None, About("Description of the status, redacted.", prose=True)] = None
    attributes: Annotated[Json | None, About("Object: attributes of the span, redacted and bounded.", content=True)] = (
        None
    )
    events: Annotated[Json | None, About("Array of the span's events: name, at, attributes.", content=True)] = None
    links: Annotated[
        Json | None,
        About("Array of the span's links: trace_id, span_id, attributes.", content=True),
    ] = None
    scope: Annotated[str | None, About("Name of the instrumentation that made the span.")] = None
    scope_version: Annotated[str | None, About("Version of the instrumentation.")] = None
    service: Annotated[str | None, About("Name of the service that made the span.")] = None
    host: Annotated[str | None, About("Name of the machine that made the span.")] = None
    pid: Annotated[int | None, About("Process id of the process that made the span.")] = None


Record = ToolCall | Outcome | Correction | Loss | Gate | Message | Span | SavedQuery | Begun
"""Any record."""
RECORD_TYPES: tuple[type[Record], ...] = (ToolCall, Outcome, Correction, Gate, Message, Loss, Span, SavedQuery, Begun)
"""The classes of all records."""
