"""What Agno executes in place of a tool: proxies of the call and its function, and a wrapper of the same kind of function."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from types import AsyncGeneratorType, GeneratorType
from typing import Any

from tooltrace.integrations.agno.event_stream import EventStreamRecorder
from tooltrace.integrations.agno.tool_execution import Execution
from tooltrace.otel.sdk_internals import detach
from tooltrace.recording import generators
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.generators import StreamRecorder
from tooltrace.recording.recorder import activate


def _is_stream(result: Any) -> bool:
    kind = type(result)
    return kind is GeneratorType or kind is AsyncGeneratorType


def record_entrypoint(tool: Callable[..., Any], execution: Execution) -> Callable[..., Any]:
    """Return ``tool`` wrapped, so that each run is an attempt of ``execution``."""
    if inspect.iscoroutinefunction(tool):
        return functools.update_wrapper(_coroutine(tool, execution), tool)
    function = functools.update_wrapper(_function(tool, execution), tool)
    if inspect.isgeneratorfunction(tool) or inspect.isasyncgenfunction(tool):
        return _StreamFunction(function, tool)
    return function


def follow_hook_stream(result: Any, execution: Execution) -> Any:
    """Return the result of hooks around a call; a stream that hooks made instead of the tool's is recorded as well."""
    if execution.runs or not _is_stream(result):
        return result
    attempt = execution.begin_without_run()
    return result if attempt is None else _follow(result, execution, attempt)


class _StreamFunction:
    """A callable that ``inspect`` reports as a generator function, from the attributes that it copies.

    A true generator function would start only when its first item is requested, and would reject wrong arguments only
    then.
    """

    def __init__(self, function: Callable[..., Any], tool: Any) -> None:
        functools.update_wrapper(self, function)
        while isinstance(tool, functools.partial):
            tool = tool.func
        self.__code__, self.__defaults__, self.__kwdefaults__ = tool.__code__, tool.__defaults__, tool.__kwdefaults__
        self.__name__, self.__annotations__ = tool.__name__, tool.__annotations__
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def _function(tool: Callable[..., Any], execution: Execution) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        attempt = execution.begin()
        if attempt is None:
            with execution.watched():
                return tool(*args, **kwargs)
        token = activate(attempt)
        try:
            result = tool(*args, **kwargs)
        except BaseException as error:
            detach(token)
            execution.raised(attempt, error)
            raise
        detach(token)
        if _is_stream(result):
            return _follow(result, execution, attempt)
        execution.returned(attempt, result)
        return result

    return wrapper


def _coroutine(tool: Callable[..., Any], execution: Execution) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        attempt = execution.begin()
        if attempt is None:
            with execution.watched():
                return await tool(*args, **kwargs)
        token = activate(attempt)
        try:
            result = await tool(*args, **kwargs)
        except BaseException as error:
            detach(token)
            execution.raised(attempt, error)
            raise
        detach(token)
        execution.returned(attempt, result)
        return result

    return wrapper


def _follow(result: Any, execution: Execution, attempt: Attempt) -> Any:
    """Return the stream ``result`` wrapped, so that it is recorded until its end."""
    hidden = generators.UnstartedAwaitable(result, execution.recorder, attempt)

    def begin() -> tuple[Any, StreamRecorder]:
        inner, recorder, attempt = hidden.open()
        return inner, EventStreamRecorder(recorder, attempt)

    if inspect.isgenerator(result):
        followed: Any = generators.generator_function(begin)()
    else:
        followed = generators.async_generator_function(begin)()
    followed.__name__, followed.__qualname__ = result.__name__, result.__qualname__
    # A stream that is never started runs none of our code: only its collection shows that it was abandoned.
    weakref.finalize(followed, hidden.abandoned).atexit = False
    return followed


_ON_THE_PROXY = frozenset({"_execute", "_aexecute"})
"""Methods that run on the proxy. All others run on the call itself, and hooks receive the call itself."""


class FunctionCallProxy:
    """An ``agno.tools.function.FunctionCall`` whose tool is recorded."""

    __slots__ = ("_call", "_execution", "function")

    def __init__(self, execution: Execution) -> None:
        # Bypasses __setattr__ below, which writes to the real call.
        object.__setattr__(self, "_call", execution.call)
        object.__setattr__(self, "_execution", execution)
        object.__setattr__(self, "function", FunctionProxy(execution))

    def __getattr__(self, name: str) -> Any:
        if name in _ON_THE_PROXY:
            # Bound to the proxy, so that the method reads the proxy's ``function``.
            return getattr(type(self._call), name).__get__(self)
        return getattr(self._call, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._call, name, value)

    def _build_nested_execution_chain(self, *args: Any, **kwargs: Any) -> Any:
        chain = type(self._call)._build_nested_execution_chain(self, *args, **kwargs)  # noqa: SLF001 - Agno's own extension point
        execution = self._execution

        def recorded(*args: Any) -> Any:
            try:
                return follow_hook_stream(chain(*args), execution)
            except BaseException as error:
                execution.error = error
                raise

        return recorded

    async def _build_nested_execution_chain_async(self, *args: Any, **kwargs: Any) -> Any:
        build = type(self._call)._build_nested_execution_chain_async  # noqa: SLF001 - Agno's own extension point
        chain = await build(self, *args, **kwargs)
        execution = self._execution

        async def recorded(*args: Any) -> Any:
            try:
                return follow_hook_stream(await chain(*args), execution)
            except BaseException as error:
                execution.error = error
                raise

        return recorded


class FunctionProxy:
    """An ``agno.tools.function.Function`` whose entrypoint is recorded."""

    __slots__ = ("_execution", "_function", "entrypoint")

    def __init__(self, execution: Execution) -> None:
        function = execution.call.function
        object.__setattr__(self, "_execution", execution)
        object.__setattr__(self, "_function", function)
        entrypoint = function.entrypoint
        object.__setattr__(self, "entrypoint", None if entrypoint is None else record_entrypoint(entrypoint, execution))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._function, name, value)

    def _get_cached_result(self, *args: Any, **kwargs: Any) -> Any:
        found = self._function._get_cached_result(*args, **kwargs)  # noqa: SLF001 - Agno's own extension point
        if found is not None:
            self._execution.cached = True
        return found
