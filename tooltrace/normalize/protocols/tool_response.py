"""Rule for our own ``ToolResponse`` as a dict or JSON, passed on by another process or a framework."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from tooltrace.core.confidence import OUT_OF_RANGE, valid_confidence
from tooltrace.core.response import ResponseMeta, ToolResponse
from tooltrace.normalize.response_builders import error_of, put_unique, read_error
from tooltrace.normalize.rule import Matches, ResultView, builtin

_STATUSES = ("success", "partial", "error")
_MEMBERS = frozenset({field.alias or name for name, field in ToolResponse.model_fields.items()} | {"error_info"})
_DISTINCT = frozenset({"meta", "sources", "signals", "next_action", "reason", "confidence", "explanation", "system"})
"""Members that the other protocols with a ``status`` and a ``text`` do not have."""
_META = frozenset(ResponseMeta.model_fields)


@builtin("tool_response", "certain", Matches(members=("status",)))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read the output of ``model_dump`` or ``model_dump_json``; an invalid field goes to ``context``."""
    data = view.data
    if not isinstance(data, dict) or not _is_tool_response(data):
        return None
    # pydantic would accept such a value silently, and the record would state what the tool did not.
    if _converts(data):
        return _repaired(data)
    try:
        return ToolResponse.model_validate(data)
    except ValidationError:
        return _repaired(data)


def _converts(data: dict[str, Any]) -> bool:
    """Whether pydantic would convert a value, such as a confidence of "0.9" or true."""
    error, meta = data.get("error") or data.get("error_info"), data.get("meta")
    return (
        not _is_confidence(data.get("confidence"))
        or (isinstance(error, dict) and not isinstance(error.get("retryable"), bool | None))
        or (isinstance(meta, dict) and bool(_odd(meta)))
    )


def _is_confidence(value: Any) -> bool:
    return value is None or valid_confidence(value) is not None


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _odd(meta: dict[str, Any]) -> set[str]:
    """Return the names of figures and flags in ``meta`` that have a wrong type."""
    odd = {name for name in ("attempt", "duration_ms") if not _is_number(meta.get(name))}
    return odd | {name for name in ("cached",) if not isinstance(meta.get(name), bool | None)}


def _is_tool_response(data: dict[str, Any]) -> bool:
    """Whether ``data`` is our response: a status, only our members, and a distinctive one or text and code.

    Other members are allowed beside a text and a ``meta`` with our members.
    """
    if data.get("status") not in _STATUSES:
        return False
    if set(data) <= _MEMBERS:
        return not _DISTINCT.isdisjoint(data) or {"text", "code"} <= set(data)
    meta = data.get("meta")
    return "text" in data and isinstance(meta, dict) and {"rule", "flags"} <= set(meta)


def _repaired(data: dict[str, Any]) -> ToolResponse:
    """Build the response without the fields that cannot be read; ``context`` keeps them, a flag reports them."""
    fields = {name: value for name, value in data.items() if name in _MEMBERS}
    moved = {name: value for name, value in data.items() if name not in _MEMBERS}
    for name in ("context", "meta"):
        if not isinstance(fields.get(name), dict | None):
            moved[name] = fields.pop(name)
    _move_meta(fields, moved)
    _move_error(fields, moved)
    if not _is_confidence(fields.get("confidence")):
        moved["confidence"] = fields.pop("confidence")
    try:
        ToolResponse.model_validate(fields)
    except ValidationError as error:
        moved.update({name: fields.pop(name) for name in _at_fault(error)})
    return _flagged(ToolResponse.model_validate(fields), moved)


def _at_fault(error: ValidationError) -> set[str]:
    """Return the fields that failed validation."""
    return {str(fault["loc"][0]) for fault in error.errors(include_input=False, include_url=False)}


def _move_meta(fields: dict[str, Any], moved: dict[str, Any]) -> None:
    """Keep the valid members of ``meta`` in ``fields``; put the others in ``moved``."""
    meta = fields.pop("meta", None)
    if meta is None:
        return
    faulty = _odd(meta) | (set(meta) - _META)
    # First without the members known to be faulty; what pydantic rejects beyond them is removed in the second
    # attempt.
    sound = {name: value for name, value in meta.items() if name not in faulty}
    try:
        fields["meta"] = ResponseMeta.model_validate(sound)
    except ValidationError as error:
        faulty |= _at_fault(error)
        fields["meta"] = ResponseMeta.model_validate({name: meta[name] for name in set(meta) - faulty})
    if faulty:
        moved["meta"] = {name: value for name, value in meta.items() if name in faulty}


def _move_error(fields: dict[str, Any], moved: dict[str, Any]) -> None:
    """Make the error agree with the status and the code, as the model requires."""
    errors = [value for name in ("error", "error_info") if (value := fields.pop(name, None)) is not None]
    code = fields.get("code")
    if not isinstance(code, str | None):
        moved["code"], code = fields.pop("code"), None
    if fields["status"] == "success":
        moved.update({"error": errors[0]} if errors else {})
    elif errors or fields["status"] == "error":
        read = read_error(errors[0]) if errors else {"message": fields.get("text")}
        context = read.pop("context", None)
        error_code = read.pop("code", None)
        error = error_of(read.pop("message"), code or error_code, read.pop("type", None), **read)
        fields["error"], fields["code"] = error, error.code
        moved.update({"error": errors[0]} if context or error_code not in (None, error.code) else {})
    if len(errors) > 1:
        moved["error_info"] = errors[1]


def _flagged(response: ToolResponse, moved: dict[str, Any]) -> ToolResponse:
    flags = (*response.meta.flags, *(_flag(name) for name in sorted(moved)))
    context = dict(response.context or {})
    for name, value in moved.items():
        put_unique(context, name, value)
    return response.model_copy(
        update={
            "context": context or None,
            "meta": response.meta.model_copy(update={"flags": tuple(dict.fromkeys(flags))}),
        }
    )


def _flag(name: str) -> str:
    if name not in _MEMBERS:
        return "unknown_field"
    return OUT_OF_RANGE if name == "confidence" else f"invalid_{name}"
