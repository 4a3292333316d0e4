"""Recording of smolagents' tools, without changing an agent or a tool.

::

    from tooltrace.integrations import smolagents

    smolagents.install()
    ...
    smolagents.remove()

A ``ToolCallingAgent``'s calls have the model's call id, and what the model reads. A ``CodeAgent`` calls tools from the code
that its model writes: these calls have no id, and the model reads what the code prints. The agent's ``name`` is recorded
as agent. Managed agents are called like tools and enclose the calls of their own tools. smolagents has no sessions: use
``tooltrace.context(conversation_id=…)`` around a run.

smolagents calls its step callbacks after a whole step. Therefore methods of the agents and of ``Tool`` are replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextvars import ContextVar, copy_context
from importlib import import_module
from typing import Any

from tooltrace.errors import ConfigError
from tooltrace.faults import suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall, spec_for
from tooltrace.integrations.monkeypatch import MonkeyPatcher, PatchPoint

__all__ = ["FRAMEWORK", "install", "remove"]

FRAMEWORK = "smolagents"
STYLE = "smolagents"

_patches = MonkeyPatcher()


class _StepCalls:
    """The calls that the model requested in one step of a ``ToolCallingAgent``."""

    def __init__(self, requested: Any) -> None:
        self.waiting: list[tuple[str, Any, Any]] = [
            (each.function.name, each.function.arguments, each.id) for each in requested
        ]
        """Tool, arguments and id of the calls that were not begun yet."""
        self.started: dict[Any, FrameworkCall] = {}
        """Calls by id."""

    def id_of(self, tool: str, arguments: Any) -> Any:
        """Return the id of the call of ``tool`` with these very ``arguments``; None if it is not known."""
        same = [each for each in self.waiting if each[0] == tool]
        # smolagents runs the calls of a step in threads and in any order, and passes no id; the very object
        # identifies one.
        exact = [each for each in same if each[1] is arguments]
        found = exact or [each for each in same if each[1] == arguments or not (each[1] or arguments)]
        if not found:
            return None
        self.waiting.remove(found[0])
        return found[0][2]


_step: ContextVar[_StepCalls | None] = ContextVar("tooltrace_smolagents_step", default=None)
_agent: ContextVar[Any] = ContextVar("tooltrace_smolagents_agent", default=None)
"""The ``CodeAgent`` whose code runs."""
_called: ContextVar[Any] = ContextVar("tooltrace_smolagents_called", default=None)
"""The tool that a ``ToolCallingAgent`` calls, whose call is recorded already."""


def install() -> None:
    """Start recording; a second call has no effect.

    Raises ImportError if smolagents is not installed, and ConfigError if its version is not supported.
    """
    try:
        import_module("smolagents")
    except ImportError as error:
        raise ImportError("smolagents is not installed: pip install 'tooltrace-recorder[smolagents]'") from error
    try:
        _patches.make(_hook)
    except (ImportError, AttributeError, KeyError) as error:
        raise ConfigError(f"this version of smolagents is not known ({error}); nothing is recorded") from error


def remove() -> None:
    """Stop recording and restore smolagents' own functions."""
    _patches.undo()


def _hook() -> None:
    agents, executor = import_module("smolagents.agents"), import_module("smolagents.local_python_executor")
    points: list[PatchPoint] = [
        (agents.ToolCallingAgent, "process_tool_calls", _requested),
        (agents.ToolCallingAgent, "execute_tool_call", _execution),
        (agents.CodeAgent, "_step_stream", _code_step),
        (executor, "timeout", _timeout),
        (import_module("smolagents.tools").Tool, "__call__", _tool),
    ]
    _patches.wrap_all(points)


def _within(variable: ContextVar[Any], value: Any, stream: Any) -> Generator[Any, None, Any]:
    """Yield the items of the generator ``stream``, which runs with ``value`` as the value of ``variable``."""
    try:
        while True:
            # Set for each item: between two items a generator leaves its consumer's context as it is.
            token = variable.set(value)
            try:
                item = next(stream)
            except StopIteration as stop:
                return stop.value
            finally:
                variable.reset(token)
            yield item
    finally:
        stream.close()


def _requested(original: Callable[..., Any]) -> Callable[..., Any]:
    def process_tool_calls(self: Any, chat_message: Any, *args: Any, **options: Any) -> Iterator[Any]:
        step = None
        with suppress_faults("begin"):
            step = _StepCalls(chat_message.tool_calls)
        for item in _within(_step, step, original(self, chat_message, *args, **options)):
            call = None if step is None else step.started.get(getattr(item, "id", None))
            if call is not None and hasattr(item, "observation"):
                call.model_reads(item.observation)
            yield item

    return process_tool_calls


def _execution(original: Callable[..., Any]) -> Callable[..., Any]:
    def execute_tool_call(self: Any, tool_name: str, arguments: Any) -> Any:
        call, tool = FrameworkCall.unrecorded(STYLE), None
        with suppress_faults("begin"):
            tool = {**self.tools, **self.managed_agents}.get(tool_name)
            step = _step.get()
            call_id = None if step is None else step.id_of(tool_name, arguments)
            call = _begin(tool_name, tool, arguments, self, call_id)
            if step is not None:
                step.started[call_id] = call
        token = _called.set(tool)
        try:
            with call.active():
                result = original(self, tool_name, arguments)
        except BaseException as error:
            if tool is None:
                call.refused("NOT_FOUND", str(error))
            elif type(error).__name__ == "AgentToolCallError":
                call.refused("INVALID_PARAM", str(error))
            else:
                call.raised(error.__cause__ or error)
            call.model_reads(str(error))
            raise
        finally:
            _called.reset(token)
        call.returned(result)
        return result

    return execute_tool_call


def _begin(name: str, tool: Any, arguments: Any, agent: Any, call_id: Any = None) -> FrameworkCall:
    function = getattr(tool, "forward", None)
    return FrameworkCall(
        spec_for(name, getattr(tool, "description", None), function),
        arguments,
        style=STYLE,
        function=function,
        call_id=call_id,
        agent=getattr(agent, "name", None),
        model=getattr(agent, "model", None),
    )


# a code agent


def _code_step(original: Callable[..., Any]) -> Callable[..., Any]:
    def _step_stream(self: Any, *args: Any, **options: Any) -> Any:
        return _within(_agent, self, original(self, *args, **options))

    return _step_stream


def _timeout(original: Callable[..., Any]) -> Callable[..., Any]:
    """Run the code in the context of its step, although smolagents runs it in a thread."""

    def timeout(seconds: Any) -> Any:
        decorator = original(seconds)

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: Any, **options: Any) -> Any:
                context = copy_context()
                return decorator(lambda: context.run(function, *args, **options))()

            return run

        return decorate

    return timeout


def _tool(original: Callable[..., Any]) -> Callable[..., Any]:
    def __call__(self: Any, *args: Any, **options: Any) -> Any:  # noqa: N807 - it replaces one
        agent = _agent.get()
        if agent is None or _called.get() is self:
            return original(self, *args, **options)
        call = FrameworkCall.unrecorded(STYLE)
        with suppress_faults("begin"):
            named_arguments = {key: value for key, value in options.items() if key != "sanitize_inputs_outputs"}
            call = _begin(self.name, self, {**dict(zip(self.inputs, args, strict=False)), **named_arguments}, agent)
        token = _called.set(self)
        try:
            with call.active():
                result = original(self, *args, **options)
        except BaseException as error:
            call.raised(error)
            raise
        finally:
            _called.reset(token)
        call.returned(result)
        return result

    return __call__
