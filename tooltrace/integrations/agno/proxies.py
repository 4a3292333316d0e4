"""Proxies of a call and its function, which Agno executes instead, so that the tool is recorded."""

from __future__ import annotations

from typing import Any

from tooltrace.integrations.agno.entrypoint import follow_hook_stream, record_entrypoint
from tooltrace.integrations.agno.tool_execution import Execution

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
