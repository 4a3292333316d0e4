"""The structured log line of a call, through structlog as the application configured it.

An application that did not configure structlog gets no log lines: the journal is then its structured log.
"""

from __future__ import annotations

from contextvars import Context
from typing import Any

import structlog
from structlog import _config

from tooltrace.core.records import ToolCall

is_wanted = structlog.is_configured
"""Whether the application has configured structlog."""


class _PublicConfiguration:
    """The configuration by the public functions of structlog, for a version that has no ``_CONFIG``."""

    @property
    def is_configured(self) -> bool:
        return structlog.is_configured()


CONFIGURATION: Any = getattr(_config, "_CONFIG", None)
"""An object whose ``is_configured`` says the same."""
if type(getattr(CONFIGURATION, "is_configured", None)) is not bool:
    CONFIGURATION = _PublicConfiguration()

EVENT = "tool_call"
_FIELDS = (
    *("tool", "tool_version", "call_id", "attempt", "status", "ending", "code", "error_type", "error_message"),
    *("retryable", "confidence", "next_action", "duration_ms", "conversation_id", "agent", "trace_id", "span_id"),
)


def logger() -> Any:
    """Return the application's logger, bound.

    Use one bound logger for many calls: binding costs as much as logging a line.
    """
    return structlog.get_logger("tooltrace").bind()


def emit(call: ToolCall, surroundings: Context | None, bound: Any) -> None:
    """Log ``call`` with ``bound``: as a warning where it failed, else as information.

    ``surroundings``: context variables of the tool's caller, so that the line has the values that the application
    bound there.
    """
    fields = {name: value for name in _FIELDS if (value := getattr(call, name)) is not None}
    write = bound.warning if call.status == "error" else bound.info
    if surroundings is None:
        write(EVENT, **fields)
    else:
        surroundings.run(write, EVENT, **fields)
