"""HelloAgents' names for tooltrace's own classes, for code that imported them from that package."""

from __future__ import annotations

from enum import StrEnum

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.tools import ToolRegistry

__all__ = ["ToolErrorCode", "ToolRegistry", "ToolResponse", "ToolStatus"]


class ToolStatus(StrEnum):
    """The statuses of a response; each member equals its string, which is what ``ToolResponse.status`` has."""

    SUCCESS = "success"
    PARTIAL = "partial"
    ERROR = "error"
