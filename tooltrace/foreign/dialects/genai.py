"""OpenTelemetry's conventions for generative AI: the span ``execute_tool {tool}``.

Source: open-telemetry/semantic-conventions-genai, ``docs/gen-ai/execute-tool.md``. Written by the conventions' own
utilities, by pydantic-ai, agno, openai-agents, google-adk and others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.foreign.sighting import Dialect
from tooltrace.otel import attributes as names
from tooltrace.otel.form import SpanForm

_SPAN_NAME = f"{names.EXECUTE_TOOL} "
_OTHER_KINDS = ("openinference.span.kind", "traceloop.span.kind", "langfuse.observation.type", "mcp.method.name")
"""Where one of these says what the span is, a tool's name alone does not."""


def _knows(_name: str, attributes: Mapping[str, Any]) -> bool:
    operation = attributes.get(names.OPERATION_NAME)
    if operation is not None:
        return bool(operation == names.EXECUTE_TOOL)
    return names.TOOL_NAME in attributes and not any(key in attributes for key in _OTHER_KINDS)


def _correct(fields: dict[str, Any], form: SpanForm) -> None:
    if "tool" not in fields and form.name.startswith(_SPAN_NAME):
        fields["tool"] = form.name.removeprefix(_SPAN_NAME)


DIALECT = Dialect(
    "gen_ai",
    _knows,
    {
        "tool": (names.TOOL_NAME,),
        "tool_type": (names.TOOL_TYPE,),
        "tool_description": (names.TOOL_DESCRIPTION,),
        "call_id": (names.TOOL_CALL_ID,),
        "conversation_id": (names.CONVERSATION_ID,),
        "agent": (names.AGENT_NAME,),
        "arguments": (names.TOOL_CALL_ARGUMENTS,),
        "result": (names.TOOL_CALL_RESULT,),
        "error_type": (names.ERROR_TYPE,),
    },
    _correct,
)
