"""Rule for Magic's ``ToolResult``: output or content, error or ok, and members that Magic's loop adds."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.response_builders import MemberReader, build_error, build_response, merge_context, read_error
from tooltrace.normalize.rule import Matches, ResultView, builtin

_MEMBERS = frozenset(
    {"output", "content", "error", "ok", "data", "extra_info", "system", "tool_call_id", "name", "execution_time"}
    | {"explanation", "use_custom_remark"}
)
_OWN = frozenset({"system", "tool_call_id", "execution_time", "explanation"})
"""Members that other kinds of results seldom have."""


@builtin("magic", "certain", Matches(members=("output", "error", "content")), opens="all")
def RULE(seen: ResultView) -> ToolResponse | None:
    """Read a class called ToolResult with these fields, or an object with these members.

    The object has at least three of these members and no others.
    """
    if not isinstance(seen.data, dict):
        return None
    names = set(seen.data)
    named = any(kind.rpartition(".")[2] == "ToolResult" for kind in seen.kinds)
    if not (_is_class(names) if named else _is_result(names)):
        return None
    return _response(MemberReader(seen.data))


def _is_class(names: set[str]) -> bool:
    return {"output", "error"} <= names or {"content", "ok", "system"} <= names


def _is_result(names: set[str]) -> bool:
    """Whether ``names`` are those of a result, not of a row about a job.

    A result has a member of its own, or both of the members that hold the answer.
    """
    if not names <= _MEMBERS or len(names) < 3:
        return False
    if {"output", "error"} <= names:
        return True
    own = names & _OWN
    if {"content", "ok"} <= names:
        return bool(own)
    return bool({"output", "error"} & names) and bool(own - {"execution_time"})


def _response(taken: MemberReader) -> ToolResponse:
    output, error, ok = taken.pop("output", "content"), taken.pop_nonempty("error"), taken.pop("ok", only=bool)
    text = output if isinstance(output, str) else None
    data = taken.pop_nonempty("data") if text is not None or output is None else output
    fields = _fields(taken)
    if error or ok is False:
        said = merge_context(read_error(error or text), taken.remaining())
        if error and output not in (None, ""):
            said["context"] = {**said["context"], "output": output}
        return build_error(**said, data=data, **fields)
    return build_response("success", text, data, context=taken.remaining(), **fields)


def _fields(taken: MemberReader) -> dict[str, Any]:
    """Return the fields that Magic's loop adds; ``execution_time`` is in seconds."""
    seconds = taken.pop("execution_time", only=(int, float))
    meta = {"tool_name": taken.pop("name", only=str), "call_id": taken.pop("tool_call_id", only=str)}
    return {
        "system": taken.pop("system", only=str),
        "explanation": taken.pop("explanation", only=str),
        "stats": None if seconds is None else {"execution_time": seconds},
        "meta": meta if seconds is None else {**meta, "duration_ms": seconds * 1000},
    }
