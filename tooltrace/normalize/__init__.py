"""Any tool's result as a ``ToolResponse``, by a named rule."""

from __future__ import annotations

from typing import Any

from tooltrace.normalize import exceptions
from tooltrace.response import ResponseMeta, ToolResponse

__all__ = ["EXCEPTION", "NONE", "PLAIN", "TOOL_RESPONSE", "normalize"]

TOOL_RESPONSE = "tool_response"
"""The result is a ``ToolResponse`` already."""
PLAIN = "plain"
"""Any other value: the tool returned, so it reports success, and the value is its data."""
NONE = "none"
"""The tool returned nothing: success without data."""
EXCEPTION = "exception"
"""The tool raised: an error, by the class of the exception."""


def normalize(value: Any) -> ToolResponse:
    """``value`` as a ``ToolResponse``; ``meta.rule`` says by which rule it was read. Never raises."""
    if isinstance(value, ToolResponse):
        return value
    if isinstance(value, BaseException):
        seen = exceptions.read(value)
        return ToolResponse.error(
            seen.code, seen.message, type=seen.type, retryable=seen.retryable, meta=_meta(EXCEPTION)
        )
    if value is None:
        return ToolResponse.success(meta=_meta(NONE))
    return ToolResponse.success(value if isinstance(value, str) else "", value, meta=_meta(PLAIN))


def _meta(rule: str) -> ResponseMeta:
    return ResponseMeta(rule=rule, rule_grade="certain")
