"""Langfuse's convention: ``langfuse.observation.type`` is ``tool``. Observed with langfuse 5.0.

A failure has the level ``ERROR`` and a message, but no exception class. Langfuse does not mask any values by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.ingest.spans.conventions.attributes import READS
from tooltrace.ingest.spans.conventions.base import SpanConvention
from tooltrace.otel.span_data import SpanData

KIND = "langfuse.observation.type"
_LEVEL = "langfuse.observation.level"


def _knows(_name: str, attributes: Mapping[str, Any]) -> bool:
    return attributes.get(KIND) == "tool"


def _correct(fields: dict[str, Any], form: SpanData) -> None:
    fields.setdefault("tool", form.name)
    # The same attribute holds the message of a warning, which is not a failure.
    if form.attributes.get(_LEVEL) != "ERROR":
        fields.pop("error_message", None)
    else:
        fields.setdefault("error_message", form.description or "")


CONVENTION = SpanConvention(
    "langfuse",
    _knows,
    READS["langfuse"],
    _correct,
)
