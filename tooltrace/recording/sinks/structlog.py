"""The structured log line of a call, through structlog as the application configured it.

Where the application configured none, the journal is the structured log, and nothing is printed.
"""

from __future__ import annotations

from contextvars import Context
from typing import Any

import structlog

from tooltrace.core.records import ToolCall

is_wanted = structlog.is_configured
"""Whether the application has a structured log to write to."""

EVENT = "tool_call"
_FIELDS = (
    *("tool", "tool_version", "call_id", "attempt", "status", "ending", "code", "error_type", "error_message"),
    *("retryable", "confidence", "next_action", "duration_ms", "conversation_id", "agent", "trace_id", "span_id"),
)


def logger() -> Any:
    """The application's logger, bound once for many calls: binding costs as much as the line."""
    return structlog.get_logger("tooltrace").bind()


def emit(call: ToolCall, surroundings: Context | None, bound: Any) -> None:
    """Log ``call``: a warning where it failed. ``surroundings``: the context variables of the tool's caller,
    so that what the application bound there is on the line."""
    fields = {name: value for name in _FIELDS if (value := getattr(call, name)) is not None}
    write = bound.warning if call.status == "error" else bound.info
    if surroundings is None:
        write(EVENT, **fields)
    else:
        surroundings.run(write, EVENT, **fields)
