"""Langfuse: ``langfuse.observation.type`` is ``tool``. Seen from langfuse 5.0.

A failure is the level ``ERROR`` with a message, without an exception's class. Langfuse masks nothing by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.foreign.sighting import Dialect
from tooltrace.otel.form import SpanForm
from tooltrace.otel.tool_spans import READS

KIND = "langfuse.observation.type"
_LEVEL = "langfuse.observation.level"


def _knows(_name: str, attributes: Mapping[str, Any]) -> bool:
    return attributes.get(KIND) == "tool"


def _correct(fields: dict[str, Any], form: SpanForm) -> None:
    fields.setdefault("tool", form.name)
    if form.attributes.get(_LEVEL) != "ERROR":
        fields.pop("error_message", None)
    else:
        fields.setdefault("error_message", form.description or "")


DIALECT = Dialect(
    "langfuse",
    _knows,
    READS["langfuse"],
    _correct,
)
