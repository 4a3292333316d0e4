"""Names of Eino's structured tool result: ``toolutil.OK`` and ``toolutil.Fail``.

``to_message(call_id, style="json")`` of what they return is the JSON that Eino's tools give to a model.
"""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse

__all__ = ["OK", "Fail"]


def OK(data: Any = None) -> ToolResponse:  # noqa: N802 - Eino's name
    """Return the response of a tool that succeeded; a text is also the answer in words."""
    return ToolResponse.success(data if isinstance(data, str) else "", data)


def Fail(  # noqa: N802 - Eino's name
    code: str, message: str, retryable: bool | None = None, suggestion: str | None = None
) -> ToolResponse:
    """Return the response of a tool that failed. ``suggestion``: what the model should do next."""
    return ToolResponse.error(code, message, retryable, suggestion or None)
