"""The envelope of success, confidence, source, nextAction, error and meta, in camelCase or snake_case."""

from __future__ import annotations

from typing import Any

from tooltrace.normalize.parts import Taken, answer, beside, failure, flawed, keep, meta_of, read_error
from tooltrace.normalize.rule import Reads, Seen, builtin
from tooltrace.response import ToolResponse

_OWN = frozenset({"confidence", "next_action", "source", "sources", "meta"})
"""Members that tell it from Eino's result and from a bare flag."""
_MEMBERS = _OWN | {
    "success", "data", "error", "signals", "confidence_signals", "message", "text", "summary", "reason",
    "explanation", "stats", "retryable", "user_message", "suggestion", "partial", "warnings", "context", "code",
}  # fmt: skip


@builtin("envelope", "certain", Reads(members=("success",)), opens="all")
def RULE(seen: Seen) -> ToolResponse | None:
    """An object with ``success`` and one of its own members, or an error with a type or a userMessage. The error's
    type names the code, and is kept."""
    if not isinstance(seen.data, dict):
        return None
    taken = Taken(seen.data)
    success = taken.first("success", only=bool)
    if success is None or not _is_envelope(taken.names(), seen.data.get("error")):
        return None
    return _response(success, taken)


def _is_envelope(names: set[str], error: Any) -> bool:
    if _OWN & names:
        return bool({"data", "error"} & names) or names <= _MEMBERS
    own = Taken(error).names() if isinstance(error, dict) else set()
    return names <= {"success", "data", "error"} and bool(own & {"type", "user_message"})


def _response(success: bool, taken: Taken) -> ToolResponse:
    error, data = taken.filled("error"), taken.first("data")
    words = taken.filled("text", "message", "summary", only=str)
    partial = taken.first("partial", only=bool)
    if not success:
        said = _error(error or words, taken)
        fields = _fields(taken)
        return failure(**beside(said, fields.pop("context")), text=words, data=data, **fields)
    text = data if words is None and isinstance(data, str) else words
    reason = taken.first("reason", only=str) if partial else None
    fields = _fields(taken)
    if error:
        return flawed(error, text, data, **fields)
    return answer("partial" if partial else "success", text, data, reason=reason, **fields)


def _error(error: Any, taken: Taken) -> dict[str, Any]:
    """The error, with what is said of it beside it."""
    said = read_error(error or taken.filled("reason"))
    for name in ("code", "type", "retryable", "suggestion", "user_message"):
        if said.get(name) is None:
            said[name] = taken.first(name)
    return said


def _fields(taken: Taken) -> dict[str, Any]:
    """The other fields of the response. A confidence may be an object that says what made it."""
    confidence, signals = taken.first("confidence"), taken.first("signals", "confidence_signals")
    about: dict[str, Any] = {}
    if isinstance(confidence, dict):
        scored = Taken(confidence)
        confidence = scored.first("score", "value", "confidence")
        signals = scored.first("signals", "reasons") if signals is None else signals
        about["confidence_details"] = scored.rest()
    meta, about["meta"] = meta_of(taken.first("meta"))
    fields = {
        "confidence": confidence,
        "signals": signals,
        "next_action": taken.first("next_action"),
        "sources": [*_listed(taken.filled("source")), *_listed(taken.filled("sources"))],
        "explanation": taken.first("explanation", only=str),
        "stats": taken.first("stats", only=dict),
        "meta": meta,
    }
    own = taken.first("context", only=dict) or {}
    kept = dict(own)
    for name, value in (*about.items(), *(taken.rest() or {}).items()):
        if value not in (None, {}):
            keep(kept, name, value)
    return {**fields, "context": kept}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
