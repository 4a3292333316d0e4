"""Arguments and results as content: which attributes carry it, and whether it may leave the process.

``configure(capture=…)`` defines what is recorded at all. The variable of the GenAI conventions,
``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT``, defines what part of the record may be sent as telemetry; it
only restricts and never adds, and the local store does not count as telemetry. Content is sent only if both allow it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any, Final

import orjson

from tooltrace.core.fields import content_of
from tooltrace.core.records import ToolCall
from tooltrace.faults import faults
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import EventData, LogData, SpanData
from tooltrace.redact.plain_data import json_of

VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class Content(Enum):
    """Signals that may carry content, in the values of the variable."""

    NO_CONTENT = "NO_CONTENT"
    SPAN_ONLY = "SPAN_ONLY"
    EVENT_ONLY = "EVENT_ONLY"
    SPAN_AND_EVENT = "SPAN_AND_EVENT"

    @property
    def on_spans(self) -> bool:
        """Whether spans may carry content."""
        return self in (Content.SPAN_ONLY, Content.SPAN_AND_EVENT)

    @property
    def on_events(self) -> bool:
        """Whether log events may carry content."""
        return self in (Content.EVENT_ONLY, Content.SPAN_AND_EVENT)


_OLD_WORDS: Final = {"TRUE": Content.SPAN_AND_EVENT, "FALSE": Content.NO_CONTENT}
"""Values that the variable accepted before it had modes."""


def current_policy() -> Content:
    """Return the policy that the variable sets.

    Unset: all recorded content is sent. Unknown value: no content is sent.
    """
    # Read for each span: a program may set the variable after the import.
    word = os.environ.get(VARIABLE, "").strip().upper()
    if not word:
        return Content.SPAN_AND_EVENT
    if word in _OLD_WORDS:
        return _OLD_WORDS[word]
    try:
        return Content[word]
    except KeyError:
        known = ", ".join(("true", "false", *Content.__members__))
        message = f"tooltrace sends no content: {VARIABLE} must be one of {known}, got {word[:40]!r}"
        faults.warn_once("content", message, counted=False)
        return Content.NO_CONTENT


CONTENT_KEYS: Final = frozenset(names.FIELDS[field] for field in content_of(ToolCall)) | {names.RESULT_IS_TEXT}
"""Our attributes that carry content: the fields that ``capture="metadata"`` leaves out."""

_EXTERNAL_CONTENT: Final = (
    r"gen_ai\.(input\.messages|output\.messages|system_instructions|tool\.definitions|tool\.call\.(arguments|result)"
    r"|memory\.(records|query\.text)|retrieval\.(documents|query\.text)|prompt|completion)(\.|$)"
    r"|(input|output)\.(value|mime_type)$|llm\.(input_messages|output_messages|prompts|invocation_parameters)(\.|$)"
    r"|llm\.(function_call|prompt_template)(\.|$)|tool\.parameters$|mcp\.(request\.argument|response\.value|resource\.uri)$"
    r"|reranker\.(query|input_documents|output_documents)(\.|$)|embedding\.(text|embeddings)(\.|$)"
    r"|gen_ai\.event\.content$|retrieval\.documents(\.|$)|traceloop\.entity\.(input|output)$|langfuse\.(observation|trace)\.(input|output)$"
    r"|ai\.(prompt|schema|result|toolCall\.(args|result)|response\.(text|object|reasoning|toolCalls|files))(\.|$)"
    r"|gcp\.vertex\.agent\.(tool_call_args|tool_response|llm_request|llm_response|data)$"
    r"|(input|output|tool_arguments|tool_response|all_messages_events|pydantic_ai\.all_messages|logfire\.msg)$"
)
"""Pattern for content attributes of other instrumentations; compiled on first use."""


_BARE: Final = frozenset({"content", "body", "message", "messages", "tool_calls", "arguments", "prompt", "completion"})
"""Attributes that carry content in events named ``gen_ai.…``."""

EVENTS: Final = "otel.events"
"""Attribute of a call read from another library's span: the events of that span."""


def strip_content(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span's attributes without content.

    The error message of a failure does not count as content; the reason of a partial result does.
    """
    remaining = {
        key: value
        for key, value in attributes.items()
        if key not in CONTENT_KEYS and not re.match(_EXTERNAL_CONTENT, key)
    }
    if isinstance(events := remaining.get(EVENTS), list | tuple):
        remaining[EVENTS] = [_event(event) for event in events if isinstance(event, Mapping)]
    # For a partial result this field holds the reason, which the tool takes from its answer.
    if remaining.get(names.FIELDS["status"]) == "partial":
        remaining.pop(names.FIELDS["error_message"], None)
    return remaining


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span's event, as stored in the attributes of a call, without content."""
    values = event.get("attributes")
    return {**event, "attributes": _of_event(str(event.get("name")), values) if isinstance(values, Mapping) else {}}


def _of_event(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event's attributes without content.

    Older events of the conventions have content keys without a prefix.
    """
    remaining = strip_content(attributes)
    return (
        {key: value for key, value in remaining.items() if key not in _BARE}
        if name.startswith("gen_ai.")
        else remaining
    )


def without_content(form: SpanData) -> SpanData:
    """Return the span without content, for export when spans may carry none."""
    events = tuple(
        EventData(name=event.name, time_ns=event.time_ns, attributes=_of_event(event.name, event.attributes))
        for event in form.events
    )
    return replace(form, attributes=strip_content(form.attributes), events=events)


def without_log_content(form: LogData) -> LogData:
    """Return the log event without content, for export when events may carry none.

    The names of arguments that a person changed are kept; their values are not.
    """
    remaining = strip_content(form.attributes)
    remaining.pop(names.MESSAGE_FIELDS["text"], None)
    changed = remaining.get(names.GATE_FIELDS["changed"])
    if isinstance(changed, str):
        remaining[names.GATE_FIELDS["changed"]] = json_of(dict.fromkeys(orjson.loads(changed))).decode()
    return replace(form, body=None, attributes=remaining)


def apply_policy(form: SpanData) -> SpanData:
    """Return ``form``, without content if the variable forbids content on spans."""
    return form if current_policy().on_spans else without_content(form)


def outgoing_log(form: LogData) -> LogData:
    """Return ``form``, without content if the variable forbids content on log events."""
    return form if current_policy().on_events else without_log_content(form)
