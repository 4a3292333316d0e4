"""Call a tool of any kind until it is finished, from a thread or from an event loop."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import AsyncGeneratorType, GeneratorType
from typing import Any

from tooltrace.core.response import is_response
from tooltrace.redact.inspection import bases, namespace
from tooltrace.tools.registered_tool import RegisteredTool


class ToolRaised:
    """An exception that the tool raised. Cancellations, interrupts and exits are not caught."""

    __slots__ = ("_error",)

    def __init__(self, error: Exception) -> None:
        self._error: Exception | None = error

    def release(self) -> Exception:
        """Return the exception and drop our reference, to avoid a traceback cycle. Can be called once."""
        error, self._error = self._error, None
        assert error is not None, "released already"
        return error


def call(tool: RegisteredTool, values: dict[str, Any]) -> Any:
    """Return the tool's result, or :class:`ToolRaised`. An awaitable is awaited in a new event loop."""
    found = _start(tool, values)
    return _run_coroutine(_await_result(found)) if _is_awaitable(found) else found


async def acall(tool: RegisteredTool, values: dict[str, Any]) -> Any:
    """Return the tool's result as :func:`call` does.

    A blocking tool runs in a thread, with the caller's context variables.
    """
    found = _start(tool, values) if tool.asynchronous else await asyncio.to_thread(_start, tool, values)
    return await _await_result(found) if _is_awaitable(found) else found


def _start(tool: RegisteredTool, values: dict[str, Any]) -> Any:
    """Return the tool's result, the joined items of a generator, or an awaitable."""
    try:
        found = tool.invoke(values)
        return _collect_stream(found) if type(found) is GeneratorType else found
    except Exception as error:
        return ToolRaised(error)


async def _await_result(found: Any) -> Any:
    try:
        while _is_awaitable(found):
            found = _join_items([item async for item in found]) if type(found) is AsyncGeneratorType else await found
        return _collect_stream(found) if type(found) is GeneratorType else found
    except Exception as error:
        return ToolRaised(error)


def _is_awaitable(found: Any) -> bool:
    return type(found) is AsyncGeneratorType or any("__await__" in namespace(base) for base in bases(type(found)))


def _collect_stream(stream: Any) -> Any:
    items: list[Any] = []
    while True:
        try:
            items.append(next(stream))
        except StopIteration as end:
            return end.value if is_response(end.value) or not items else _join_items(items)


def _join_items(items: list[Any]) -> Any:
    """Return a stream as one result: the ToolResponse at its end; else its joined text; else the list of its items."""
    if items and is_response(items[-1]):
        return items[-1]
    return "".join(items) if items and all(isinstance(item, str) for item in items) else items


def _run_coroutine(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run ``coroutine`` in a new event loop; in a new thread if this thread already runs a loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # With a factory, the loop that is set in this thread stays set.
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(coroutine)
    with ThreadPoolExecutor(1, "tooltrace-tool") as pool:
        return pool.submit(contextvars.copy_context().run, _run_coroutine, coroutine).result()
