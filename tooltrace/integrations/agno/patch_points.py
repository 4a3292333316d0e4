"""Functions of Agno that are replaced. Each replacement calls the original and records."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing
from importlib import import_module
from typing import Any

from tooltrace.faults import report_fault, suppress_faults
from tooltrace.integrations.agno import human_review, model_messages, rejected_calls
from tooltrace.integrations.agno.call_context import context_by_name, context_for_function, span_id
from tooltrace.integrations.agno.entrypoint import FunctionCallProxy
from tooltrace.integrations.agno.tool_execution import Execution
from tooltrace.integrations.monkeypatch import MonkeyPatcher, PatchPoint
from tooltrace.recording.config import get_recorder

patches = MonkeyPatcher()


def hook() -> None:
    """Replace all patch points. Raises ImportError, AttributeError or KeyError if one does not exist."""
    for owner, name, make in targets():
        patches.put(owner, name, functools.partial(make, vars(owner)[name]))


def targets() -> list[PatchPoint]:
    """Return all patch points: a class or module, a name in it, and the function that wraps the original."""
    tools, model = import_module("agno.agent._tools"), import_module("agno.models.base").Model
    call = import_module("agno.tools.function").FunctionCall
    return [
        (call, "execute", _execute),
        (call, "aexecute", _aexecute),
        (model, "run_function_calls", _run_function_calls),
        (model, "arun_function_calls", _arun_function_calls),
        (model, "get_function_calls_to_run", _get_function_calls_to_run),
        (model, "get_function_call_to_run_from_tool_execution", _resume),
        (model, "create_function_call_result", _result),
        (model, "create_tool_call_limit_error_result", _over_the_limit),
        (tools, "reject_tool_call", _reject),
        (tools, "handle_external_execution_update", _external),
        (tools, "handle_user_input_update", _inputs),
        (tools, "handle_get_user_input_tool_update", _input_requested),
        (tools, "handle_ask_user_tool_update", _input_requested),
    ]


def _execution(call: Any) -> tuple[Execution, FunctionCallProxy] | None:
    """Return the execution that records ``call``, and the proxy that Agno executes; None if it is not recorded."""
    if not patches.on:
        return None
    try:
        execution = Execution(call)
        return execution, FunctionCallProxy(execution)
    except Exception:
        report_fault("begin")
        return None


def _bound(original: Any, instance: Any, real: Any = None) -> Callable[..., Any]:
    """Bind ``original`` to ``instance``, because another library's replacement may need the class.

    The method belongs to ``type(real)`` if ``instance`` is a proxy of ``real``.
    """
    method: Callable[..., Any] = original.__get__(instance, type(instance if real is None else real))
    return method


def _execute(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def execute(self: Any) -> Any:
        entered = _execution(self)
        if entered is None:
            return _bound(original, self)()
        execution, proxy = entered
        with execution.context.entered():
            try:
                outcome = _bound(original, proxy, self)()
            except BaseException as error:
                execution.left(error)
                raise
            execution.ended(outcome)
        return outcome

    return execute


def _aexecute(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def aexecute(self: Any) -> Any:
        entered = _execution(self)
        if entered is None:
            return await _bound(original, self)()
        execution, proxy = entered
        with execution.context.entered():
            try:
                outcome = await _bound(original, proxy, self)()
            except BaseException as error:
                execution.left(error)
                raise
            execution.ended(outcome)
        return outcome

    return aexecute


def _run_function_calls(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run_function_calls(self: Any, function_calls: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        # closing: Agno may leave the loop early, and its generator must then end at once, not when it is collected.
        with closing(_bound(original, self)(function_calls, *args, **kwargs)) as events:
            for event in events:
                _record_paused(event, function_calls)
                yield event

    return run_function_calls


def _arun_function_calls(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def arun_function_calls(self: Any, function_calls: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async with aclosing(_bound(original, self)(function_calls, *args, **kwargs)) as events:
            async for event in events:
                _record_paused(event, function_calls)
                yield event

    return arun_function_calls


def _record_paused(event: Any, calls: Any) -> None:
    """Record the calls that ``event`` reports as paused."""
    if not patches.on or getattr(event, "event", None) != "ToolCallPaused":
        return
    with suppress_faults("record", lost=1):
        for tool in event.tool_executions or ():
            call = next(
                # Models repeat ids; the identity of the arguments tells two calls apart.
                call
                for call in calls
                if call.call_id == tool.tool_call_id and call.arguments is tool.tool_args
            )
            human_review.paused(context_for_function(call.function, call.call_id), tool)


def _get_function_calls_to_run(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_function_calls_to_run(self: Any, assistant_message: Any, messages: Any, functions: Any = None) -> Any:
        before = len(messages)
        calls = _bound(original, self)(assistant_message, messages, functions)
        if patches.on and len(messages) > before:
            with suppress_faults("record", lost=1):
                rejected_calls.record_unusable_calls(
                    assistant_message.tool_calls or (), messages[before:], functions or {}
                )
        return calls

    return get_function_calls_to_run


def _resume(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_function_call_to_run_from_tool_execution(self: Any, tool_execution: Any, functions: Any = None) -> Any:
        call = _bound(original, self)(tool_execution, functions)
        if patches.on:
            with suppress_faults("record"):
                human_review.will_run(call, tool_execution, context_for_function(call.function, call.call_id))
        return call

    return get_function_call_to_run_from_tool_execution


def _over_the_limit(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def create_tool_call_limit_error_result(self: Any, function_call: Any) -> Any:
        message = _bound(original, self)(function_call)
        if patches.on:
            with suppress_faults("record", lost=1):
                rejected_calls.over_the_limit(function_call, message)
        return message

    return create_tool_call_limit_error_result


def _result(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def create_function_call_result(self: Any, function_call: Any, *args: Any, **kwargs: Any) -> Any:
        message = _bound(original, self)(function_call, *args, **kwargs)
        if patches.on:
            with suppress_faults("record"):
                model_messages.record_result_message(function_call, message)
        return message

    return create_function_call_result


def _reject(original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def reject_tool_call(*args: Any, **kwargs: Any) -> Any:
        if patches.on:
            with suppress_faults("record", lost=1):
                bound = signature.bind(*args, **kwargs).arguments
                tool, function = bound["tool"], (bound.get("functions") or {}).get(bound["tool"].tool_name)
                if function is not None:  # without the function Agno will raise
                    human_review.declined(context_for_function(function, tool.tool_call_id), tool)
        return original(*args, **kwargs)

    return reject_tool_call


def _external(original: Callable[..., Any]) -> Callable[..., Any]:
    return _provided_from_outside(original, _external_result)


def _input_requested(original: Callable[..., Any]) -> Callable[..., Any]:
    return _provided_from_outside(original, _filled_in)


def _provided_from_outside(
    original: Callable[..., Any], read: Callable[..., tuple[Any, Any] | None]
) -> Callable[..., Any]:
    """Wrap ``original``, which accepts the result that a person provided.

    ``read`` returns that result and the values that the person filled in.
    """
    signature = inspect.signature(original)

    @functools.wraps(original)
    def handle(*args: Any, **kwargs: Any) -> Any:
        record = None
        if patches.on:
            with suppress_faults("record", lost=1):
                record = _result_recorder(signature.bind(*args, **kwargs).arguments, read)
        done = original(*args, **kwargs)
        if record is not None:
            with suppress_faults("record", lost=1):
                record()
        return done

    return handle


def _result_recorder(bound: dict[str, Any], read: Callable[..., tuple[Any, Any] | None]) -> Callable[[], None] | None:
    """Return a function that records the provided result once Agno has accepted it.

    The result is read now, because Agno may replace it.
    """
    tool, messages = bound["tool"], bound["run_messages"].messages
    found = read(tool, messages)
    if found is None:
        return None
    context = context_by_name(str(tool.tool_name), tool.tool_call_id, bound["agent"], bound.get("run_response"))
    answer = human_review.answer_to(tool, context.run_id, found[1])

    def record() -> None:
        attempt = human_review.result_provided(context, tool, answer, found[0])
        if attempt is not None:
            model_messages.record_message(get_recorder(), messages[-1], span_id(attempt))

    return record


def _external_result(tool: Any, messages: Any) -> tuple[Any, None] | None:
    """Return the result that was set; None if there is none yet, or the run already has it."""
    if tool.result is None or any(message.tool_call_id == tool.tool_call_id for message in messages):
        return None
    return tool.result, None


def _filled_in(tool: Any, messages: Any) -> tuple[Any, dict[str, Any]] | None:
    """Return the person's answers to the tool's questions; None if there are none."""
    del messages
    fields = {field.name: field.value for field in tool.user_input_schema or ()}
    fields |= {question.question: question.selected_options for question in tool.user_feedback_schema or ()}
    return (fields, fields) if fields else None


def _inputs(original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def handle_user_input_update(*args: Any, **kwargs: Any) -> Any:
        if patches.on:
            with suppress_faults("record"):
                human_review.input_provided(signature.bind(*args, **kwargs).arguments["tool"])
        return original(*args, **kwargs)

    return handle_user_input_update
