"""Traceloop's OpenLLMetry: ``traceloop.span.kind`` is ``tool``.

Seen from traceloop-sdk 0.62 (decorators) and opentelemetry-instrumentation-langchain 0.62, which wraps what went in and
what came out in the parameters of LangChain's callback, under the conventions' own names too;
opentelemetry-instrumentation-mcp 0.62 wraps them in an object of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.ingest.call_builder import NO_RESULT
from tooltrace.ingest.spans.conventions.attributes import READS
from tooltrace.ingest.spans.conventions.base import SpanConvention, named, text
from tooltrace.otel.span_data import SpanData

KIND = "traceloop.span.kind"


def _knows(_name: str, attributes: Mapping[str, Any]) -> bool:
    return attributes.get(KIND) == "tool"


def _correct(fields: dict[str, Any], form: SpanData) -> None:
    fields.setdefault("tool", form.name.removesuffix(".tool"))
    given = named(fields.get("arguments"))
    if isinstance(given, dict) and {"input_str", "kwargs"} <= set(given):
        fields["arguments"] = _langchain_input(given, fields)
    elif isinstance(given, dict) and set(given) == {"tool_name", "arguments"}:
        fields["arguments"] = given["arguments"]
    if fields.get("result", NO_RESULT) is not NO_RESULT:
        fields["result"] = _output(fields["result"])


def _langchain_input(given: dict[str, Any], fields: dict[str, Any]) -> Any:
    """The tool's own arguments, of the parameters of ``on_tool_start``."""
    call_id = text(given["kwargs"].get("tool_call_id")) if isinstance(given["kwargs"], dict) else None
    if call_id is not None:
        fields.setdefault("call_id", call_id)
    inputs = given.get("inputs")
    return given["input_str"] if inputs is None else inputs


def _output(given: Any) -> Any:
    """The tool's own result, of the parameters of ``on_tool_end``, or of what the instrumentation of MCP makes of one."""
    if not isinstance(given, dict):
        return given
    if set(given) == {"output", "kwargs"}:
        return given["output"]
    if given.get("is_error") is True and set(given) <= {"result", "is_error"}:
        said = given.get("result")
        return {"content": [{"type": "text", "text": said}] if isinstance(said, str) else [], "isError": True}
    return given


CONVENTION = SpanConvention(
    "traceloop",
    _knows,
    READS["traceloop"],
    _correct,
)
