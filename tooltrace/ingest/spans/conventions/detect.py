"""Detection and parsing of tool calls in spans, by all known conventions.

Each convention has a module; their attributes are in :mod:`tooltrace.ingest.spans.conventions.attributes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.ingest.spans.conventions import (
    ai_sdk,
    langfuse,
    logfire,
    mcp,
    openinference,
    pydantic_ai,
    semconv_genai,
    traceloop,
)
from tooltrace.ingest.spans.conventions.attributes import (
    AI_OPERATION,
    CONSUMED,
    DEFERRED,
    LOGFIRE_KEYS,
    NOT_SPECIFIED,
    TEMPLATE,
)
from tooltrace.ingest.spans.conventions.base import TEXTS, SpanConvention, SpanToolCall, named, structure, text
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import SpanData

__all__ = ["CONVENTIONS", "ENCLOSING", "MARKS", "consumed", "is_tool_span", "parse_tool_call"]

CONVENTIONS: tuple[SpanConvention, ...] = (
    traceloop.CONVENTION,
    semconv_genai.CONVENTION,
    pydantic_ai.CONVENTION,
    mcp.CONVENTION,
    openinference.CONVENTION,
    langfuse.CONVENTION,
    ai_sdk.CONVENTION,
    logfire.CONVENTION,
)
"""All conventions, in order of precedence: a span may follow several.

Traceloop comes before OpenTelemetry's GenAI conventions, because it fills their attributes with wrapped values, which
only its module can unwrap.
"""

ENCLOSING = (names.OPERATION_NAME, openinference.KIND, traceloop.KIND, langfuse.KIND, AI_OPERATION)
"""Attributes of spans that do work of their own (a model call, an agent) and are not merely transport to a tool."""

MARKS = frozenset(ENCLOSING) | {
    *(
        names.TOOL_NAME,
        "mcp.method.name",
        "rpc.method",
        "tool_arguments",
        "tool_response",
        DEFERRED,
        TEMPLATE,
    )
}
"""Every tool call has one of these attributes, whatever its convention."""


def is_tool_span(name: str, attributes: Mapping[str, Any]) -> bool:
    """Whether a span with this name and these attributes is a tool call by any convention."""
    if MARKS.isdisjoint(attributes):
        return False
    return not pydantic_ai.is_pending(attributes) and any(
        convention.knows(name, attributes) for convention in CONVENTIONS
    )


def consumed(call: SpanToolCall) -> frozenset[str]:
    """Return the attributes of the call's span that a field of the record covers."""
    return CONSUMED | LOGFIRE_KEYS if logfire.CONVENTION.name in call.conventions else CONSUMED


def parse_tool_call(form: SpanData) -> SpanToolCall | None:
    """Return the tool call that ``form`` shows; None if it shows none."""
    if pydantic_ai.is_pending(form.attributes):
        return None
    found = [convention for convention in CONVENTIONS if convention.knows(form.name, form.attributes)]
    if not found:
        return None
    fields: dict[str, Any] = {}
    for convention in found:
        # The fields found before win: the conventions are in order of precedence.
        fields = {**_read(convention, form), **fields}
    fields["arguments"] = named(fields.get("arguments"))
    return SpanToolCall(form=form, conventions=tuple(convention.name for convention in found), **fields)


def _read(convention: SpanConvention, form: SpanData) -> dict[str, Any]:
    """Return the fields of ``SpanToolCall`` that ``convention`` finds in ``form``."""
    fields: dict[str, Any] = {}
    for field, keys in convention.reads.items():
        for key in keys:
            value = form.attributes.get(key)
            if value is None or (field == "call_id" and value == NOT_SPECIFIED):
                continue
            # Only results are parsed here; arguments are unwrapped and parsed below, after the convention's
            # corrections.
            fields[field] = value if key in convention.texts else structure(value) if field == "result" else value
            break
    convention.correct(fields, form)
    for field in (*TEXTS, "error_type", "error_message"):
        if field in fields:
            fields[field] = text(fields[field]) if field != "error_message" else str(fields[field])
    return {name: value for name, value in fields.items() if value is not None or (name == "result")}
