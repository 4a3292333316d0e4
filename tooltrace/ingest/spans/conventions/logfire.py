"""Spans of Logfire's ``instrument_openai_agents``: the message template is ``Function: {name}``.

Observed with logfire 5.2.0 and openai-agents 0.24.0. The attributes have general names (``name``, ``input``,
``output``), so the template decides. The SDK has no call id in such a span.
"""

from __future__ import annotations

from typing import Any

from tooltrace.ingest.spans.conventions.attributes import LOGFIRE_TOOL, READS, TEMPLATE
from tooltrace.ingest.spans.conventions.base import SpanConvention, structure
from tooltrace.otel.span_data import SpanData


def _correct(fields: dict[str, Any], form: SpanData) -> None:
    error = structure(fields.pop("error_message", None))
    if form.status != "error" or not isinstance(error, dict):
        return
    data = error.get("data")
    message = (data.get("error") if isinstance(data, dict) else None) or error.get("message")
    if message:
        fields["error_message"] = str(message)


CONVENTION = SpanConvention(
    "logfire",
    lambda _name, attributes: attributes.get(TEMPLATE) == LOGFIRE_TOOL,
    READS["logfire"],
    _correct,
)
