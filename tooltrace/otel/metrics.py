"""The duration metric of the conventions: definitions shared by all producers of it."""

from __future__ import annotations

from typing import Final

from tooltrace.core.records import ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel.span_codec import error_type

UNIT: Final = "s"
DESCRIPTION: Final = "The duration of a single tool execution."


def duration_attributes(call: ToolCall) -> dict[str, str]:
    """Return the attributes of the call's data point.

    The attributes have few distinct values each: no ids, and no arguments.
    """
    known = {names.TOOL_TYPE: call.tool_type, names.AGENT_NAME: call.agent}
    out = {names.OPERATION_NAME: names.EXECUTE_TOOL, names.TOOL_NAME: call.tool}
    out |= {key: value for key, value in known.items() if value is not None}
    if call.status == "error":
        out[names.ERROR_TYPE] = error_type(call)
    return out
