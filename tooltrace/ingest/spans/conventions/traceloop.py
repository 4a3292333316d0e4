"""Convention of Traceloop's OpenLLMetry: ``traceloop.span.kind`` is ``tool``.

Observed with traceloop-sdk 0.62 (decorators) and opentelemetry-instrumentation-langchain 0.62. The latter wraps
arguments and results in the parameters of LangChain's callback, also in the attributes of the GenAI conventions.
opentelemetry-instrumentation-mcp 0.62 wraps them in an object of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.ingest.call_builder import NO_RESULT
from tooltrace.ingest.spans.conventions.attributes import READS
from tooltrace.ingest.spans.conventions.base import SpanConvention, failed_with, named, text
from tooltrace.otel.span_data import SpanData

KIND = "traceloop.span.kind"


def _knows(_name: str, attributes: Mapping[str, Any]) -> bool:
    return attributes.get(KIND) == "tool"


def _correct(fields: dict[str, Any], form: SpanData) -> None:
    fields.setdefault("tool", form.name.removesuffix(".tool"))
    arguments = named(fields.get("arguments"))
    if isinstance(arguments, dict) and {"input_str", "kwargs"} <= set(arguments):
        fields["arguments"] = _langchain_input(arguments, fields)
    elif isinstance(arguments, dict) and set(arguments) == {"tool_name", "arguments"}:
        fields["arguments"] = arguments["arguments"]
    if fields.get("result", NO_RESULT) is not NO_RESULT:
        fields["result"] = _output(fields["result"])


def _langchain_input(parameters: dict[str, Any], fields: dict[str, Any]) -> Any:
    """Return the tool's arguments from the parameters of LangChain's ``on_tool_start``."""
    call_id = text(parameters["kwargs"].get("tool_call_id")) if isinstance(parameters["kwargs"], dict) else None
    if call_id is not None:
        fields.setdefault("call_id", call_id)
    inputs = parameters.get("inputs")
    return parameters["input_str"] if inputs is None else inputs


def _output(output: Any) -> Any:
    """Return the tool's result from the parameters of ``on_tool_end``, or from the MCP instrumentation's object."""
    if not isinstance(output, dict):
        return output
    if set(output) == {"output", "kwargs"}:
        return output["output"]
    if output.get("is_error") is True and set(output) <= {"result", "is_error"}:
        message = output.get("result")
        return failed_with(message)
    return output


CONVENTION = SpanConvention(
    "traceloop",
    _knows,
    READS["traceloop"],
    _correct,
)
