"""Rule for the envelope of success, confidence, source, nextAction, error and meta.

Names are in camelCase or snake_case.
"""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.response_builders import (
    MemberReader,
    build_error,
    build_partial,
    build_response,
    merge_context,
    meta_of,
    put_unique,
    read_error,
)
from tooltrace.normalize.rule import Matches, ResultView, builtin

_DISTINCTIVE = frozenset({"confidence", "next_action", "source", "sources", "meta"})
"""Members that distinguish the envelope from Eino's result and from a bare flag."""
_MEMBERS = _DISTINCTIVE | {
    "success", "data", "error", "signals", "confidence_signals", "message", "text", "summary", "reason",
    "explanation", "stats", "retryable", "user_message", "suggestion", "partial", "warnings", "context", "code",
}  # fmt: skip


@builtin("envelope", "certain", Matches(members=("success",)), opens="all")
def RULE(view: ResultView) -> ToolResponse | None:
    """Read an object with ``success`` and a member of ``_DISTINCTIVE``, or an error with a type or a userMessage.

    The error's type names the code, and is kept.
    """
    if not isinstance(view.data, dict):
        return None
    members = MemberReader(view.data)
    success = members.pop("success", only=bool)
    if success is None or not _is_envelope(members.names(), view.data.get("error")):
        return None
    return read(success, members)


def _is_envelope(names: frozenset[str], error: Any) -> bool:
    if _DISTINCTIVE & names:
        return bool({"data", "error"} & names) or names <= _MEMBERS
    error_names = MemberReader(error).names() if isinstance(error, dict) else frozenset()
    return names <= {"success", "data", "error"} and bool(error_names & {"type", "user_message"})


def read(success: bool, members: MemberReader) -> ToolResponse:
    """Return the response with the other ``members`` of an envelope."""
    error, data = members.pop_nonempty("error"), members.pop("data")
    words = members.pop_nonempty("text", "message", "summary", only=str)
    partial = members.pop("partial", only=bool)
    if not success:
        reading = _error(error or words, members)
        fields = _fields(members)
        return build_error(**merge_context(reading, fields.pop("context")), text=words, data=data, **fields)
    text = data if words is None and isinstance(data, str) else words
    reason = members.pop("reason", only=str) if partial else None
    fields = _fields(members)
    if error:
        return build_partial(error, text, data, **fields)
    return build_response("partial" if partial else "success", text, data, reason=reason, **fields)


def _error(error: Any, members: MemberReader) -> dict[str, Any]:
    """Return the error with the details that stand beside it."""
    reading = read_error(error or members.pop_nonempty("reason"))
    for name in ("code", "type", "retryable", "suggestion", "user_message"):
        if reading.get(name) is None:
            reading[name] = members.pop(name)
    return reading


def _fields(members: MemberReader) -> dict[str, Any]:
    """Return the other fields of the response.

    A confidence may be an object with a score and the signals behind it.
    """
    confidence, signals = members.pop("confidence"), members.pop("signals", "confidence_signals")
    about: dict[str, Any] = {}
    if isinstance(confidence, dict):
        scored = MemberReader(confidence)
        confidence = scored.pop("score", "value", "confidence")
        signals = scored.pop("signals", "reasons") if signals is None else signals
        about["confidence_details"] = scored.remaining()
    meta, about["meta"] = meta_of(members.pop("meta"))
    fields = {
        "confidence": confidence,
        "signals": signals,
        "next_action": members.pop("next_action"),
        "sources": [*_listed(members.pop_nonempty("source")), *_listed(members.pop_nonempty("sources"))],
        "explanation": members.pop("explanation", only=str),
        "stats": members.pop("stats", only=dict),
        "meta": meta,
    }
    inner = members.pop("context", only=dict) or {}
    merged = dict(inner)
    for name, value in (*about.items(), *(members.remaining() or {}).items()):
        if value not in (None, {}, []):
            put_unique(merged, name, value)
    return {**fields, "context": merged}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
