"""Magic's ``ToolResult``: output or content, error or ok, and what its loop adds."""

from __future__ import annotations

from typing import Any

from tooltrace.normalize.parts import Taken, answer, beside, failure, read_error
from tooltrace.normalize.rule import Reads, Seen, builtin
from tooltrace.response import ToolResponse

_MEMBERS = frozenset(
    {"output", "content", "error", "ok", "data", "extra_info", "system", "tool_call_id", "name", "execution_time"}
    | {"explanation", "use_custom_remark"}
)
_OWN = frozenset({"system", "tool_call_id", "execution_time", "explanation"})
"""Members that a result of another kind seldom has."""


@builtin("magic", "certain", Reads(members=("output", "error", "content")), opens="all")
def RULE(seen: Seen) -> ToolResponse | None:
    """A class called ToolResult with these fields, or an object that has three of these members and no others."""
    if not isinstance(seen.data, dict):
        return None
    names = set(seen.data)
    named = any(kind.rpartition(".")[2] == "ToolResult" for kind in seen.kinds)
    if not (_is_class(names) if named else _is_result(names)):
        return None
    return _response(Taken(seen.data))


def _is_class(names: set[str]) -> bool:
    return {"output", "error"} <= names or {"content", "ok", "system"} <= names


def _is_result(names: set[str]) -> bool:
    """What distinguishes it from a row about a job is a member of its own, or both of the two that hold the answer."""
    if not names <= _MEMBERS or len(names) < 3:
        return False
    if {"output", "error"} <= names:
        return True
    own = names & _OWN
    if {"content", "ok"} <= names:
        return bool(own)
    return bool({"output", "error"} & names) and bool(own - {"execution_time"})


def _response(taken: Taken) -> ToolResponse:
    output, error, ok = taken.first("output", "content"), taken.filled("error"), taken.first("ok", only=bool)
    text = output if isinstance(output, str) else None
    data = taken.filled("data") if text is not None or output is None else output
    fields = _fields(taken)
    if error or ok is False:
        said = beside(read_error(error or text), taken.rest())
        if error and output not in (None, ""):
            said["context"] = {**said["context"], "output": output}
        return failure(**said, data=data, **fields)
    return answer("success", text, data, context=taken.rest(), **fields)


def _fields(taken: Taken) -> dict[str, Any]:
    """What the loop adds; ``execution_time`` is in seconds."""
    seconds = taken.first("execution_time", only=(int, float))
    meta = {"tool_name": taken.first("name", only=str), "call_id": taken.first("tool_call_id", only=str)}
    return {
        "system": taken.first("system", only=str),
        "explanation": taken.first("explanation", only=str),
        "stats": None if seconds is None else {"execution_time": seconds},
        "meta": meta if seconds is None else {**meta, "duration_ms": seconds * 1000},
    }
