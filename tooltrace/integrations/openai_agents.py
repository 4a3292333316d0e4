"""Recording of the OpenAI Agents SDK's tools, without changing an agent, a tool or a run.

::

    from tooltrace.integrations import openai_agents

    openai_agents.install()
    ...
    openai_agents.remove()

Recorded are function tools, agents as tools and the tools of MCP servers: with the model's call id, the name of the
agent that called, after a handoff the new one, and as conversation the run's ``conversation_id``, its session or its
``group_id``. The result is the tool's own, and an exception is recorded before the SDK turns it into text. A call that
waits for an approval is ``paused``; one that a person or a guardrail rejected is ``declined``. Arguments that do not fit
and an unknown tool are failures with the attribute ``openai_agents.ran`` false.

The SDK's hooks are set for each run, run in tasks of their own and never receive the exception. Its tracing lacks the
call id and is often disabled. Therefore functions of the SDK are replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from tooltrace.core.codes import BLOCKED
from tooltrace.errors import ConfigError
from tooltrace.faults import suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall, spec_for
from tooltrace.integrations.monkeypatch import MonkeyPatcher, PatchPoint
from tooltrace.normalize import normalize
from tooltrace.normalize.exceptions.control_flow import ending_of

__all__ = ["FRAMEWORK", "install", "remove"]

FRAMEWORK = "agents.run_internal"  # another package may be called agents
STYLE = "openai_agents"

_INVALID = "Invalid JSON input for tool "
"""Begin of the SDK's error for arguments that do not fit the tool."""

_REJECTED = "Tool execution was not approved."
"""Text that the model reads about a rejected call if the person gave no reason."""

_patches = MonkeyPatcher()
_conversation: ContextVar[str | None] = ContextVar("tooltrace_openai_agents_conversation", default=None)


class _Body:
    """The part of a call between its approval and its result for the model."""

    def __init__(self) -> None:
        self.call: FrameworkCall | None = None
        self.error: BaseException | None = None
        """The exception that the SDK turned into text."""


_body: ContextVar[_Body | None] = ContextVar("tooltrace_openai_agents_body", default=None)


def install() -> None:
    """Start recording; a second call has no effect.

    Raises ImportError if the SDK is not installed, and ConfigError if its version is not supported.
    """
    try:
        import_module("agents")
    except ImportError as error:
        raise ImportError("openai-agents is not installed: pip install 'tooltrace-recorder[openai-agents]'") from error
    try:
        _patches.make(_hook)
    except (ImportError, AttributeError, KeyError) as error:
        raise ConfigError(f"this version of openai-agents is not known ({error}); nothing is recorded") from error


def remove() -> None:
    """Stop recording and restore the SDK's own functions."""
    _patches.undo()


def _hook() -> None:
    tool, run = import_module("agents.tool"), import_module("agents.run")
    execution = import_module("agents.run_internal.tool_execution")
    resolution = import_module("agents.run_internal.turn_resolution")
    batch = execution._FunctionToolBatchExecutor  # noqa: SLF001 - the SDK has no public place
    failure = "maybe_invoke_function_tool_failure_error_function"
    points: list[PatchPoint] = [
        (run.AgentRunner, "run", _run),
        (run.AgentRunner, "run_streamed", _run_streamed),
        (batch, "_maybe_execute_tool_approval", _approval),
        (batch, "_execute_single_tool_body", _execution),
        (execution, "_invoke_function_tool_with_metadata", _invocation),
        (execution, failure, _failure),
        # The same functions again: both modules import them by name, so each has a reference of its own.
        (tool, "_invoke_function_tool_with_metadata", _invocation),
        (tool, failure, _failure),
        (resolution, "process_model_response", _response),
        (resolution, "_build_tool_not_found_output_items", _not_found),
        (resolution, "function_rejection_item", _rejection),
    ]
    _patches.wrap_all(points)


# the conversation of a run


def _conversation_of(run: dict[str, Any]) -> str | None:
    """Return the conversation of a run with these options; None where none is set."""
    config = run.get("run_config")
    group = config.get("group_id") if isinstance(config, dict) else getattr(config, "group_id", None)
    return run.get("conversation_id") or getattr(run.get("session"), "session_id", None) or group


def _run(original: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*args: Any, **options: Any) -> Any:
        token = _conversation.set(_conversation_of(options) or _conversation.get())
        try:
            return await original(*args, **options)
        finally:
            _conversation.reset(token)

    return run


def _run_streamed(original: Callable[..., Any]) -> Callable[..., Any]:
    def run_streamed(*args: Any, **options: Any) -> Any:
        token = _conversation.set(_conversation_of(options) or _conversation.get())
        try:
            return original(*args, **options)  # the task that it starts has a copy of this context
        finally:
            _conversation.reset(token)

    return run_streamed


# a call


def _begin(tool: Any, context: Any, agent: Any) -> FrameworkCall:
    with suppress_faults("begin"):
        config = getattr(context, "run_config", None)
        agent = agent or getattr(context, "agent", None)
        return FrameworkCall(
            spec_for(tool.name, tool.description, getattr(tool, "__wrapped__", None)),
            context.tool_arguments,
            style=STYLE,
            function=getattr(tool, "__wrapped__", None),
            call_id=context.tool_call_id,
            agent=getattr(agent, "name", None),
            conversation=_conversation.get() or getattr(config, "group_id", None),
            model=getattr(config, "model", None) or getattr(agent, "model", None),
        )
    return FrameworkCall.unrecorded(STYLE)


def _approval(original: Callable[..., Any]) -> Callable[..., Any]:
    async def approval(self: Any, **options: Any) -> Any:
        result = await original(self, **options)
        if result is not None:
            with suppress_faults("record", lost=1):
                call = _begin(options["func_tool"], options["tool_context"], self.public_agent)
                if type(result.run_item).__name__ == "ToolApprovalItem":
                    call.finish("paused")
                else:
                    if _by_guardrail(self, result.output):
                        call.refused(BLOCKED, str(result.output))
                    else:
                        call.finish("declined")
                    call.model_reads(result.output)
        return result

    return approval


def _by_guardrail(batch: Any, words: Any) -> bool:
    """Whether a guardrail that runs before the approval gave these ``words``, and not a person."""
    behaviors = (getattr(each.output, "behavior", None) or {} for each in batch.tool_input_guardrail_results)
    return any(each.get("type") == "reject_content" and each.get("message") == words for each in behaviors)


def _rejection(original: Callable[..., Any]) -> Callable[..., Any]:
    """Record the calls that a person rejected, when their run is resumed."""

    def rejection(agent: Any, tool_call: Any, **options: Any) -> Any:
        item = original(agent, tool_call, **options)
        with suppress_faults("record", lost=1):
            call, words = _by_name(tool_call, tool_call.name, agent), options.get("rejection_message")
            call.finish("declined", note=None if words == _REJECTED else words)
            call.model_reads(item.output)
        return item

    return rejection


def _execution(original: Callable[..., Any]) -> Callable[..., Any]:
    async def execution(self: Any, **options: Any) -> Any:
        body = _Body()
        token = _body.set(body)
        try:
            result = await original(self, **options)
        except BaseException as error:
            if body.call is None:  # a guardrail or a hook of the application raised before the tool ran
                call = _begin(options["func_tool"], options["tool_context"], self.public_agent)
                if ending_of(type(error)) == "raised":
                    call.refused(normalize(error).code or BLOCKED, str(error), error=error)
                else:  # a guardrail, or a cancellation
                    call.raised(error, ran=False)
            raise
        finally:
            _body.reset(token)
        if body.call is None:
            body.call = _begin(options["func_tool"], options["tool_context"], self.public_agent)
            body.call.blocked(str(result))
        if not _is_interrupted(result):
            body.call.model_reads(result)
        return result

    return execution


def _invocation(original: Callable[..., Any]) -> Callable[..., Any]:
    async def invocation(**options: Any) -> Any:
        body = _body.get()
        if body is None or body.call is not None:  # a realtime session invokes tools without a batch
            body = _Body()
        outer = _body.set(body)
        body.call = call = _begin(options["function_tool"], options["context"], None)
        try:
            with call.active():
                result = await original(**options)
        except BaseException as error:
            call.raised(error)
            raise
        finally:
            _body.reset(outer)
        reported, body.error = body.error, None
        if (
            reported is not None
            and str(reported).startswith(_INVALID)
            and type(reported).__name__ == "ModelBehaviorError"
        ):
            call.refused("INVALID_PARAM", str(reported.__cause__ or reported))
        elif reported is not None:
            call.raised(reported)
        elif result.is_sdk_generated_error:
            call.failed("TIMEOUT", str(result.output))
        elif _is_interrupted(result.output):
            call.finish("paused", waits_for=None)  # a call of the inner agent has the question
        else:
            call.returned(result.output)
        return result

    return invocation


def _failure(original: Callable[..., Any]) -> Callable[..., Any]:
    async def failure(**options: Any) -> Any:
        body = _body.get()
        if body is not None and body.error is None:
            body.error = options["error"]
        return await original(**options)

    return failure


def _is_interrupted(result: Any) -> bool:
    """Whether ``result`` is the run of an agent as tool that waits for an approval."""
    return bool(isinstance(getattr(result, "interruptions", None), list) and result.interruptions)


# calls of unknown tools


def _response(original: Callable[..., Any]) -> Callable[..., Any]:
    def response(**options: Any) -> Any:
        try:
            return original(**options)
        except Exception as error:
            with suppress_faults("record"):
                agent = options["agent"]
                for item in options["response"].output:
                    name = getattr(item, "name", None)
                    if name is not None and str(error) == f"Tool {name} not found in agent {agent.name}":
                        _by_name(item, name, agent).refused("NOT_FOUND", str(error))
            raise

    return response


def _not_found(original: Callable[..., Any]) -> Callable[..., Any]:
    async def not_found(**options: Any) -> Any:
        items = await original(**options)
        with suppress_faults("record"):
            for each, item in zip(options["calls"], items, strict=True):
                call = _by_name(each.tool_call, each.tool_name, options["agent"])
                call.refused("NOT_FOUND", str(item.output))
                call.model_reads(item.output)
        return items

    return not_found


def _by_name(item: Any, name: str, agent: Any) -> FrameworkCall:
    """Return the call ``item`` of a tool that is not at hand."""
    return FrameworkCall(
        spec_for(name),
        item.arguments,
        style=STYLE,
        call_id=item.call_id,
        agent=agent.name,
        conversation=_conversation.get(),
        model=agent.model,
    )
