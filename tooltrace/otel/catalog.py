"""The catalog of attributes: the signal, level, type, meaning and source of each name that is sent.

The attributes of record fields come from :mod:`tooltrace.core.records`; the levels and sources of the conventions are
defined here. ``docs/reference/telemetry.md`` is generated from this table, and tests compare the table with the attributes
actually sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final, Literal, NamedTuple

from tooltrace.core.fields import TYPES, AttributeKind, Field, fields_of
from tooltrace.core.records import Correction, Gate, Loss, Message, Outcome, Record, ToolCall
from tooltrace.otel import attributes as names

Level = Literal["required", "conditionally required", "recommended", "opt-in", "custom"]
"""Requirement level in the terms of the conventions; ``custom`` marks attributes that they do not define."""
Signal = Literal["span", "metric", "exception", "evaluation", "correction", "gate", "message", "loss", "resource"]

EXECUTE_TOOL: Final = (
    "https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/execute-tool.md"
)
EVENTS: Final = "https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-events.md"
RESOURCE: Final = "https://opentelemetry.io/docs/specs/semconv/resource/"
TOOLTRACE: Final = "tooltrace"
SOURCES: Final = {"execute_tool": EXECUTE_TOOL, "evaluation": EVENTS, "resource": RESOURCE}
"""Map from the short name of a source to its URL."""


class Attribute(NamedTuple):
    """One attribute on one signal."""

    name: str
    signal: Signal
    level: Level
    kind: AttributeKind
    meaning: str
    source: str = TOOLTRACE


def _conventions() -> tuple[Attribute, ...]:
    tool, judged, origin = "execute_tool", "evaluation", "resource"
    about = {field.name: field.about.meaning for field in fields_of(ToolCall)}
    return (
        Attribute(names.OPERATION_NAME, "span", "required", "text", "Always `execute_tool`.", tool),
        Attribute(names.TOOL_NAME, "span", "required", "text", about["tool"], tool),
        Attribute(names.ERROR_TYPE, "span", "conditionally required", "text", _ERROR_TYPE, tool),
        Attribute(names.AGENT_NAME, "span", "conditionally required", "text", _AGENT, tool),
        Attribute(names.CONVERSATION_ID, "span", "conditionally required", "text", _CONVERSATION, tool),
        Attribute(
            names.TOOL_CALL_ID, "span", "recommended", "text", "The model's id of the call, if there is one.", tool
        ),
        Attribute(names.TOOL_DESCRIPTION, "span", "recommended", "text", about["tool_description"], tool),
        Attribute(names.TOOL_TYPE, "span", "recommended", "text", about["tool_type"], tool),
        Attribute(names.TOOL_CALL_ARGUMENTS, "span", "opt-in", "JSON text", about["arguments"], tool),
        Attribute(names.TOOL_CALL_RESULT, "span", "opt-in", "JSON text", about["result"], tool),
        Attribute(
            names.RESULT_IS_TEXT, "span", "custom", "boolean", "The result is the text of an answer without data."
        ),
        Attribute(names.OPERATION_NAME, "metric", "custom", "text", "Always `execute_tool`."),
        Attribute(names.TOOL_NAME, "metric", "required", "text", about["tool"], tool),
        Attribute(names.ERROR_TYPE, "metric", "conditionally required", "text", "The same as on the span.", tool),
        Attribute(names.TOOL_TYPE, "metric", "recommended", "text", "The same as on the span.", tool),
        Attribute(names.AGENT_NAME, "metric", "recommended", "text", "The same as on the span.", tool),
        Attribute(names.EXCEPTION_TYPE, "exception", "conditionally required", "text", _CLASS, tool),
        Attribute(
            names.EXCEPTION_MESSAGE, "exception", "recommended", "text", "The exception's message, redacted.", tool
        ),
        Attribute(
            names.EXCEPTION_STACKTRACE,
            "exception",
            "recommended",
            "text",
            "Files, lines and functions, without lines of source; redacted.",
            tool,
        ),
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
        Attribute(
            names.EVALUATION_EXPLANATION, "evaluation", "recommended", "text", "Reason for the label, redacted.", judged
        ),
        Attribute(names.SERVICE_NAME, "resource", "required", "text", "`service`, see `configure`.", origin),
        Attribute(names.SERVICE_VERSION, "resource", "recommended", "text", "`release`, see `configure`.", origin),
        Attribute(names.ENVIRONMENT_NAME, "resource", "recommended", "text", "`environment`, see `configure`.", origin),
        Attribute(names.HOST_NAME, "resource", "recommended", "text", "Host of the process that recorded it.", origin),
        Attribute(names.PROCESS_PID, "resource", "recommended", "integer", "The process that recorded it.", origin),
    )


_ERROR_TYPE: Final = "On failure only: the error's class, else its code, else `_OTHER`."
_AGENT: Final = "From `tt.context`, the framework, or W3C baggage; set at the start of the span, for samplers."
_CONVERSATION: Final = "From `tt.context`, the framework, or W3C baggage; never generated."
_CLASS: Final = "The exception's class, with its module unless it is a builtin."
_SCORE: Final = "Correctness from 0 to 1; without a score of the labeler, 1 for correct and 0 for incorrect."
_LABEL: Final = "`correct` or `incorrect`; without a label of the labeler, `correct` for a score of 0.5 or more."

_LABELS: Final[dict[str, tuple[AttributeKind, str]]] = {
    names.REPORTED: ("texts", "`correct`, `score`: the values that the labeler passed."),
}
_AT: Final[tuple[AttributeKind, str]] = ("text", "Time of the event, ISO 8601, if the timestamp cannot represent it.")
_LATE: Final[tuple[Signal, ...]] = ("evaluation", "correction", "message", "loss")
_RECORDS: Final[dict[Signal, type[Record]]] = {
    "span": ToolCall,
    "evaluation": Outcome,
    "correction": Correction,
    "gate": Gate,
    "message": Message,
    "loss": Loss,
}
"""Map from each signal that carries the fields of a record to the record's class."""


def _meaning(field: Field) -> str:
    meaning = field.about.meaning
    return f"{meaning.removesuffix('.')}, ISO 8601." if field.type is datetime else meaning


def _custom() -> Iterator[Attribute]:
    defined = {(attribute.signal, attribute.name) for attribute in _conventions()}
    for signal, record in _RECORDS.items():
        for field in fields_of(record):
            name = field.about.attribute
            if name is not None and (signal, name) not in defined:
                yield Attribute(name, signal, "custom", TYPES[field.type].attribute, _meaning(field))
    for name, (kind, meaning) in _LABELS.items():
        yield Attribute(name, "evaluation", "custom", kind, meaning)
    for late in _LATE:
        yield Attribute(names.AT, late, "custom", *_AT)


ATTRIBUTES: Final = (*_conventions(), *_custom())
"""All attributes that tooltrace itself sends. Attributes that a tool sets on its span are added under their own names.
"""


def of(signal: Signal) -> dict[str, Attribute]:
    """Return the attributes of ``signal``, by name."""
    return {attribute.name: attribute for attribute in ATTRIBUTES if attribute.signal == signal}
