"""OpenTelemetry's conventions for generative AI: the span ``execute_tool {tool}``.

Source: open-telemetry/semantic-conventions-genai, ``docs/gen-ai/execute-tool.md``. OpenTelemetry's own utilities,
pydantic-ai, agno, google-adk, the Vercel AI SDK 7 and others write such spans. strands-agents 1.62 has arguments and
result in events unless its newer conventions are switched on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.ingest.spans.conventions.attributes import MERGED_TOOLS, NOT_SPECIFIED, OTHER_KINDS, READS
from tooltrace.ingest.spans.conventions.base import SpanConvention, failed_with, structure
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import SpanData

_SPAN_NAME = f"{names.EXECUTE_TOOL} "


def _knows(_name: str, attributes: Mapping[str, Any]) -> bool:
    operation = attributes.get(names.OPERATION_NAME)
    if operation is not None:
        return bool(operation == names.EXECUTE_TOOL and attributes.get(names.TOOL_NAME) != MERGED_TOOLS)
    # Some libraries leave out the operation; then a tool's name is enough, unless another convention states the kind.
    return names.TOOL_NAME in attributes and not any(key in attributes for key in OTHER_KINDS)


def _correct(fields: dict[str, Any], form: SpanData) -> None:
    if "tool" not in fields and form.name.startswith(_SPAN_NAME):
        fields["tool"] = form.name.removeprefix(_SPAN_NAME)
    if _TOOL_STATUS in form.attributes:
        _read_strands(fields, form)
    elif _ADK_ARGUMENTS in form.attributes:
        _read_adk(fields)


_TOOL_STATUS = "gen_ai.tool.status"
"""Attribute of strands-agents: ``success`` or ``error``."""
CONTENT_EVENTS = frozenset({"gen_ai.tool.message", "gen_ai.choice", "gen_ai.client.inference.operation.details"})
"""Events of a tool span that carry its arguments and its result."""
_ADK_ARGUMENTS = "gcp.vertex.agent.tool_call_args"


def _read_strands(fields: dict[str, Any], form: SpanData) -> None:
    """Read arguments and result from the events, and the result's content blocks."""
    events = {event.name: event.attributes for event in form.events}
    fields.setdefault("arguments", events.get("gen_ai.tool.message", {}).get("content"))
    result = structure(fields.get("result") or events.get("gen_ai.choice", {}).get("message"))
    if isinstance(result, list) and all(isinstance(block, dict) for block in result):
        data = [block["json"] for block in result if "json" in block]
        text = "\n".join(str(block["text"]) for block in result if "text" in block)
        failed = form.attributes[_TOOL_STATUS] == "error"
        result = (
            failed_with(text)
            if failed
            else data[0]
            if len(result) == len(data) == 1
            else structure(text, scalars=False)
        )
    if result is not None and "exception" not in events:  # after an exception, the result only repeats its message
        fields["result"] = result


def _read_adk(fields: dict[str, Any]) -> None:
    """Drop arguments and result that are only placeholders: both are ``{}`` where content is not captured."""
    arguments, result = structure(fields.get("arguments")), fields.get("result")
    if arguments == {} and result == {}:
        del fields["arguments"], fields["result"]
    elif result == {"result": NOT_SPECIFIED}:
        del fields["result"]


CONVENTION = SpanConvention(
    "gen_ai",
    _knows,
    READS["gen_ai"],
    _correct,
)
