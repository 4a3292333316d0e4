"""The duration metric of the conventions: definitions shared by all producers of it."""

from __future__ import annotations

from typing import Final, NamedTuple

from tooltrace.core.records import ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel.span_codec import error_type

UNIT: Final = "s"
DESCRIPTION: Final = "The duration of a single tool execution."


class Series(NamedTuple):
    """The values that distinguish the data points of the metric. Each has few distinct values: no ids, no arguments."""

    tool: str
    tool_type: str | None
    agent: str | None
    error_type: str | None

    @classmethod
    def of(cls, call: ToolCall) -> Series:
        """Return the series of ``call``."""
        return cls(call.tool, call.tool_type, call.agent, error_type(call) if call.status == "error" else None)

    def attributes(self) -> dict[str, str]:
        """Return the attributes of the data point."""
        known = {names.TOOL_TYPE: self.tool_type, names.AGENT_NAME: self.agent, names.ERROR_TYPE: self.error_type}
        out = {names.OPERATION_NAME: names.EXECUTE_TOOL, names.TOOL_NAME: self.tool}
        return out | {key: value for key, value in known.items() if value is not None}


def duration_attributes(call: ToolCall) -> dict[str, str]:
    """Return the attributes of the call's data point."""
    return Series.of(call).attributes()
