"""The loops of the agents: calls that the model requested, and the messages that it received."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.faults import suppress_faults
from tooltrace.integrations.hello_agents.call_arguments import CallArguments, function_in, json_object, tool_in
from tooltrace.integrations.hello_agents.proxy import AgentProxy, accepts_proxy
from tooltrace.integrations.hello_agents.recording import ExpectedCall, Recording, Step, carried
from tooltrace.integrations.monkeypatch import MonkeyPatcher
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import UNKNOWN
from tooltrace.tools import ToolRegistry
from tooltrace.tools.adapters.hello_agents_stack import CallerInfo, caller, model_of, name_of, session_of

Function = Callable[..., Any]

Call = tuple[str | None, str]
"""Key of a call: the model's call id, else the tool's name."""

_current_recordings: ContextVar[dict[Call, Recording] | None] = ContextVar("tooltrace_hello_agents_heard", default=None)
"""Calls of the current asynchronous loop that reached a tool, with their recordings."""


def hook(patches: MonkeyPatcher, agent: type, react: type) -> None:
    """Replace the functions of the agents that calls pass through."""
    patches.wrap(agent, "_execute_tool_call", execute_tool_call)
    patches.wrap(agent, "arun", arun)
    patches.wrap(react, "_handle_builtin_tool", lambda original: handle_builtin_tool(original, agent))
    for name in ("_execute_tools_async", "_execute_tools_async_stream"):
        patches.wrap(react, name, execute_tools)


def register_recording(who: CallerInfo, name: str, recording: Recording) -> None:
    """Store that the call of ``who`` reached the tool ``name``."""
    recordings = _current_recordings.get()
    if recordings is not None:
        recordings[_key(who.call_id, name)] = recording


def execute_tool_call(original: Function) -> Function:
    """Wrap ``Agent._execute_tool_call``, whose arguments come from the model and whose result the model reads."""

    def wrapper(agent: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(agent.tool_registry, ToolRegistry):  # it records its calls itself, but not the message
            text = original(agent, *args, **kwargs)
            with suppress_faults("read"):
                who = caller(
                    "_execute_tool_call", CallArguments(args, kwargs).value(0, "tool_name"), _agent_class(agent)
                )
                if who.call_id is not None:
                    get_recorder().record_model_message(who.call_id, text, style="openai")
            return text
        step: Any = nullcontext()
        with suppress_faults("begin"):
            step = _call_step(agent, CallArguments(args, kwargs))
        with step as entered:
            text = original(agent, *args, **kwargs)
            if entered is not None:
                with suppress_faults("read"):
                    _record_shown_text(entered.recording, agent, text)
        return text

    return wrapper


def handle_builtin_tool(original: Function, agent_class: type) -> Function:
    """Wrap ``ReActAgent._handle_builtin_tool``, which runs Thought and Finish; neither can fail."""

    def wrapper(agent: Any, *args: Any, **kwargs: Any) -> Any:
        step: Any = nullcontext()
        with suppress_faults("begin"):
            step = _builtin(agent, CallArguments(args, kwargs), agent_class)
        with step as entered:
            result = original(agent, *args, **kwargs)
            if entered is not None:
                with suppress_faults("read"):
                    _set_seen_text(entered.recording, result)
        return result

    return wrapper


def execute_tools(original: Function) -> Function:
    """Wrap the asynchronous loop of ReActAgent; calls that reached no tool are recognized by its answers."""

    async def wrapper(agent: Any, *args: Any, **kwargs: Any) -> Any:
        recordings: dict[Call, Recording] = {}
        token = _current_recordings.set(recordings)
        try:
            results = await original(agent, *args, **kwargs)
        finally:
            _current_recordings.reset(token)
        with suppress_faults("record"):
            _record_messages(agent, CallArguments(args, kwargs).value(0, "tool_calls"), results, recordings)
        return results

    return wrapper


def arun(original: Function) -> Function:
    """Wrap ``arun`` of an agent or a tool, which calls ``run`` in a thread, to carry our context into the thread."""

    async def wrapper(runs: Any, *args: Any, **kwargs: Any) -> Any:
        target = runs
        with suppress_faults("carry"):
            if accepts_proxy(original):
                target = AgentProxy(runs, run=carried(runs.run))
        return await original(target, *args, **kwargs)

    return wrapper


def _call_step(agent: Any, passed: CallArguments) -> Step:
    name, arguments = passed.value(0, "tool_name"), passed.value(1, "arguments")
    tool = tool_in(agent.tool_registry, name)
    who = _or_agent(caller("_execute_tool_call", name, _agent_class(agent)), agent)
    recording = Recording(name, arguments, target=tool, caller=who)
    return Step(recording, ExpectedCall(recording, tool, name), opens=True)


def _builtin(agent: Any, passed: CallArguments, agent_class: type) -> Step:
    name, arguments = passed.value(0, "tool_name"), passed.value(1, "arguments")
    who = caller("_handle_builtin_tool", name, agent_class)
    recording = Recording(name, arguments, caller=_or_agent(who, agent))
    register_recording(who, name, recording)
    return Step(recording, None, opens=True)


def _set_seen_text(recording: Recording, result: Any) -> None:
    recording.result = ToolResponse.success(result["content"], result)
    if _current_recordings.get() is None:  # otherwise the loop's answers are recorded
        recording.seen_text = result["content"]


def _record_shown_text(recording: Recording, agent: Any, text: Any) -> None:
    """Store the text that the model receives; it is also the result if no tool returned one."""
    recording.seen_text = text if isinstance(text, str) else None
    if not recording.answered:
        registry = agent.tool_registry
        there = tool_in(registry, recording.tool) is not None or function_in(registry, recording.tool) is not None
        recording.unusable = not there and registry is not None
        recording.result = ToolResponse.error("NOT_FOUND", str(text)) if recording.unusable else text


def _record_messages(agent: Any, tool_calls: Any, results: Any, recordings: dict[Call, Recording]) -> None:
    """Record the message of each call; calls that the loop answered itself are recorded as attempts here."""
    requested = {call.id: getattr(call, "function", call) for call in tool_calls}
    for name, call_id, answer in results:
        text = answer["content"]
        recording, sent = recordings.get(_key(call_id, name)), requested[call_id].arguments
        if recording is None and not _recorded_by_registry(agent.tool_registry, name, sent):
            _record_unrun(agent, name, call_id or None, sent, text)
        elif call_id:
            span_id = None if recording is None else recording.span_id
            get_recorder().record_model_message(call_id, text, style="openai", span_id=span_id)


def _recorded_by_registry(registry: Any, name: str, sent: Any) -> bool:
    """Whether the call reached a registry of tooltrace, which records its calls itself."""
    return isinstance(registry, ToolRegistry) and name in registry and isinstance(json_object(sent), dict)


def _key(call_id: str | None, name: str) -> Call:
    return (call_id, "") if call_id else (None, name)


def _record_unrun(agent: Any, name: str, call_id: str | None, sent: Any, text: str) -> None:
    arguments = json_object(sent) if isinstance(sent, str) else sent
    recording = Recording(name, arguments, caller=_or_agent(CallerInfo(call_id), agent))
    with Step(recording, None, opens=True):
        recording.duration_ns = UNKNOWN
        recording.seen_text = text
        recording.result = _result_of_loop(agent, name, arguments, text)
        recording.unusable = isinstance(recording.result, ToolResponse) and not recording.result.ok


def _result_of_loop(agent: Any, name: str, arguments: Any, text: str) -> Any:
    if not isinstance(arguments, dict):
        return ToolResponse.error("INVALID_FORMAT", text)
    if name in agent._builtin_tools:  # noqa: SLF001 - the package's table of Thought and Finish
        return ToolResponse.success(text)
    there = tool_in(agent.tool_registry, name) is not None  # this loop looks up tools, not functions
    return text if there else ToolResponse.error("NOT_FOUND", text)


def _or_agent(who: CallerInfo, agent: Any) -> CallerInfo:
    """Return ``who``, completed from the agent itself where the caller is not known."""
    return who._replace(
        agent=who.agent or name_of(agent),
        session=who.session or session_of(agent),
        model=who.model or model_of(agent),
    )


def _agent_class(agent: Any) -> type:
    """Return the package's base class of all agents, which defines the loop's helper."""
    return next(kind for kind in reversed(type(agent).__mro__) if "_execute_tool_call" in vars(kind))
