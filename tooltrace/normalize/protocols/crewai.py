"""Rule for CrewAI's ``ToolFailure``, which a tool returns in place of an error text (CrewAI 1.15.9 and later)."""

from __future__ import annotations

from typing import Any, Final

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.response_builders import build_error, has_members, has_only
from tooltrace.normalize.rule import Matches, ResultView, builtin

_KIND: Final = "crewai.tools.tool_failure.ToolFailure"
_MEMBERS: Final = ("message", "reason", "code", "retryable", "details")
_REASONS: Final = {
    "tool_reported": None,
    "exception": None,
    "mcp_error": None,
    "repeated_call": None,
    "usage_limit": "CALL_LIMIT",
    "unknown_tool": ToolErrorCode.NOT_FOUND,
    "invalid_input": ToolErrorCode.INVALID_PARAM,
}
"""The reasons of a failure, and the code of those that name one."""


@builtin("crewai_failure", "certain", Matches(kinds=(_KIND,), members=("retryable",)))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a ``ToolFailure``, or its members as data."""
    data = view.data
    if not isinstance(data, dict) or not has_only(data, _MEMBERS):
        return None
    reason, code = data.get("reason"), data.get("code")
    if not isinstance(reason, str) or not (view.is_a(_KIND) or _is_dump(data)):
        return None
    return build_error(
        data.get("message"),
        _REASONS.get(reason) if code in (None, "") else code,
        # False is the default of the class, which says nothing about this failure
        retryable=True if data.get("retryable") is True else None,
        data=data.get("details") or None,
        context=None if reason == "tool_reported" else {"reason": reason},
    )


def _is_dump(data: Any) -> bool:
    return has_members(data, "message", "reason", "retryable") and data["reason"] in _REASONS
