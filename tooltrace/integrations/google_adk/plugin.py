"""The plugin that records the tool calls of a runner."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import RLock
from typing import Any, NamedTuple

from google.adk.plugins.base_plugin import BasePlugin  # type: ignore[import-not-found,import-untyped,unused-ignore]

from tooltrace.core.lru import LruMap
from tooltrace.faults import suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall, spec_for
from tooltrace.recording.call_identity import model_name
from tooltrace.recording.config import get_recorder
from tooltrace.recording.context import context
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.redact.walk import to_json_bytes

STYLE = "google_adk"
INVOCATION = "google_adk.invocation_id"
"""Attribute: id of the invocation that the call belongs to."""
_NOT_FOUND = "Tool not found"
"""Description of the tool that ADK makes up for a call of an unknown tool."""
_OWN = "adk_request_"
"""Beginning of the names of the tools with which ADK asks for a confirmation or for credentials."""
_MAX_OPEN_CALLS = 10_000
"""Maximum number of calls that run at once; beyond it the oldest is recorded as abandoned."""


class _RunningCall(NamedTuple):
    context: Any
    """The call's ``ToolContext``; the reference keeps its id from being used again."""
    call: FrameworkCall


class _Started(NamedTuple):
    """The call of a long-running tool, whose result comes later."""

    spec: ToolSpec
    arguments: dict[str, Any]
    agent: str | None
    model: str | None


_started: LruMap[_Started] = LruMap(_MAX_OPEN_CALLS)
"""The calls of long-running tools by session and call id, for all runners: the result may be sent to another one."""


class ToolTracePlugin(BasePlugin):  # type: ignore[misc,unused-ignore]
    """Plugin that records every tool call of its runner, and of the agents that run as tools inside it.

    ``name``: name of the plugin, unique in its runner.
    """

    def __init__(self, name: str = "tooltrace", *, installed: bool = False) -> None:
        super().__init__(name=name)
        self.installed = installed
        """Whether ``install`` made the plugin, which ``remove`` then takes out."""
        self._running: OrderedDict[int, _RunningCall] = OrderedDict()
        self._lock = RLock()

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> None:
        """Begin the attempt of a tool."""
        with suppress_faults("begin", lost=1):
            call = FrameworkCall(
                _spec(tool),
                tool_args,
                style=STYLE,
                function=getattr(tool, "func", None),
                call_id=tool_context.function_call_id,
                conversation=tool_context.session.id,
                agent=tool_context.agent_name,
                model=_model_of(tool_context),
                attributes={INVOCATION: tool_context.invocation_id},
            )
            call.enter(below_other_spans=True)
            with self._lock:
                self._running[id(tool_context)] = _RunningCall(tool_context, call)
                oldest = self._running.popitem(last=False)[1] if len(self._running) > _MAX_OPEN_CALLS else None
            if oldest is not None:
                oldest.call.finish("abandoned")

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: dict[str, Any]
    ) -> None:
        """Record that the tool returned ``result``, that the call waits, or that a person rejected it."""
        call = self._pop_call(tool_context)
        if call is None:
            return
        with suppress_faults("record", lost=1):
            if _waits(tool, tool_context):
                asks = bool(tool_context.actions.requested_tool_confirmations)
                call.finish("paused", waits_for="confirmation" if asks else "external")
                if tool.is_long_running:
                    known = _Started(_spec(tool), dict(tool_args), tool_context.agent_name, _model_of(tool_context))
                    _started.put((tool_context.session.id, tool_context.function_call_id), known)
            elif tool_context.tool_confirmation is not None and not tool_context.tool_confirmation.confirmed:
                call.finish("declined")
            elif _is_rejection(tool, result):
                call.refused("INVALID_PARAM", str(result["error"]))
            else:
                call.returned(result)

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: BaseException
    ) -> None:
        """Record that ``error`` left the tool, or that the agent does not have it."""
        del tool_args
        call = self._pop_call(tool_context)
        if call is None:
            return
        with suppress_faults("record", lost=1):
            if _is_unknown(tool):
                call.refused("NOT_FOUND", str(error).partition("\n")[0])
            else:
                call.raised(error)

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> None:
        """Record the results of long-running tools, which an application sends as a message."""
        with suppress_faults("record", lost=1):
            session = invocation_context.session.id
            for part in user_message.parts or ():
                response = part.function_response
                if response is None:
                    continue
                started = _started.get((session, response.id)) or _in_history(invocation_context, response.id)
                if started is not None:
                    call = FrameworkCall(
                        started.spec,
                        started.arguments,
                        style=STYLE,
                        call_id=response.id,
                        conversation=session,
                        agent=started.agent,
                        model=started.model,
                        attributes={INVOCATION: invocation_context.invocation_id},
                    )
                    call.returned(response.response, ran=False)

    async def on_run_error_callback(self, *, invocation_context: Any, error: BaseException) -> None:
        """Record ``error`` for calls that began and whose callbacks it prevented."""
        with suppress_faults("record"):
            with self._lock:
                left = [
                    running.context
                    for running in self._running.values()
                    if running.context.invocation_id == invocation_context.invocation_id
                ]
            for tool_context in left:
                call = self._pop_call(tool_context)
                if call is not None:
                    call.raised(error)

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        """Record the responses in ``event``, which the model reads."""
        with suppress_faults("record"), context(conversation_id=invocation_context.session.id):
            for response in event.get_function_responses():
                if response.id is not None:
                    text = to_json_bytes(response.response).decode()
                    get_recorder().record_model_message(str(response.id), text, style=STYLE)

    def _pop_call(self, tool_context: Any) -> FrameworkCall | None:
        """Return the call that runs with ``tool_context``, and forget it."""
        with self._lock:
            running = self._running.pop(id(tool_context), None)
        if running is None:
            return None
        running.call.leave()
        return running.call


def _spec(tool: Any) -> ToolSpec:
    return spec_for(str(tool.name), None if _is_unknown(tool) else tool.description, getattr(tool, "func", None))


def _in_history(invocation: Any, call_id: str | None) -> _Started | None:
    """Return the call of a long-running tool that another process made, from the session; None where it has none."""
    for event in reversed(invocation.session.events) if call_id else ():
        for call in event.get_function_calls():
            # confirmations and credentials are long-running calls of ADK itself
            if call.id == call_id and call_id in (event.long_running_tool_ids or ()) and not call.name.startswith(_OWN):
                found = invocation.agent.root_agent.find_agent(event.author) or invocation.agent
                tools = [tool for tool in getattr(found, "tools", ()) if getattr(tool, "name", None) == call.name]
                spec = _spec(tools[0]) if tools else spec_for(call.name)
                return _Started(spec, dict(call.args or {}), event.author, _model_of_agent(found))
    return None


def _model_of(tool_context: Any) -> str | None:
    """Return the model of the running agent: its own, else that of the nearest agent above it."""
    return _model_of_agent(getattr(getattr(tool_context, "_invocation_context", None), "agent", None))


def _model_of_agent(agent: Any) -> str | None:
    while agent is not None and not getattr(agent, "model", None):
        agent = getattr(agent, "parent_agent", None)
    return model_name(getattr(agent, "model", None))


def _waits(tool: Any, tool_context: Any) -> bool:
    """Whether the call waits for a person, for credentials or for a result that comes later."""
    actions = tool_context.actions
    return bool(tool.is_long_running or actions.requested_tool_confirmations or actions.requested_auth_configs)


def _is_unknown(tool: Any) -> bool:
    return getattr(tool, "description", None) == _NOT_FOUND


def _is_rejection(tool: Any, result: Any) -> bool:
    """Whether ``result`` is ADK's own answer to arguments that do not fit the tool."""
    error = result.get("error") if isinstance(result, Mapping) and len(result) == 1 else None
    return isinstance(error, str) and error.startswith(f"Invoking `{tool.name}()` failed")
