"""Agno's results: what a tool returns, what its execution gave, and the execution on record in a run."""

from __future__ import annotations

from typing import Any

from tooltrace.normalize.mcp import bare, kept, members_of, reply
from tooltrace.normalize.parts import answer, members
from tooltrace.normalize.rule import Reads, Seen, builtin
from tooltrace.normalize.taken import Taken
from tooltrace.response import ToolResponse

_EXECUTION = ("agno.models.response.ToolExecution",)
_MEDIA = ("images", "videos", "audios")
_WAITS = {
    "requires_confirmation": ("waits for a person's confirmation", "human_review"),
    "requires_user_input": ("waits for a person's input", "ask_user"),
    "external_execution_required": ("waits for its execution elsewhere", None),
}


@builtin(
    "agno_tool_result", "certain", Reads(kinds=("agno.tools.function.ToolResult",), members=("videos",)), opens="all"
)
def TOOL_RESULT(seen: Seen) -> ToolResponse | None:
    """``ToolResult``: content, and media beside it. It cannot say that the tool failed, but its text can."""
    data = seen.data
    is_dump = members(data, "content", *_MEDIA) and "status" not in data and "role" not in data
    known = is_dump or seen.is_a("agno.tools.function.ToolResult")
    return _tool_result(data, {}) if known and isinstance(data, dict) else None


def _tool_result(data: dict[str, Any], also: dict[str, Any]) -> ToolResponse:
    taken = members_of(data)
    said, more = taken.first("content"), taken.first("metadata")
    structured = None
    if isinstance(more, dict):  # where Agno keeps what MCP gave
        structured = more.get("structured_content")
        more = {name: value for name, value in bare(more).items() if name != "structured_content"} or None
    return reply(said, structured, also=kept(taken.rest(), also, metadata=more))


@builtin(
    "agno_function_execution",
    "certain",
    Reads(kinds=("agno.tools.function.FunctionExecutionResult",), members=("updated_session_state",)),
    opens="all",
)
def FUNCTION_EXECUTION(seen: Seen) -> ToolResponse | None:
    """``FunctionExecutionResult``: its status is ``success`` or ``failure``."""
    data = seen.data
    is_dump = members(data, "status", "result", "error", "updated_session_state")
    if not isinstance(data, dict) or not (is_dump or seen.is_a("agno.tools.function.FunctionExecutionResult")):
        return None
    taken = members_of(data)
    status, result = taken.first("status", only=str), taken.first("result")
    failed = status == "failure"
    error = taken.first("error", only=str) if failed else None
    context = kept(taken.rest(), status=status if status not in ("success", "failure") else None)
    if failed:
        return reply(error, result, failed=True, also=context)
    if members(result, "content", *_MEDIA):
        return _tool_result(result, context)
    return reply(result, also=context)


@builtin("agno_declined", "certain", Reads(kinds=_EXECUTION, members=("tool_call_error",)))
def DECLINED(seen: Seen) -> ToolResponse | None:
    """A ``ToolExecution`` that a person did not allow. The tool never ran, so it did not fail, whatever Agno's flag says."""
    taken = _execution(seen)
    if taken is None or taken.first("confirmed") is not False:
        return None
    said, error = taken.first("result"), taken.first("tool_call_error")
    fields = _fields(taken, confirmed=False, tool_call_error=error)
    note = seen.data.get("confirmation_note")
    return reply(said if said is not None else note, code="DECLINED", **fields)


@builtin("agno_tool_execution", "certain", Reads(kinds=_EXECUTION, members=("tool_call_error",)), opens="all")
def TOOL_EXECUTION(seen: Seen) -> ToolResponse | None:
    """``ToolExecution``, which a run's output has for each call."""
    taken = _execution(seen)
    if taken is None:
        return None
    said, error = taken.first("result"), taken.first("tool_call_error")
    waits = next((_WAITS[name] for name in _WAITS if seen.data.get(name) is True), None)
    if waits and said is None and error is None:
        return answer("partial", reason=waits[0], next_action=waits[1], **_renamed(_fields(taken)))
    odd = None if isinstance(error, bool) else error
    return reply(said, failed=error is True, **_fields(taken, tool_call_error=odd))


def _execution(seen: Seen) -> Taken | None:
    is_dump = members(seen.data, "tool_call_error", "tool_name", "result")
    known = is_dump or seen.is_a(*_EXECUTION)
    return members_of(seen.data) if known and isinstance(seen.data, dict) else None


def _fields(taken: Taken, **more: Any) -> dict[str, Any]:
    """What a ``ToolExecution`` says of the call beside its result."""
    metrics = taken.first("metrics", only=dict)
    meta = {"call_id": taken.first("tool_call_id", only=str), "tool_name": taken.first("tool_name", only=str)}
    seconds = metrics.get("duration") if metrics else None
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
        meta["duration_ms"] = seconds * 1000
    return {"also": kept(taken.rest(), **more), "meta": meta, "stats": metrics and bare(metrics)}


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {"context" if name == "also" else name: value for name, value in fields.items()}


RULES = (TOOL_RESULT, FUNCTION_EXECUTION, DECLINED, TOOL_EXECUTION)
