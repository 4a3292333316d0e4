"""Rules for Agno's results: of a tool, of its execution, and of the execution recorded in a run."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.member_reader import MemberReader
from tooltrace.normalize.protocols.mcp import bare, kept, members_of, reply
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
def TOOL_RESULT(seen: ResultView) -> ToolResponse | None:
    """Read a ``ToolResult``: content, and media beside it.

    The class has no member for a failure, but its text can report one.
    """
    data = seen.data
    is_dump = has_members(data, "content", *_MEDIA) and "status" not in data and "role" not in data
    known = is_dump or seen.is_a("agno.tools.function.ToolResult")
    return _tool_result(data, {}) if known and isinstance(data, dict) else None


def _tool_result(data: dict[str, Any], also: dict[str, Any]) -> ToolResponse:
    taken = members_of(data)
    said, more = taken.pop("content"), taken.pop("metadata")
    structured = None
    if isinstance(more, dict):  # Agno stores MCP's structured content here
        structured = more.get("structured_content")
        more = {name: value for name, value in bare(more).items() if name != "structured_content"} or None
    return reply(said, structured, also=kept(taken.remaining(), also, metadata=more))


@builtin(
    "agno_function_execution",
    "certain",
    Matches(kinds=("agno.tools.function.FunctionExecutionResult",), members=("updated_session_state",)),
    opens="all",
)
def FUNCTION_EXECUTION(seen: ResultView) -> ToolResponse | None:
    """Read a ``FunctionExecutionResult``: its status is ``success`` or ``failure``."""
    data = seen.data
    is_dump = has_members(data, "status", "result", "error", "updated_session_state")
    if not isinstance(data, dict) or not (is_dump or seen.is_a("agno.tools.function.FunctionExecutionResult")):
        return None
    taken = members_of(data)
    status, result = taken.pop("status", only=str), taken.pop("result")
    failed = status == "failure"
    error = taken.pop("error", only=str) if failed else None
    context = kept(taken.remaining(), status=status if status not in ("success", "failure") else None)
    if failed:
        return reply(error, result, failed=True, also=context)
    if has_members(result, "content", *_MEDIA):
        return _tool_result(result, context)
    return reply(result, also=context)


@builtin("agno_declined", "certain", Matches(kinds=_EXECUTION, members=("tool_call_error",)))
def DECLINED(seen: ResultView) -> ToolResponse | None:
    """Read a ``ToolExecution`` that a person declined.

    The tool never ran, so it did not fail, whatever Agno's flag says.
    """
    taken = _execution(seen)
    if taken is None or taken.pop("confirmed") is not False:
        return None
    said, error = taken.pop("result"), taken.pop("tool_call_error")
    fields = _fields(taken, confirmed=False, tool_call_error=error)
    note = seen.data.get("confirmation_note")
    return reply(said if said is not None else note, code="DECLINED", **fields)


@builtin("agno_tool_execution", "certain", Matches(kinds=_EXECUTION, members=("tool_call_error",)), opens="all")
def TOOL_EXECUTION(seen: ResultView) -> ToolResponse | None:
    """Read a ``ToolExecution``; a run's output has one for each call."""
    taken = _execution(seen)
    if taken is None:
        return None
    said, error = taken.pop("result"), taken.pop("tool_call_error")
    waits = next((_WAITS[name] for name in _WAITS if seen.data.get(name) is True), None)
    if waits and said is None and error is None:
        return build_response("partial", reason=waits[0], next_action=waits[1], **_renamed(_fields(taken)))
    odd = None if isinstance(error, bool) else error
    return reply(said, failed=error is True, **_fields(taken, tool_call_error=odd))


def _execution(seen: ResultView) -> MemberReader | None:
    is_dump = has_members(seen.data, "tool_call_error", "tool_name", "result")
    known = is_dump or seen.is_a(*_EXECUTION)
    return members_of(seen.data) if known and isinstance(seen.data, dict) else None


def _fields(taken: MemberReader, **more: Any) -> dict[str, Any]:
    """Return the members of a ``ToolExecution`` that describe the call, not its result."""
    metrics = taken.pop("metrics", only=dict)
    meta = {"call_id": taken.pop("tool_call_id", only=str), "tool_name": taken.pop("tool_name", only=str)}
    seconds = metrics.get("duration") if metrics else None
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
        meta["duration_ms"] = seconds * 1000
    return {"also": kept(taken.remaining(), **more), "meta": meta, "stats": metrics and bare(metrics)}


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {"context" if name == "also" else name: value for name, value in fields.items()}


RULES = (TOOL_RESULT, FUNCTION_EXECUTION, DECLINED, TOOL_EXECUTION)
