"""OpenTelemetry's conventions for generative AI: the span ``execute_tool {tool}``.

Source: open-telemetry/semantic-conventions-genai, ``docs/gen-ai/execute-tool.md``. OpenTelemetry's own utilities,
pydantic-ai, agno, openai-agents, google-adk and others write such spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.ingest.spans.conventions.attributes import OTHER_KINDS, READS
from tooltrace.ingest.spans.conventions.base import SpanConvention
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import SpanData

_SPAN_NAME = f"{names.EXECUTE_TOOL} "


def _knows(_name: str, attributes: Mapping[str, Any]) -> bool:
    operation = attributes.get(names.OPERATION_NAME)
    if operation is not None:
        return bool(operation == names.EXECUTE_TOOL)
    return names.TOOL_NAME in attributes and not any(key in attributes for key in OTHER_KINDS)


def _correct(fields: dict[str, Any], form: SpanData) -> None:
    if "tool" not in fields and form.name.startswith(_SPAN_NAME):
        fields["tool"] = form.name.removeprefix(_SPAN_NAME)


CONVENTION = SpanConvention(
    "gen_ai",
    _knows,
    READS["gen_ai"],
    _correct,
)
