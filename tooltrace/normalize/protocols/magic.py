"""Rule for Magic's ``ToolResult``: output or content, error or ok, and members that Magic's loop adds."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.response_builders import MemberReader, build_error, build_response, merge_context, read_error
from tooltrace.normalize.rule import Matches, ResultView, builtin

_MEMBERS = frozenset(
    {"output", "content", "error", "ok", "data", "extra_info", "system", "tool_call_id", "name", "execution_time"}
    | {"explanation", "use_custom_remark"}
)
_DISTINCTIVE = frozenset({"system", "tool_call_id", "execution_time", "explanation"})
"""Members that other kinds of results seldom have."""


@builtin("magic", "certain", Matches(members=("output", "error", "content")), opens="all")
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a class called ToolResult with these fields, or an object with these members.

    The object has at least three of these members and no others.
    """
    if not isinstance(view.data, dict):
        return None
    names = set(view.data)
    named = any(kind.rpartition(".")[2] == "ToolResult" for kind in view.kinds)
    if not (_is_class(names) if named else _is_result(names)):
        return None
    return read(MemberReader(view.data))


def _is_class(names: AbstractSet[str]) -> bool:
    return {"output", "error"} <= names or {"content", "ok", "system"} <= names


def _is_result(names: AbstractSet[str]) -> bool:
    """Whether ``names`` are those of a result, not of a row about a job.

    A result has a member of its own, or both of the members that hold the answer.
    """
    if not names <= _MEMBERS or len(names) < 3:
        return False
    if {"output", "error"} <= names:
        return True
    distinctive = names & _DISTINCTIVE
    if {"content", "ok"} <= names:
        return bool(distinctive)
    # A row about a job often has an execution time, so this member alone does not make a result.
    return bool({"output", "error"} & names) and bool(distinctive - {"execution_time"})


def read(members: MemberReader) -> ToolResponse:
    """Return the response with the ``members`` of Magic's result."""
    output, error, ok = members.pop("output", "content"), members.pop_nonempty("error"), members.pop("ok", only=bool)
    text = output if isinstance(output, str) else None
    data = (members.pop("data") or None) if text is not None or output is None else output
    fields = _fields(members)
    if error or ok is False:
        reading = merge_context(read_error(error or text), members.remaining())
        if error and output not in (None, ""):
            reading["context"] = {**reading["context"], "output": output}
        return build_error(**reading, data=data, **fields)
    return build_response("success", text, data, context=members.remaining(), **fields)


def _fields(members: MemberReader) -> dict[str, Any]:
    """Return the fields that Magic's loop adds; ``execution_time`` is in seconds, and 0 where nobody measured it."""
    seconds = members.pop("execution_time", only=(int, float)) or None
    meta = {"tool_name": members.pop("name", only=str), "call_id": members.pop("tool_call_id", only=str)}
    return {
        "system": members.pop("system", only=str),
        "explanation": members.pop("explanation", only=str),
        "stats": None if seconds is None else {"execution_time": seconds},
        "meta": meta if seconds is None else {**meta, "duration_ms": seconds * 1000},
    }
