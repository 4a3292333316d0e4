"""OpenInference's convention, which Phoenix and Arize read: ``openinference.span.kind`` is ``TOOL``.

Source: openinference-semantic-conventions 0.1.42. Observed with openinference-instrumentation-langchain 0.1.80. The
MIME type decides whether a value is JSON, because a bare ``"3"`` may be a text or a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.ingest.call_builder import NO_RESULT
from tooltrace.ingest.spans.conventions.attributes import JSON_TYPE, READS
from tooltrace.ingest.spans.conventions.base import SpanConvention, structure
from tooltrace.otel.span_data import SpanData

KIND = "openinference.span.kind"


def _knows(_name: str, attributes: Mapping[str, Any]) -> bool:
    kind = attributes.get(KIND)
    return isinstance(kind, str) and kind.upper() == "TOOL"


def _correct(fields: dict[str, Any], form: SpanData) -> None:
    said = form.attributes
    fields.setdefault("tool", form.name)
    if "input.value" in said and fields.get("arguments") == said["input.value"]:
        fields["arguments"] = structure(said["input.value"], scalars=said.get("input.mime_type") == JSON_TYPE)
    if fields.get("result", NO_RESULT) is not NO_RESULT:
        fields["result"] = structure(said["output.value"], scalars=said.get("output.mime_type") == JSON_TYPE)


CONVENTION = SpanConvention(
    "openinference",
    _knows,
    READS["openinference"],
    _correct,
    texts=frozenset({"input.value", "output.value"}),
)
