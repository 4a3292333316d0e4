"""Records of attempts that a foreign file describes: normalized, redacted and bounded like all records."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tooltrace.core.records import ToolCall
from tooltrace.ingest import call_builder as builder
from tooltrace.recording.settings import Settings

NO_RESULT = builder.NO_RESULT
"""The file has no result for the attempt."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalCall:
    """One attempt, with the field names of the record; None means unknown."""

    tool: str
    trace: tuple[Any, ...]
    """Values that identify the trace; the trace id is derived from them."""
    span: tuple[Any, ...]
    """Values that identify the attempt; the span id is derived from them."""
    started_at: datetime
    """Start of the attempt, as an aware datetime."""
    call_id: str | None = None
    attempt: int = 1
    conversation_id: str | None = None
    agent: str | None = None
    duration_ms: float | None = None
    arguments: Any = None
    result: Any = NO_RESULT
    ending: str = "returned"


def build_call(foreign: ExternalCall, settings: Settings) -> ToolCall:
    """Return the record of ``foreign``, which has no parent span.

    The file does not name the service, host and process, so the record does not have them either.
    """
    return builder.build_call(
        builder.ExternalCall(
            tool=foreign.tool,
            trace_id=builder.stable_id(16, *foreign.trace),
            span_id=builder.stable_id(8, *foreign.span),
            started_ns=(foreign.started_at - _EPOCH) // timedelta(microseconds=1) * 1000,
            duration_ns=None if foreign.duration_ms is None else round(foreign.duration_ms * 1e6),
            call_id=foreign.call_id,
            attempt=foreign.attempt,
            conversation_id=foreign.conversation_id,
            agent=foreign.agent,
            tool_type="function",
            arguments=foreign.arguments,
            result=foreign.result,
            ending=foreign.ending,
        ),
        settings,
    )
