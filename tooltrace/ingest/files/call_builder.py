"""A record of what a foreign file says of an attempt: normalized, redacted and bounded like every other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tooltrace.core.records import ToolCall
from tooltrace.ingest import call_builder as builder
from tooltrace.recording.settings import Settings

NO_RESULT = builder.NO_RESULT
"""The file has no result of the attempt."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalCall:
    """One attempt, in the words of the record; unknown is None."""

    tool: str
    trace: tuple[Any, ...]
    """What tells its trace from all others: the trace id is made of it."""
    span: tuple[Any, ...]
    """What tells it from all other attempts: the span id is made of it."""
    started_at: datetime
    """Aware."""
    call_id: str | None = None
    attempt: int = 1
    conversation_id: str | None = None
    agent: str | None = None
    duration_ms: float | None = None
    arguments: Any = None
    result: Any = NO_RESULT
    ending: str = "returned"


def build_call(foreign: ExternalCall, settings: Settings) -> ToolCall:
    """The record of ``foreign``, which stands alone in its trace. Where and by whom it was made the file does not
    say, so nor does the record."""
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
