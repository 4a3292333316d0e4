"""Recording of CrewAI's tools, without changing an agent, a tool or a crew.

::

    from tooltrace.integrations import crewai

    crewai.install()
    ...
    crewai.remove()

The events of CrewAI's bus begin and end each call, at the moment when they are emitted. Handlers of the bus would receive
them later and in other threads, and the events have neither the call id, nor the tool's own result, nor what the model
reads. Therefore the bus, the execution of native calls and the tools' ``run`` are replaced.

A call has the model's id if the model calls tools natively; an agent that writes its actions as text has no ids. The
agent's role is recorded as agent. CrewAI has no sessions: use ``tooltrace.context(conversation_id=…)`` around a kickoff.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from tooltrace.errors import ConfigError
from tooltrace.faults import suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall, spec_for
from tooltrace.integrations.monkeypatch import MonkeyPatcher, PatchPoint

__all__ = ["FRAMEWORK", "install", "remove"]

FRAMEWORK = "crewai"
STYLE = "crewai"
_EXECUTORS = (
    ("crewai.agents.agent_executor", "AgentExecutor"),
    ("crewai.experimental.agent_executor", "AgentExecutor"),
    ("crewai.agents.crew_agent_executor", "CrewAgentExecutor"),
)
"""Modules and classes of the executors. CrewAI 1.15.29 and later have only the first."""
_INVALID = "rguments validation failed"
"""Text in CrewAI's error for arguments that do not fit the tool."""
_BLOCKED = "Tool execution blocked by hook"
_NOT_RUN = (
    ("Tool not found", "NOT_FOUND"),
    (" has reached its usage limit of ", "CALL_LIMIT"),
    (" has reached its maximum usage limit of ", "CALL_LIMIT"),
)
"""Text with which CrewAI answers a call that it did not execute, and the code that it means."""

_patches = MonkeyPatcher()


class _Turn:
    """One answer of CrewAI to a call of the model; a retry is a further attempt."""

    def __init__(self, call_id: str | None = None, name: str | None = None, arguments: Any = None) -> None:
        self.call_id = call_id
        self.name = name
        self.arguments = arguments
        self.call: FrameworkCall | None = None

    def open(self) -> FrameworkCall | None:
        """Return the call that runs; None if there is none."""
        return None if self.call is None or self.call.ended else self.call


_turn: ContextVar[_Turn | None] = ContextVar("tooltrace_crewai_turn", default=None)


def install() -> None:
    """Start recording; a second call has no effect.

    Raises ImportError if CrewAI is not installed, and ConfigError if its version is not supported.
    """
    try:
        import_module("crewai")
    except ImportError as error:
        raise ImportError("crewai is not installed: pip install 'tooltrace-recorder[crewai]'") from error
    try:
        _patches.make(_hook)
    except (ImportError, AttributeError, KeyError) as error:
        raise ConfigError(f"this version of crewai is not known ({error}); nothing is recorded") from error


def remove() -> None:
    """Stop recording and restore CrewAI's own functions."""
    _patches.undo()


def _executors() -> list[type]:
    """Return the classes that execute native calls. Raises ImportError if this version has none of the known ones."""
    found: dict[type, None] = {}
    for module, name in _EXECUTORS:
        with suppress(ImportError, AttributeError):
            found[getattr(import_module(module), name)] = None  # a class once, under however many names
    if not found:
        raise ImportError(f"none of {', '.join('.'.join(place) for place in _EXECUTORS)} exists")
    return list(found)


def _hook() -> None:
    base, structured = import_module("crewai.tools.base_tool"), import_module("crewai.tools.structured_tool")
    usage = import_module("crewai.tools.tool_usage").ToolUsage
    native = "_execute_single_native_tool_call"
    points: list[PatchPoint] = [
        (import_module("crewai.events.event_bus").CrewAIEventsBus, "emit", _emission),
        *((executor, native, _native) for executor in _executors()),
        (import_module("crewai.agents.step_executor"), "execute_single_native_tool_call", _native),
        (usage, "parse_tool_calling", _text_action),
        (usage, "use", _text_action),
        (usage, "ause", _text_action_async),
        (base.BaseTool, "run", _run),
        (base.BaseTool, "arun", _run_async),
        (base.Tool, "run", _run),
        (base.Tool, "arun", _run_async),
        (structured.CrewStructuredTool, "invoke", _run),
        (structured.CrewStructuredTool, "ainvoke", _run_async),
    ]
    _patches.wrap_all(points)


# the events of a call


def _emission(original: Callable[..., Any]) -> Callable[..., Any]:
    def emit(self: Any, source: Any, event: Any) -> Any:
        observe = _EVENTS.get(type(event).__name__)
        if observe is not None:
            with suppress_faults("record"):
                observe(source, event)
        return original(self, source, event)

    return emit


def _started(source: Any, event: Any) -> None:
    turn = _turn.get()
    if turn is None:  # an LLM that calls tools itself
        turn = _Turn()
        _turn.set(turn)
    turn.call = _begin(turn, source, event)
    turn.call.enter()


def _finished(_source: Any, event: Any) -> None:
    turn = _turn.get()
    call = None if turn is None else turn.open()
    if turn is None or turn.call is None:
        return
    turn.call.leave()
    if call is None:
        return
    output = event.output
    code = next((code for words, code in _NOT_RUN if isinstance(output, str) and words in output), None)
    if isinstance(output, str) and output.startswith(_BLOCKED):
        call.blocked(output)
    elif code is not None:
        call.refused(code, output)
    elif turn.call_id is None:
        _end_without_run(call, output, cached=event.from_cache)


def _failed(_source: Any, event: Any) -> None:
    turn = _turn.get()
    if turn is None or turn.call is None:
        return
    turn.call.leave()
    call = turn.open()
    if call is not None and isinstance(event.error, BaseException):
        call.raised(event.error)
    elif call is not None:
        call.failed("EXECUTION_ERROR", str(event.error))


def _unknown(source: Any, event: Any) -> None:
    turn = _turn.get() or _Turn()
    if turn.call is None:  # CrewAI looks for the tool several times
        turn.call = _begin(turn, source, event)
        turn.call.refused("NOT_FOUND", str(event.error))


def _end_without_run(call: FrameworkCall, output: Any, *, cached: bool) -> None:
    if cached:
        call.cached(output)
    else:
        call.returned(output, ran=False)


_EVENTS: dict[str, Callable[[Any, Any], None]] = {
    "ToolUsageStartedEvent": _started,
    "ToolUsageFinishedEvent": _finished,
    "ToolUsageErrorEvent": _failed,
    "ToolSelectionErrorEvent": _unknown,
}


def _begin(turn: _Turn, source: Any, event: Any) -> FrameworkCall:
    agent = getattr(source, "agent", None)
    return FrameworkCall(
        spec_for(event.tool_name),
        event.tool_args or turn.arguments,
        style=STYLE,
        call_id=turn.call_id,
        agent=event.agent_role or getattr(agent, "role", None),
        model=getattr(agent, "llm", None),
    )


# the functions around the events


def _native(original: Callable[..., Any]) -> Callable[..., Any]:
    """Provide the model's id of a native call, and record what the model reads."""

    def execute(*args: Any, **options: Any) -> Any:
        turn = _Turn()
        with suppress_faults("begin"):
            turn.call_id, turn.name, turn.arguments = _native_call(args, options)
        token = _turn.set(turn)
        try:
            result = original(*args, **options)
        finally:
            _turn.reset(token)
        with suppress_faults("record"):
            fields = result if isinstance(result, dict) else vars(result)
            text = fields.get("result")
            if turn.call is None and turn.name:  # the arguments are not JSON
                agent = getattr(args[0] if args else None, "agent", None)
                turn.call = FrameworkCall(
                    spec_for(turn.name),
                    turn.arguments,
                    style=STYLE,
                    call_id=turn.call_id,
                    agent=getattr(agent, "role", None),
                    model=getattr(agent, "llm", None),
                )
                turn.call.refused("INVALID_FORMAT", str(text))
            if turn.call is not None:
                _end_without_run(turn.call, text, cached=bool(fields.get("from_cache")))  # no effect if the tool ran
                turn.call.model_reads(text)
        return result

    return execute


def _native_call(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[str | None, str | None, Any]:
    """Return id, tool and arguments of a call that was given in one of CrewAI's three forms."""
    if "call_id" in options:
        return options["call_id"], options["func_name"], options["func_args"]
    call = options["tool_call"] if "tool_call" in options else args[-1]
    found = import_module("crewai.utilities.agent_utils").extract_tool_call_info(call)
    return found or (None, None, None)


def _text_action(original: Callable[..., Any]) -> Callable[..., Any]:
    """Record what the model reads about an action that it wrote as text, also where it names an unknown tool."""

    def use(self: Any, *args: Any, **options: Any) -> Any:
        turn = _Turn()
        token = _turn.set(turn)
        try:
            result = original(self, *args, **options)
        finally:
            _turn.reset(token)
        _record_seen_text(turn, getattr(result, "message", result))
        return result

    return use


def _text_action_async(original: Callable[..., Any]) -> Callable[..., Any]:
    async def ause(self: Any, *args: Any, **options: Any) -> Any:
        turn = _Turn()
        token = _turn.set(turn)
        try:
            result = await original(self, *args, **options)
        finally:
            _turn.reset(token)
        _record_seen_text(turn, result)
        return result

    return ause


def _record_seen_text(turn: _Turn, text: Any) -> None:
    if turn.call is not None:
        turn.call.model_reads(text)


def _run(original: Callable[..., Any]) -> Callable[..., Any]:
    """Record the tool's own result or exception."""

    def run(self: Any, *args: Any, **options: Any) -> Any:
        turn = _turn.get()
        call = None if turn is None else turn.open()
        if call is None:
            return original(self, *args, **options)
        _turn.set(None)  # further tools that this one runs have no part in the call
        try:
            result = original(self, *args, **options)
        except BaseException as error:
            _raised(call, error)
            raise
        finally:
            _turn.set(turn)
        _returned(call, result)
        return result

    return run


def _run_async(original: Callable[..., Any]) -> Callable[..., Any]:
    async def run(self: Any, *args: Any, **options: Any) -> Any:
        turn = _turn.get()
        call = None if turn is None else turn.open()
        if call is None:
            return await original(self, *args, **options)
        _turn.set(None)
        try:
            result = await original(self, *args, **options)
        except BaseException as error:
            _raised(call, error)
            raise
        finally:
            _turn.set(turn)
        _returned(call, result)
        return result

    return run


def _returned(call: FrameworkCall, result: Any) -> None:
    limit = isinstance(result, str) and result.startswith("Tool '") and _NOT_RUN[1][0] in result
    if limit:
        call.refused("CALL_LIMIT", result)
    else:
        call.returned(result)


def _raised(call: FrameworkCall, error: BaseException) -> None:
    if isinstance(error, ValueError) and _INVALID in str(error):
        call.refused("INVALID_PARAM", str(error))
    else:
        call.raised(error)
