"""The structured log line of a call, through structlog as the application configured it.

An application that did not configure structlog gets no log lines: the journal is then its structured log.
"""

from __future__ import annotations

import sys
from contextvars import Context
from typing import Any

import orjson

from tooltrace.core.records import ToolCall

EVENT = "tool_call"
_modules = sys.modules
_FIELDS = (
    *("tool", "tool_version", "call_id", "attempt", "status", "ending", "code", "error_type", "error_message"),
    *("retryable", "confidence", "next_action", "stats", "sources", "duration_ms", "conversation_id", "agent"),
    *("model", "trace_id", "span_id"),
)
_JSON = ("stats", "sources")
"""Fields that the record has as JSON text. The line has their values, which each renderer writes in its own way."""


def is_wanted() -> bool:
    """Return whether the application has configured structlog.

    An application that has done so has imported structlog. The import takes 80 ms, because it brings asyncio and rich.
    """
    loaded = _modules.get("structlog")
    if loaded is None:
        return False
    try:
        configured: bool = loaded.is_configured()
    except AttributeError:  # another thread is importing it
        return False
    return configured


def logger() -> Any:
    """Return the application's logger, bound.

    Use one bound logger for many calls: binding costs as much as logging a line.
    """
    import structlog

    return structlog.get_logger("tooltrace").bind()


def fields_of(call: ToolCall) -> dict[str, Any]:
    """Return the fields of the log line of ``call``."""
    fields = {name: value for name in _FIELDS if (value := getattr(call, name)) is not None}
    return fields | {name: orjson.loads(fields[name]) for name in _JSON if name in fields}


def emit(fields: dict[str, Any], surroundings: Context | None, bound: Any, *, failed: bool) -> None:
    """Log ``fields`` with ``bound``: as a warning where the call ``failed``, else as information.

    ``surroundings``: context variables of the tool's caller, so that the line has the values that the application
    bound there.
    """
    write = bound.warning if failed else bound.info
    if surroundings is None:
        write(EVENT, **fields)
    else:
        surroundings.run(write, EVENT, **fields)
