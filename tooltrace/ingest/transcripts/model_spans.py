"""Records of the model calls in transcripts.

They are spans of names and numbers alone. Only the names are redacted, each once for a file: a search of every span would take
as long as all the rest of an import.
"""

from __future__ import annotations

from datetime import timedelta

from tooltrace.core.records import Span
from tooltrace.ingest.call_builder import MAX_TIME_NS, safe_name, stable_id
from tooltrace.ingest.transcripts.session import ModelCall
from tooltrace.otel.timestamps import EPOCH
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.redaction import Redaction
from tooltrace.redact.snapshot import Json


class SafeNames:
    """The redacted names of one file."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._known: dict[str | None, str | None] = {}

    def __call__(self, name: str | None) -> str | None:
        """Return ``name`` redacted and bounded."""
        if name not in self._known:
            self._known[name] = safe_name(name, self._redaction)
        return self._known[name]


def model_span(call: ModelCall, safe: SafeNames) -> Span:
    """Return the span of ``call``, as the GenAI conventions describe it."""
    model, service, release = safe(call.model), safe(call.service), safe(call.release)
    tokens = {
        "input_tokens": call.input,
        "output_tokens": call.output,
        "cache_read.input_tokens": call.cache_read or None,
        "cache_creation.input_tokens": call.cache_write or None,
        "reasoning.output_tokens": call.reasoning or None,
    }
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": model,
        "gen_ai.conversation.id": safe(call.conversation_id),
        "gen_ai.agent.name": safe(call.agent),
        **{f"gen_ai.usage.{name}": count for name, count in tokens.items()},
    }
    stated = {name: value for name, value in attributes.items() if value is not None}
    return Span(
        trace_id=f"{call.trace_id:032x}",
        span_id=f"{stable_id(8, call.service, 'model', call.identity):016x}",
        parent_span_id=None if call.parent_span_id is None else f"{call.parent_span_id:016x}",
        name=f"chat {model}" if model else "chat",
        span_kind="client",
        started_at=EPOCH + timedelta(microseconds=min(call.start_ns, MAX_TIME_NS) // 1000),
        duration_ms=max(call.end_ns - call.start_ns, 0) / 1e6,
        attributes=Json(json_of(stated).decode()),
        scope=service,
        scope_version=release,
        service=service,
    )
