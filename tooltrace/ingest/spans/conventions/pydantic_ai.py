"""Attributes that pydantic-ai and Logfire write in addition to, or wrote before, those of the GenAI conventions.

Observed with pydantic-ai 2.68 and ``InstrumentationSettings(version=2)`` (``tool_arguments``, ``tool_response``, the
span ``running tool``) and ``version=5``. ``pydantic_ai.tool.retry.*`` mean that the model is asked to retry in a new
call; they are stored among the call's attributes. Logfire's ``pending_span`` announces a span that has not ended, and
is not a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.ingest.spans.conventions.attributes import DEFERRED, READS
from tooltrace.ingest.spans.conventions.base import SpanConvention
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import SpanData


def is_pending(attributes: Mapping[str, Any]) -> bool:
    """Whether the span only announces another span that has not ended."""
    return attributes.get("logfire.span_type") == "pending_span"


def _knows(name: str, attributes: Mapping[str, Any]) -> bool:
    if "tool_arguments" in attributes or "tool_response" in attributes:
        return names.TOOL_NAME in attributes
    return DEFERRED in attributes or (name == "running tool" and names.TOOL_NAME in attributes)


def _correct(fields: dict[str, Any], form: SpanData) -> None:
    if DEFERRED in form.attributes:
        fields["ending"] = "paused"


CONVENTION = SpanConvention(
    "pydantic_ai",
    _knows,
    READS["pydantic_ai"],
    _correct,
)
