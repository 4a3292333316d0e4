"""OpenInference's convention, which Phoenix and Arize read: ``openinference.span.kind`` is ``TOOL``.

Source: openinference-semantic-conventions 0.1.42. Observed with the instrumentations of langchain 0.1.80, smolagents
0.1.43, llama-index 4.6.1, dspy 0.1.48, openai-agents 2.6.0 and claude-agent-sdk 0.1.22. The MIME type decides whether a value is JSON, because a bare ``"3"`` may be a text or a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.ingest.call_builder import NO_RESULT
from tooltrace.ingest.spans.conventions.attributes import JSON_TYPE, READS
from tooltrace.ingest.spans.conventions.base import SpanConvention, failed_with, structure
from tooltrace.ingest.spans.conventions.enclosing import metadata_context
from tooltrace.otel.span_data import SpanData

KIND = "openinference.span.kind"


def _knows(_name: str, attributes: Mapping[str, Any]) -> bool:
    kind = attributes.get(KIND)
    return isinstance(kind, str) and kind.upper() == "TOOL"


def _correct(fields: dict[str, Any], form: SpanData) -> None:
    attributes = form.attributes
    fields.setdefault("tool", form.name.removesuffix(".__call__"))  # dspy names the span after the method
    if "input.value" in attributes and fields.get("arguments") == attributes["input.value"]:
        fields["arguments"] = structure(
            attributes["input.value"], scalars=attributes.get("input.mime_type") == JSON_TYPE
        )
    if fields.get("result", NO_RESULT) is not NO_RESULT:
        fields["result"] = structure(
            attributes["output.value"], scalars=attributes.get("output.mime_type") == JSON_TYPE
        )
    agent, conversation = metadata_context(attributes)
    fields.setdefault("agent", agent)
    fields.setdefault("conversation_id", conversation)
    _unwrap(fields, form)


_CLAUDE = "claude_agent_sdk"
_LLAMA_INDEX = frozenset({"blocks", "tool_name", "raw_input", "raw_output", "is_error"})
"""Members of a ToolOutput of llama-index."""


def _unwrap(fields: dict[str, Any], form: SpanData) -> None:
    """Remove the wrappers that instrumentations leave around arguments and results."""
    arguments, result = structure(fields.get("arguments")), fields.get("result")
    if isinstance(arguments, dict) and len(arguments) == 1:
        ((name, value),) = arguments.items()
        if name == "args" and isinstance(value, dict) and _CLAUDE in (form.scope or ""):
            fields["arguments"] = value  # the one parameter of a tool of the SDK
    elif isinstance(arguments, str) and (only := _only_parameter(form)) is not None:
        fields["arguments"] = {only: arguments}  # LangChain writes the value of a single text argument alone
    if isinstance(result, dict) and result.keys() == _LLAMA_INDEX:
        blocks = result["blocks"] if isinstance(result["blocks"], list) else []
        text = "\n".join(str(block["text"]) for block in blocks if isinstance(block, dict) and "text" in block)
        fields["result"] = failed_with(text) if result["is_error"] else result["raw_output"]


def _only_parameter(form: SpanData) -> str | None:
    """Return the name of the tool's parameter, if the span describes exactly one."""
    schema = structure(form.attributes.get("tool.parameters"))
    properties = schema.get("properties", schema) if isinstance(schema, dict) else None
    return next(iter(properties)) if isinstance(properties, dict) and len(properties) == 1 else None


CONVENTION = SpanConvention(
    "openinference",
    _knows,
    READS["openinference"],
    _correct,
    texts=frozenset({"input.value", "output.value"}),
)
