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

_OWN = frozenset({"confidence", "next_action", "source", "sources", "meta"})
"""Members that distinguish the envelope from Eino's result and from a bare flag."""
_MEMBERS = _OWN | {
    "success", "data", "error", "signals", "confidence_signals", "message", "text", "summary", "reason",
    "explanation", "stats", "retryable", "user_message", "suggestion", "partial", "warnings", "context", "code",
}  # fmt: skip


@builtin("envelope", "certain", Matches(members=("success",)), opens="all")
def RULE(seen: ResultView) -> ToolResponse | None:
    """Read an object with ``success`` and a member of ``_OWN``, or an error with a type or a userMessage.

    The error's type names the code, and is kept.
    """
    if not isinstance(seen.data, dict):
        return None
    taken = MemberReader(seen.data)
    success = taken.pop("success", only=bool)
    if success is None or not _is_envelope(taken.names(), seen.data.get("error")):
        return None
    return _response(success, taken)


def _is_envelope(names: set[str], error: Any) -> bool:
    if _OWN & names:
        return bool({"data", "error"} & names) or names <= _MEMBERS
    own = MemberReader(error).names() if isinstance(error, dict) else set()
    return names <= {"success", "data", "error"} and bool(own & {"type", "user_message"})


def _response(success: bool, taken: MemberReader) -> ToolResponse:
    error, data = taken.pop_nonempty("error"), taken.pop("data")
    words = taken.pop_nonempty("text", "message", "summary", only=str)
    partial = taken.pop("partial", only=bool)
    if not success:
        said = _error(error or words, taken)
        fields = _fields(taken)
        return build_error(**merge_context(said, fields.pop("context")), text=words, data=data, **fields)
    text = data if words is None and isinstance(data, str) else words
    reason = taken.pop("reason", only=str) if partial else None
    fields = _fields(taken)
    if error:
        return build_partial(error, text, data, **fields)
    return build_response("partial" if partial else "success", text, data, reason=reason, **fields)


def _error(error: Any, taken: MemberReader) -> dict[str, Any]:
    """Return the error with the details that stand beside it."""
    said = read_error(error or taken.pop_nonempty("reason"))
    for name in ("code", "type", "retryable", "suggestion", "user_message"):
        if said.get(name) is None:
            said[name] = taken.pop(name)
    return said


def _fields(taken: MemberReader) -> dict[str, Any]:
    """Return the other fields of the response.

    A confidence may be an object with a score and the signals behind it.
    """
    confidence, signals = taken.pop("confidence"), taken.pop("signals", "confidence_signals")
    about: dict[str, Any] = {}
    if isinstance(confidence, dict):
        scored = MemberReader(confidence)
        confidence = scored.pop("score", "value", "confidence")
        signals = scored.pop("signals", "reasons") if signals is None else signals
        about["confidence_details"] = scored.remaining()
    meta, about["meta"] = meta_of(taken.pop("meta"))
    fields = {
        "confidence": confidence,
        "signals": signals,
        "next_action": taken.pop("next_action"),
        "sources": [*_listed(taken.pop_nonempty("source")), *_listed(taken.pop_nonempty("sources"))],
        "explanation": taken.pop("explanation", only=str),
        "stats": taken.pop("stats", only=dict),
        "meta": meta,
    }
    own = taken.pop("context", only=dict) or {}
    kept = dict(own)
    for name, value in (*about.items(), *(taken.remaining() or {}).items()):
        if value not in (None, {}):
            put_unique(kept, name, value)
    return {**fields, "context": kept}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
