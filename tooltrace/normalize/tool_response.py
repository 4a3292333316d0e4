"""Our own ``ToolResponse`` as a dict or JSON, which another process or a framework handed on."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from tooltrace.normalize.parts import error_of, keep, read_error
from tooltrace.normalize.rule import Seen, builtin
from tooltrace.response import ResponseMeta, ToolResponse

_STATUSES = ("success", "partial", "error")
_OURS = frozenset({*ToolResponse.model_fields, "error"})
_DISTINCT = frozenset({"meta", "sources", "signals", "next_action", "reason", "confidence", "explanation", "system"})
"""Members that the other protocols with a ``status`` and a ``text`` do not have."""
_META = frozenset(ResponseMeta.model_fields)


@builtin("tool_response", "certain")
def RULE(seen: Seen) -> ToolResponse | None:  # noqa: N802 - a rule, once decorated
    """What ``model_dump`` or ``model_dump_json`` makes; a field that is not as it should be goes to ``context``."""
    data = seen.data
    if not isinstance(data, dict) or not _is_ours(data):
        return None
    try:
        return ToolResponse.model_validate(data)
    except ValidationError:
        return _repaired(data)


def _is_ours(data: dict[str, Any]) -> bool:
    """A status, no members but ours, and one that is ours alone; or strangers beside a ``meta`` that is ours."""
    if data.get("status") not in _STATUSES:
        return False
    if set(data) <= _OURS:
        return not _DISTINCT.isdisjoint(data) or {"text", "code"} <= set(data)
    meta = data.get("meta")
    return "text" in data and isinstance(meta, dict) and {"rule", "flags"} <= set(meta)


def _repaired(data: dict[str, Any]) -> ToolResponse:
    """Without what cannot be read, which is kept in ``context`` and flagged."""
    fields = {name: value for name, value in data.items() if name in _OURS}
    moved = {name: value for name, value in data.items() if name not in _OURS}
    for name in ("context", "meta"):
        if not isinstance(fields.get(name), dict | None):
            moved[name] = fields.pop(name)
    _move_meta(fields, moved)
    _move_error(fields, moved)
    try:
        ToolResponse.model_validate(fields)
    except ValidationError as error:
        moved.update({name: fields.pop(name) for name in _at_fault(error)})
    return _flagged(ToolResponse.model_validate(fields), moved)


def _at_fault(error: ValidationError) -> set[str]:
    """The fields that made the model refuse."""
    return {str(fault["loc"][0]) for fault in error.errors(include_input=False, include_url=False)}


def _move_meta(fields: dict[str, Any], moved: dict[str, Any]) -> None:
    """Keep of ``meta`` what fits."""
    meta = fields.pop("meta", None)
    if meta is None:
        return
    try:
        fields["meta"] = ResponseMeta.model_validate(meta)
    except ValidationError as error:
        faulty = _at_fault(error)
        fields["meta"] = ResponseMeta.model_validate({name: meta[name] for name in set(meta) & _META - faulty})
        moved["meta"] = {name: value for name, value in meta.items() if name in faulty}


def _move_error(fields: dict[str, Any], moved: dict[str, Any]) -> None:
    """Make the error agree with the status and the code, as the model demands."""
    said = [value for name in ("error", "error_info") if (value := fields.pop(name, None)) is not None]
    code = fields.get("code")
    if not isinstance(code, str | None):
        moved["code"], code = fields.pop("code"), None
    if fields["status"] == "success":
        moved.update({"error": said[0]} if said else {})
    elif said or fields["status"] == "error":
        read = read_error(said[0]) if said else {"message": fields.get("text")}
        context = read.pop("context", None)
        own = read.pop("code", None)
        error = error_of(read.pop("message"), code or own, read.pop("type", None), **read)
        fields["error"], fields["code"] = error, error.code
        moved.update({"error": said[0]} if context or own not in (None, error.code) else {})
    if len(said) > 1:
        moved["error_info"] = said[1]


def _flagged(response: ToolResponse, moved: dict[str, Any]) -> ToolResponse:
    flags = (*response.meta.flags, *(_flag(name) for name in sorted(moved)))
    context = dict(response.context or {})
    for name, value in moved.items():
        keep(context, name, value)
    return response.model_copy(
        update={"context": context or None, "meta": response.meta.model_copy(update={"flags": tuple(dict.fromkeys(flags))})}
    )


def _flag(name: str) -> str:
    if name not in _OURS:
        return "unknown_field"
    return "confidence_out_of_range" if name == "confidence" else f"invalid_{name}"
