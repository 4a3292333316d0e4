"""Recording of the tools of LlamaIndex' agents, without changing an agent, a workflow or a tool.

::

    from tooltrace.integrations import llama_index

    llama_index.install()
    ...
    llama_index.remove()

The calls of ``FunctionAgent``, ``ReActAgent`` and ``AgentWorkflow`` are recorded with the call id, the name of the agent
that called, after a handoff the new one, and the memory's session id as conversation. A tool that waits for an event is
``paused``; its execution after the event has the same call id. A ``CodeActAgent`` calls functions from code, which
LlamaIndex does not see: decorate these.

The events of a workflow reach only the consumer of its stream. Therefore the step that calls a tool is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tooltrace.errors import ConfigError
from tooltrace.faults import suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall, spec_for
from tooltrace.integrations.monkeypatch import MonkeyPatcher
from tooltrace.recording.unfit_arguments import fails_to_bind

__all__ = ["FRAMEWORK", "install", "remove"]

FRAMEWORK = "llama_index.core"
STYLE = "llama_index"

_patches = MonkeyPatcher()


def install() -> None:
    """Start recording; a second call has no effect.

    Raises ImportError if LlamaIndex is not installed, and ConfigError if its version is not supported.
    """
    try:
        import_module("llama_index.core")
    except ImportError as error:
        raise ImportError("llama-index-core is not installed: pip install 'tooltrace-recorder[llama-index]'") from error
    try:
        _patches.make(_hook)
    except (ImportError, AttributeError, KeyError) as error:
        raise ConfigError(f"this version of llama-index-core is not known ({error}); nothing is recorded") from error


def remove() -> None:
    """Stop recording and restore LlamaIndex' own functions."""
    _patches.undo()


def _hook() -> None:
    workflow = import_module("llama_index.core.agent.workflow")
    owners = (workflow.BaseWorkflowAgent, workflow.AgentWorkflow)
    for owner in owners:
        vars(owner)["call_tool"]  # a KeyError here means a version without this step, before anything is replaced
        vars(owner)["_call_tool"]
    for owner in owners:
        _patches.wrap(owner, "call_tool", _step)


def _step(original: Callable[..., Any]) -> Callable[..., Any]:
    async def call_tool(self: Any, ctx: Any, ev: Any) -> Any:
        call = FrameworkCall.unrecorded(STYLE)
        with suppress_faults("begin", lost=1):
            call = await _begin(self, ctx, ev)
        try:
            with call.active():
                result = await original(self, ctx, ev)
        except BaseException as error:
            call.raised(error, waits_for="input")  # WaitingForEvent is a pause
            raise
        with suppress_faults("record", lost=1):
            _end(call, result.tool_output)
        return result

    return call_tool


async def _begin(agent: Any, context: Any, event: Any) -> FrameworkCall:
    store = context.store
    name = await store.get("current_agent_name", default=None)
    owner = agent.agents.get(name) if hasattr(agent, "agents") else agent
    tool = _find_tool(owner, event.tool_name)
    memory = await store.get("memory", default=None)
    return FrameworkCall(
        spec_for(
            event.tool_name,
            getattr(getattr(tool, "metadata", None), "description", None),
            getattr(tool, "real_fn", None),
        ),
        event.tool_kwargs,
        style=STYLE,
        function=getattr(tool, "real_fn", None),
        call_id=event.tool_id,
        agent=name or getattr(agent, "name", None),
        conversation=getattr(memory, "session_id", None),
        model=getattr(getattr(owner, "llm", None), "metadata", None),
    )


def _find_tool(owner: Any, tool: str) -> Any:
    """Return the tool if it is in the agent's own list; a retriever of tools is not asked again."""
    for each in getattr(owner, "tools", None) or ():
        if getattr(getattr(each, "metadata", None), "name", None) == tool:
            return each
    return None


def _end(call: FrameworkCall, output: Any) -> None:
    if output.exception is not None and fails_to_bind(output.exception, "llama_index.core"):
        call.refused("INVALID_PARAM", str(output.exception), error=output.exception)
    elif output.exception is not None:
        call.raised(output.exception)
    elif output.is_error and output.raw_output is None:
        call.refused("NOT_FOUND", str(output.content))
    elif output.is_error:
        call.failed("EXECUTION_ERROR", str(output.content))
    else:
        call.returned(output.raw_output)
    call.model_reads(output.content)
