"""Recording of Pydantic AI's tools, without changing an agent, a tool or a run.

::

    from tooltrace.integrations import pydantic_ai

    pydantic_ai.install()
    ...
    pydantic_ai.remove()

Every tool call of every agent is recorded with the model's call id, the agent's name and the run's conversation id.
Pydantic AI's own spans show most of it as well; they need a provider and an option for each agent, and lack what the
model reads, calls that are rejected before a tool runs, and a person's answers. With both, a call is still one row if
``TooltraceSpanProcessor`` receives those spans.

``ModelRetry`` and ``ToolFailed`` are failures; ``ApprovalRequired`` and ``CallDeferred`` are pauses. A call that was
answered outside the run is recorded with that answer and the attribute ``pydantic_ai.ran`` false. Output tools, with
which the model ends a run, are not recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from tooltrace.errors import ConfigError
from tooltrace.faults import suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall, spec_for
from tooltrace.integrations.monkeypatch import MonkeyPatcher, PatchPoint
from tooltrace.integrations.side_table import WeakSideTable

__all__ = ["FRAMEWORK", "install", "remove"]

FRAMEWORK = "pydantic_ai"
STYLE = "pydantic_ai"
_WRAPPED = frozenset({"ToolRetryError", "ToolFailedError", "UnexpectedModelBehavior"})
"""Exceptions with which Pydantic AI replaces that of the tool, which is then their cause."""

_patches = MonkeyPatcher()
_open_calls: WeakSideTable[FrameworkCall] = WeakSideTable()
"""Calls whose arguments were validated, by their ``ToolCallPart``."""


class _Answer:
    """The part of a run that answers one call of the model."""

    call: FrameworkCall | None = None


_answer: ContextVar[_Answer | None] = ContextVar("tooltrace_pydantic_ai_answer", default=None)


def install() -> None:
    """Start recording; a second call has no effect.

    Raises ImportError if Pydantic AI is not installed, and ConfigError if its version is not supported.
    """
    try:
        import_module("pydantic_ai")
    except ImportError as error:
        raise ImportError("pydantic-ai is not installed: pip install 'tooltrace-recorder[pydantic-ai]'") from error
    try:
        _patches.make(_hook)
    except (ImportError, AttributeError, KeyError) as error:
        raise ConfigError(f"this version of pydantic-ai is not known ({error}); nothing is recorded") from error


def remove() -> None:
    """Stop recording and restore Pydantic AI's own functions."""
    _patches.undo()


def _hook() -> None:
    manager = import_module("pydantic_ai.tool_manager").ToolManager
    processor = import_module("pydantic_ai._tool_execution")._ToolCallProcessor  # noqa: SLF001 - no public place
    points: list[PatchPoint] = [
        (manager, "validate_tool_call", _validation),
        (manager, "execute_tool_call", _execution),
        (processor, "_call_tool", _answering),
        (processor, "_route_deferred_call", _deferral),
    ]
    _patches.wrap_all(points)


def _begin(call: Any, tool: Any, context: Any) -> FrameworkCall:
    """Begin ``call``, a ``ToolCallPart``, of ``tool``, a ``ToolsetTool`` (None if the tool is unknown)."""
    with suppress_faults("begin"):
        name, definition = call.tool_name, getattr(tool, "tool_def", None)
        made = getattr(getattr(tool, "toolset", None), "tools", None)
        function = getattr(made.get(name), "function", None) if isinstance(made, dict) else None
        return FrameworkCall(
            spec_for(name, getattr(definition, "description", None), function),
            call.args,
            style=STYLE,
            function=function,
            call_id=call.tool_call_id,
            agent=getattr(getattr(context, "agent", None), "name", None),
            conversation=getattr(context, "conversation_id", None),
            model=getattr(context, "model", None),
        )
    return FrameworkCall.unrecorded(STYLE)


def _validation(original: Callable[..., Any]) -> Callable[..., Any]:
    """Begin the call, so that Pydantic AI's own span of a rejection is inside it."""

    async def validate_tool_call(self: Any, call: Any, **options: Any) -> Any:
        tool = None
        with suppress_faults("begin"):
            tool = (self.tools or {}).get(call.tool_name)
        if _is_output(tool):
            return await original(self, call, **options)
        framework_call = _begin(call, tool, self.ctx)
        try:
            with framework_call.active():
                validated = await original(self, call, **options)
        except BaseException as error:
            _reject(framework_call, tool, _cause(error))
            raise
        with suppress_faults("begin"):
            _open_calls.put(call, framework_call)
            # A hook may have replaced the call; the execution is given the new object.
            if validated.call is not call:
                _open_calls.put(validated.call, framework_call)
        return validated

    return validate_tool_call


def _execution(original: Callable[..., Any]) -> Callable[..., Any]:
    async def execute_tool_call(self: Any, validated: Any, **options: Any) -> Any:
        if _is_output(validated.tool):
            return await original(self, validated, **options)
        call = _open_calls.pop(validated.call) or _begin(validated.call, validated.tool, validated.ctx)
        answer = _answer.get()
        if answer is not None:
            answer.call = call
        call.restart()
        try:
            with call.active():
                result = await original(self, validated, **options)
        except BaseException as error:
            if validated.args_valid:
                cause = _cause(error)  # ApprovalRequired and CallDeferred are pauses
                call.raised(cause, waits_for=_awaited(type(cause).__name__ == "CallDeferred"))
            else:
                _reject(call, validated.tool, _cause(error))
            raise
        call.returned(_value(result))
        return result

    return execute_tool_call


def _answering(original: Callable[..., Any]) -> Callable[..., Any]:
    """Record what the model reads, and the answers to deferred calls."""

    async def _call_tool(self: Any, tool_call: Any, *, tool_call_result: Any) -> Any:
        answer = _Answer()
        token = _answer.set(answer)
        try:
            parts = await original(self, tool_call, tool_call_result=tool_call_result)
        finally:
            _answer.reset(token)
        with suppress_faults("record", lost=1):
            part = parts[0][0]
            if answer.call is None:
                answer.call = self_call = _begin(getattr(tool_call, "call", tool_call), None, self.tool_manager.ctx)
                _answered(self_call, tool_call_result)
            answer.call.model_reads(part.model_response_str())
        return parts

    return _call_tool


def _answered(call: FrameworkCall, result: Any) -> None:
    """End a deferred call with the answer that the application gave."""
    if type(result).__name__ == "ToolDenied":
        call.finish("declined", note=result.message if result.message != type(result)().message else None)
    elif isinstance(result, BaseException):  # ModelRetry, ToolFailed
        call.raised(result, ran=False)
    else:
        call.returned(_value(result), ran=False)


def _deferral(original: Callable[..., Any]) -> Callable[..., Any]:
    """Record the calls of tools that always wait: for an approval, or for an execution outside the run."""

    def _route_deferred_call(self: Any, call: Any, deferral: Any) -> None:
        original(self, call, deferral)
        with suppress_faults("record", lost=1):
            tool = (self.tool_manager.tools or {}).get(call.tool_name)
            framework_call = _open_calls.pop(call) or _begin(call, tool, self.tool_manager.ctx)
            is_external = getattr(getattr(tool, "tool_def", None), "kind", None) == "external"
            framework_call.finish("paused", waits_for=_awaited(is_external))

    return _route_deferred_call


def _awaited(is_external: bool) -> str:
    return "external" if is_external else "confirmation"


def _reject(call: FrameworkCall, tool: Any, error: BaseException) -> None:
    call.refused("NOT_FOUND" if tool is None else "INVALID_PARAM", str(error))


def _cause(error: BaseException) -> BaseException:
    """Return the tool's own exception."""
    wrapped = type(error).__name__ in _WRAPPED and error.__cause__ is not None
    return _cause(error.__cause__) if wrapped and error.__cause__ is not None else error


def _value(result: Any) -> Any:
    """Return the tool's value, without what a ``ToolReturn`` adds for the model or the application."""
    return result.return_value if type(result).__name__ == "ToolReturn" else result


def _is_output(tool: Any) -> bool:
    return getattr(getattr(tool, "tool_def", None), "kind", None) == "output"
