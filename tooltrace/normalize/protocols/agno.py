"""Rules for Agno's results: of a tool, of its execution, and of the execution recorded in a run."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.member_reader import MemberReader
from tooltrace.normalize.protocols.mcp import bare, context_of, members_of, reply
from tooltrace.normalize.response_builders import build_response, has_members
from tooltrace.normalize.rule import Matches, ResultView, builtin

_EXECUTION = ("agno.models.response.ToolExecution",)
_MEDIA = ("images", "videos", "audios")
_WAITS = {
    "requires_confirmation": ("waits for a person's confirmation", "human_review"),
    "requires_user_input": ("waits for a person's input", "ask_user"),
    "external_execution_required": ("waits for its execution elsewhere", None),
}


@builtin(
    "agno_tool_result", "certain", Matches(kinds=("agno.tools.function.ToolResult",), members=("videos",)), opens="all"
)
def TOOL_RESULT(view: ResultView) -> ToolResponse | None:
    """Read a ``ToolResult``: content, and media beside it.

    The class has no member for a failure, but its text can report one.
    """
    data = view.data
    is_dump = has_members(data, "content", *_MEDIA) and "status" not in data and "role" not in data
    known = is_dump or view.is_a("agno.tools.function.ToolResult")
    return _tool_result(data, {}) if known and isinstance(data, dict) else None


def _tool_result(data: dict[str, Any], also: dict[str, Any]) -> ToolResponse:
    members = members_of(data)
    content, more = members.pop("content"), members.pop("metadata")
    structured = None
    if isinstance(more, dict):  # Agno stores MCP's structured content here
        structured = more.get("structured_content")
        more = {name: value for name, value in bare(more).items() if name != "structured_content"} or None
    return reply(content, structured, also=context_of(members.remaining(), also, metadata=more))


@builtin(
    "agno_function_execution",
    "certain",
    Matches(kinds=("agno.tools.function.FunctionExecutionResult",), members=("updated_session_state",)),
    opens="all",
)
def FUNCTION_EXECUTION(view: ResultView) -> ToolResponse | None:
    """Read a ``FunctionExecutionResult``: its status is ``success`` or ``failure``."""
    data = view.data
    is_dump = has_members(data, "status", "result", "error", "updated_session_state")
    if not isinstance(data, dict) or not (is_dump or view.is_a("agno.tools.function.FunctionExecutionResult")):
        return None
    members = members_of(data)
    status, result = members.pop("status", only=str), members.pop("result")
    failed = status == "failure"
    error = members.pop("error", only=str) if failed else None
    context = context_of(members.remaining(), status=status if status not in ("success", "failure") else None)
    if failed:
        return reply(error, result, failed=True, also=context)
    if has_members(result, "content", *_MEDIA):
        return _tool_result(result, context)
    return reply(result, also=context)


@builtin("agno_declined", "certain", Matches(kinds=_EXECUTION, members=("tool_call_error",)))
def DECLINED(view: ResultView) -> ToolResponse | None:
    """Read a ``ToolExecution`` that a person declined.

    The tool never ran, so it did not fail, whatever Agno's flag says.
    """
    members = _execution(view)
    if members is None or members.pop("confirmed") is not False:
        return None
    result, error = members.pop("result"), members.pop("tool_call_error")
    fields = _fields(members, confirmed=False, tool_call_error=error)
    note = view.data.get("confirmation_note")
    return reply(result if result is not None else note, code="DECLINED", **fields)


@builtin("agno_tool_execution", "certain", Matches(kinds=_EXECUTION, members=("tool_call_error",)), opens="all")
def TOOL_EXECUTION(view: ResultView) -> ToolResponse | None:
    """Read a ``ToolExecution``; a run's output has one for each call."""
    members = _execution(view)
    if members is None:
        return None
    result, error = members.pop("result"), members.pop("tool_call_error")
    waits = next((_WAITS[name] for name in _WAITS if view.data.get(name) is True), None)
    if waits and result is None and error is None:
        return build_response("partial", reason=waits[0], next_action=waits[1], **_renamed(_fields(members)))
    odd = None if isinstance(error, bool) else error
    return reply(result, failed=error is True, **_fields(members, tool_call_error=odd))


def _execution(view: ResultView) -> MemberReader | None:
    is_dump = has_members(view.data, "tool_call_error", "tool_name", "result")
    known = is_dump or view.is_a(*_EXECUTION)
    return members_of(view.data) if known and isinstance(view.data, dict) else None


def _fields(members: MemberReader, **more: Any) -> dict[str, Any]:
    """Return the members of a ``ToolExecution`` that describe the call, not its result."""
    metrics = members.pop("metrics", only=dict)
    meta = {"call_id": members.pop("tool_call_id", only=str), "tool_name": members.pop("tool_name", only=str)}
    seconds = metrics.get("duration") if metrics else None
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
        meta["duration_ms"] = seconds * 1000
    return {"also": context_of(members.remaining(), **more), "meta": meta, "stats": metrics and bare(metrics)}


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {"context" if name == "also" else name: value for name, value in fields.items()}


RULES = (TOOL_RESULT, FUNCTION_EXECUTION, DECLINED, TOOL_EXECUTION)
