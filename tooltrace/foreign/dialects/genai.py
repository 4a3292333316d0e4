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
from tooltrace.otel.tool_spans import OTHER_KINDS, READS

_SPAN_NAME = f"{names.EXECUTE_TOOL} "


def _knows(_name: str, attributes: Mapping[str, Any]) -> bool:
    operation = attributes.get(names.OPERATION_NAME)
    if operation is not None:
        return bool(operation == names.EXECUTE_TOOL)
    return names.TOOL_NAME in attributes and not any(key in attributes for key in OTHER_KINDS)


def _correct(fields: dict[str, Any], form: SpanForm) -> None:
    if "tool" not in fields and form.name.startswith(_SPAN_NAME):
        fields["tool"] = form.name.removeprefix(_SPAN_NAME)


DIALECT = Dialect(
    "gen_ai",
    _knows,
    READS["gen_ai"],
    _correct,
)
