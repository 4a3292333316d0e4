"""A response written as the envelope of success, data, confidence, source, nextAction, error and meta."""

from __future__ import annotations

from typing import Any

import orjson

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.next_step import resolve_next_step
from tooltrace.core.response import ErrorInfo, ResponseMeta, ToolResponse
from tooltrace.redact.walk import to_json_bytes

_TYPES: dict[str, str] = {
    ToolErrorCode.INVALID_PARAM: "validation_error",
    ToolErrorCode.INVALID_FORMAT: "validation_error",
    ToolErrorCode.PERMISSION_DENIED: "permission_denied",
    ToolErrorCode.TIMEOUT: "timeout",
    ToolErrorCode.RATE_LIMIT: "rate_limited",
    ToolErrorCode.NOT_FOUND: "not_found",
    ToolErrorCode.CONFLICT: "state_conflict",
    ToolErrorCode.ALREADY_EXISTS: "state_conflict",
}
"""The envelope's types of errors, by code; it knows no others than these and ``unknown``."""

_MORE = ("reason", "signals", "explanation", "stats", "context", "system")
"""Fields that the envelope does not name. They stand beside its members where the response has them."""


def envelope_of(response: ToolResponse) -> dict[str, Any]:
    """Return the envelope of ``response``; see :meth:`ToolResponse.to_envelope`."""
    text = response.text or None
    members = {
        "success": response.ok,
        "data": text if response.payload is None and response.ok else response.payload,
        "confidence": response.confidence,
        "source": [source.model_dump(exclude_none=True) for source in response.sources],
        "nextAction": str(resolve_next_step(response)),
        "error": response.error and _error(response.error),
        "meta": _meta(response.meta),
    }
    more = {name: getattr(response, name) for name in _MORE}
    if text is not None and text != members["data"] and (response.error is None or text != response.error.message):
        more["text"] = text
    if response.status == "partial":
        more["partial"] = True
    if response.error is None:
        more["code"] = response.code
    found: dict[str, Any] = orjson.loads(
        to_json_bytes(members | {name: value for name, value in more.items() if value is not None})
    )
    return found


def _error(error: ErrorInfo) -> dict[str, Any]:
    known = error.type if error.type in _TYPES.values() else _TYPES.get(error.code, "unknown")
    members = {"type": known, "message": error.message, "retryable": error.retryable}
    more = {"userMessage": error.user_message, "code": error.code, "suggestion": error.suggestion}
    return members | {name: value for name, value in more.items() if value is not None}


def _meta(meta: ResponseMeta) -> dict[str, Any]:
    return {
        "toolName": meta.tool_name,
        "toolVersion": meta.tool_version,
        "traceId": meta.trace_id,
        "durationMs": meta.duration_ms,
        "cached": meta.cached,
    }
