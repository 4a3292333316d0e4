"""One execution of a tool by Strands: a retry is an execution, and an attempt, of its own."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from tooltrace.faults import report_fault, suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall, spec_for
from tooltrace.integrations.monkeypatch import MonkeyPatcher

STYLE = "strands"
_REJECTED = "Validation failed for input parameters"
"""Start of Strands' message where arguments do not fit the tool's signature."""


def traced_run_tool(original: Callable[..., Any], patches: MonkeyPatcher) -> Callable[..., Any]:
    """Return ``_run_tool`` of Strands' executor with recording."""

    @functools.wraps(original)
    async def run_tool(context: Any, *args: Any, **options: Any) -> AsyncGenerator[Any, None]:
        call = _begin(context) if patches.on else None
        stream = original(context, *args, **options)
        if call is None:
            try:
                async for event in stream:
                    yield event
            finally:
                await stream.aclose()
            return
        call.enter(below_other_spans=True)
        try:
            async for event in stream:
                _end(call, event, context.tool)
                yield event
        except BaseException as error:
            _raised(call, error)
            raise
        finally:
            call.leave()
            await stream.aclose()

    return run_tool


def begin(agent: Any, tool: Any, tool_use: Mapping[str, Any]) -> FrameworkCall:
    """Return the call that the model requests with ``tool_use``."""
    arguments = tool_use.get("input")
    known = arguments if isinstance(arguments, Mapping) else {}
    known = {key: value for key, value in known.items() if value is not agent}  # injected into a direct call
    spec = getattr(tool, "tool_spec", None) or {}
    return FrameworkCall(
        spec_for(str(tool_use["name"]), spec.get("description"), getattr(tool, "_tool_func", None)),
        known,
        style=STYLE,
        function=getattr(tool, "_tool_func", None),
        call_id=tool_use.get("toolUseId"),
        conversation=conversation_of(agent),
        agent=getattr(agent, "name", None),
        model=getattr(agent, "model", None),
    )


def conversation_of(agent: Any) -> str | None:
    """Return the id of the agent's session."""
    session = getattr(agent, "session_id", None)
    return None if session is None else str(session)


def _begin(context: Any) -> FrameworkCall | None:
    try:
        return begin(context.agent, context.tool, context.tool_use)
    except Exception:
        report_fault("begin")
        return None


def _end(call: FrameworkCall, event: Any, tool: Any) -> None:
    """Record the end of ``call`` if ``event`` reports it; without ``tool``, the agent does not have the tool."""
    with suppress_faults("record", lost=1):
        kind = type(event).__name__
        if kind == "ToolInterruptEvent":
            call.finish("paused", waits_for="input")
        elif kind == "ToolResultEvent":
            if tool is None and event.exception is not None:
                call.refused("NOT_FOUND", str(event.exception))
            elif event.exception is not None:
                _failed(call, event.exception)
            else:
                call.returned(event.tool_result)


def _raised(call: FrameworkCall, error: BaseException) -> None:
    if type(error).__name__ == "InterruptException":
        call.finish("paused", waits_for="input")
    else:
        call.raised(error)


def _failed(call: FrameworkCall, error: BaseException) -> None:
    """Record the exception of the tool, or the ``ValueError`` that Strands raises where arguments do not fit."""
    cause = error.__cause__
    rejected = type(error) is ValueError and str(error).startswith(_REJECTED)
    if rejected and cause is not None and type(cause).__name__ == "ValidationError":
        call.refused("INVALID_PARAM", str(cause), error=cause)
    else:
        call.raised(error)
