"""Every name that goes out: on which signal, how needed, of what type, what it means and who defines it.

``docs/telemetry.md`` is made of this table, and what is really sent is held against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from tooltrace.otel import attributes as names

Level = Literal["required", "conditionally required", "recommended", "opt-in", "custom"]
"""As the conventions say it; ``custom`` is what they do not define."""
Kind = Literal["text", "number", "integer", "boolean", "JSON text", "texts"]
Signal = Literal["span", "metric", "exception", "evaluation", "gate", "message", "loss", "resource"]

EXECUTE_TOOL: Final = (
    "https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/execute-tool.md"
)
EVENTS: Final = "https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-events.md"
RESOURCE: Final = "https://opentelemetry.io/docs/specs/semconv/resource/"
OURS: Final = "tooltrace"
SOURCES: Final = {"execute_tool": EXECUTE_TOOL, "evaluation": EVENTS, "resource": RESOURCE}
"""Short name of a source to its place."""


class Attribute(NamedTuple):
    """One attribute on one signal."""

    name: str
    signal: Signal
    level: Level
    kind: Kind
    meaning: str
    source: str = OURS


def _conventions() -> tuple[Attribute, ...]:
    tool, judged, origin = "execute_tool", "evaluation", "resource"
    return (
        Attribute(names.OPERATION_NAME, "span", "required", "text", "Always `execute_tool`.", tool),
        Attribute(names.TOOL_NAME, "span", "required", "text", "The tool's name.", tool),
        Attribute(names.ERROR_TYPE, "span", "conditionally required", "text", _ERROR_TYPE, tool),
        Attribute(names.AGENT_NAME, "span", "conditionally required", "text", _AGENT, tool),
        Attribute(names.CONVERSATION_ID, "span", "conditionally required", "text", _CONVERSATION, tool),
        Attribute(names.TOOL_CALL_ID, "span", "recommended", "text", "The model's id, where there is one.", tool),
        Attribute(names.TOOL_DESCRIPTION, "span", "recommended", "text", "What the tool is for.", tool),
        Attribute(names.TOOL_TYPE, "span", "recommended", "text", "`function`, `extension` or `datastore`.", tool),
        Attribute(names.TOOL_CALL_ARGUMENTS, "span", "opt-in", "JSON text", "What the tool was given.", tool),
        Attribute(names.TOOL_CALL_RESULT, "span", "opt-in", "JSON text", "What it gave.", tool),
        Attribute(
            names.RESULT_IS_TEXT, "span", "custom", "boolean", "The result is the text of an answer without data."
        ),
        Attribute(names.OPERATION_NAME, "metric", "custom", "text", "Always `execute_tool`."),
        Attribute(names.TOOL_NAME, "metric", "required", "text", "The tool's name.", tool),
        Attribute(names.ERROR_TYPE, "metric", "conditionally required", "text", "The same as on the span.", tool),
        Attribute(names.TOOL_TYPE, "metric", "recommended", "text", "The same as on the span.", tool),
        Attribute(names.AGENT_NAME, "metric", "recommended", "text", "The same as on the span.", tool),
        Attribute(names.EXCEPTION_TYPE, "exception", "conditionally required", "text", _CLASS, tool),
        Attribute(names.EXCEPTION_MESSAGE, "exception", "recommended", "text", "What it says, redacted.", tool),
        *(
            Attribute(name, "exception", "custom", "text", "The same as on the span.")
            for name in (
                *(names.OPERATION_NAME, names.TOOL_NAME, names.TOOL_TYPE, names.TOOL_CALL_ID),
                *(names.AGENT_NAME, names.CONVERSATION_ID, names.ERROR_TYPE),
            )
        ),
        Attribute(names.FIELDS["attempt"], "exception", "custom", "integer", "The same as on the span."),
        Attribute(names.EVALUATION_NAME, "evaluation", "required", "text", "Always `correctness`.", judged),
        Attribute(names.EVALUATION_SCORE_VALUE, "evaluation", "conditionally required", "number", _SCORE, judged),
        Attribute(names.EVALUATION_SCORE_LABEL, "evaluation", "conditionally required", "text", _LABEL, judged),
        Attribute(names.EVALUATION_EXPLANATION, "evaluation", "recommended", "text", "Why, redacted.", judged),
        Attribute(names.TOOL_CALL_ID, "evaluation", "custom", "text", "The call that is judged, where it is named."),
        Attribute(names.SERVICE_NAME, "resource", "required", "text", "`service_name`, see `configure`.", origin),
        Attribute(names.HOST_NAME, "resource", "recommended", "text", "Where it was recorded.", origin),
        Attribute(names.PROCESS_PID, "resource", "recommended", "integer", "The process that recorded it.", origin),
    )


_ERROR_TYPE: Final = "Where the attempt failed: the error's class, else its code, else `_OTHER`."
_AGENT: Final = "From `tt.context`, the framework, or W3C baggage; at the start of the span, for samplers."
_CONVERSATION: Final = "From `tt.context`, the framework, or W3C baggage; never made up."
_CLASS: Final = "The exception's class, with its module unless it is a builtin."
_SCORE: Final = "How right, 0 to 1; where none was said, 1 for right and 0 for wrong."
_LABEL: Final = "`correct` or `incorrect`; where it was not said, `correct` from 0.5 on."

_SPAN: Final[dict[str, tuple[Kind, str]]] = {
    "tool_version": ("text", "The tool's version."),
    "attempt": ("integer", "1 for the first execution of the call, 2 for the first retry."),
    "duration_ms": ("number", "Time in the tool, by the monotonic clock, without what a stream's consumer took."),
    "first_item_ms": ("number", "Streams: from the start to the first item."),
    "consumer_ms": ("number", "Streams: how long the consumer held it."),
    "status": ("text", "What the tool reported: `success`, `partial` or `error`."),
    "ending": (
        "text",
        "How it ended: `returned`, `raised`, `cancelled`, `abandoned`, `paused`, `declined`, `expired`.",
    ),
    "code": ("text", "The error's code."),
    "error_type": ("text", "The error's class, or the type that a response names."),
    "error_message": ("text", "What the error says; of a partial answer, why it is partial."),
    "retryable": ("boolean", "Whether the same call may succeed later."),
    "suggestion": ("text", "What the model may do about it."),
    "user_message": ("text", "What a user may be told."),
    "confidence": ("number", "How sure the tool is, 0 to 1."),
    "signals": ("JSON text", "Name and value of each signal that made the confidence."),
    "next_action": ("text", "What the tool advises."),
    "cached": ("boolean", "Whether the answer came from a cache."),
    "explanation": ("text", "How the tool came to its answer."),
    "sources": ("JSON text", "Where the result came from."),
    "text": ("text", "The answer in words."),
    "seen_text": ("text", "What the model was given."),
    "stats": ("JSON text", "Figures that the tool gave of itself."),
    "context": ("JSON text", "What else the answer carried."),
    "rule": ("text", "The rule that read the result."),
    "rule_grade": ("text", "`certain` or `heuristic`."),
    "truncated": ("boolean", "Whether a field was cut."),
    "full_sizes": ("JSON text", "True size in bytes of each field that was cut, where that is known."),
    "redacted": ("boolean", "Whether a secret was taken out."),
    "flags": ("JSON text", "What was wrong with what the tool gave."),
    "recorder_version": ("text", "The version of tooltrace; tells that the span is ours."),
}
"""Field of a ``ToolCall``: type and meaning of the attribute, where no convention defines it."""

_EVENTS: Final[dict[Signal, dict[str, tuple[Kind, str]]]] = {
    "gate": {
        "call_id": ("text", "The model's id, where there is one."),
        "span_id": ("text", "The attempt that waits."),
        "kind": ("text", "`confirmation`, `input` or `external`."),
        "decision": ("text", "`approved`, `declined` or `expired`; none while it waits."),
        "asked_at": ("text", "When it was asked, ISO 8601."),
        "answered_at": ("text", "When it was answered, ISO 8601."),
        "answered_by": ("text", "Who answered."),
        "note": ("text", "What they said."),
        "changed": ("JSON text", "Argument to its new value; without content, to null."),
        "resumed_span_id": ("text", "The attempt that went on."),
    },
    "message": {
        "call_id": ("text", "The model's id, where there is one."),
        "span_id": ("text", "The attempt, where it is known."),
        "style": ("text", "The form of the message."),
        "text": ("text", "What the model was given; not without content."),
        "sha256": ("text", "Of the whole text, hex."),
        "length": ("integer", "Characters of the whole text."),
        "error": ("boolean", "Whether it tells of an error."),
    },
    "loss": {
        "reason": ("text", "Why records could not be kept."),
        "count": ("integer", "How many."),
        "detail": ("text", "What more is known."),
    },
}
_FIELDS: Final[dict[Signal, dict[str, str]]] = {
    "gate": names.GATE_FIELDS,
    "message": names.MESSAGE_FIELDS,
    "loss": names.LOSS_FIELDS,
}
_LABELS: Final[dict[str, tuple[Kind, str]]] = {
    names.JUDGED_SPAN_ID: ("text", "The attempt that is judged, where it is named."),
    names.LABELER: ("text", "Who judged."),
    names.SAID: ("texts", "`correct`, `score`: which of the two was said."),
}
_AT: Final[tuple[Kind, str]] = ("text", "When it was, ISO 8601, where the timestamp cannot say it.")
_LATE: Final[tuple[Signal, ...]] = ("evaluation", "message", "loss")


def _custom() -> Iterator[Attribute]:
    for field, (kind, meaning) in _SPAN.items():
        yield Attribute(names.FIELDS[field], "span", "custom", kind, meaning)
    for name, (kind, meaning) in _LABELS.items():
        yield Attribute(name, "evaluation", "custom", kind, meaning)
    for signal, fields in _EVENTS.items():
        for field, (kind, meaning) in fields.items():
            yield Attribute(_FIELDS[signal][field], signal, "custom", kind, meaning)
    for late in _LATE:
        yield Attribute(names.AT, late, "custom", *_AT)


ATTRIBUTES: Final = (*_conventions(), *_custom())
"""What tooltrace itself sends; what a tool sets on its span comes beside it, under the names that it gave."""


def of(signal: Signal) -> dict[str, Attribute]:
    """The attributes of ``signal``, by name."""
    return {attribute.name: attribute for attribute in ATTRIBUTES if attribute.signal == signal}
