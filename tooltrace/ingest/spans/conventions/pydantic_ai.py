"""What pydantic-ai and Logfire write beside, and wrote before, the conventions' attributes.

Seen in pydantic-ai 2.68 with ``InstrumentationSettings(version=2)`` (``tool_arguments``, ``tool_response``, the span
``running tool``) and ``version=5``. ``pydantic_ai.tool.retry.*`` say that the model is asked to try again, in a new call;
they are kept among the call's attributes. Logfire's ``pending_span`` announces a span that has not ended: it is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.ingest.spans.conventions.attributes import DEFERRED, READS
from tooltrace.ingest.spans.conventions.base import SpanConvention
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import SpanData


def is_pending(attributes: Mapping[str, Any]) -> bool:
    """Whether the span only announces another."""
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
