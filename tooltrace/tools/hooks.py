"""Hooks around a call, which can observe it, change its arguments, respond instead, or change the response."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import RLock
from typing import Any

from tooltrace.core.response import ToolResponse, is_response
from tooltrace.errors import ConfigError
from tooltrace.tools import builtin_responses


@dataclass(frozen=True, slots=True)
class ToolInvocation:
    """A call that is about to be run, as a hook receives it."""

    tool: str
    """The tool's name."""
    arguments: dict[str, Any]
    """The arguments of the tool, without the injected ones. Changes that a hook makes in this dictionary reach the
    tool; the record keeps the model's arguments."""
    call_id: str | None
    """The model's id for the call; None if none was passed."""


Proceed = Callable[[], ToolResponse]
AsyncProceed = Callable[[], Awaitable[ToolResponse]]
Hook = Callable[[ToolInvocation, Proceed], ToolResponse]
"""Function of the call and of ``proceed``, which runs the inner hooks and the tool, and never raises the tool's
exceptions.

A hook may call ``proceed`` once, not at all or several times, and returns the response.
"""
AsyncHook = Callable[[ToolInvocation, AsyncProceed], Awaitable[ToolResponse]]
AnyHook = Hook | AsyncHook


def is_async(hook: AnyHook) -> bool:
    """Whether ``hook`` is a coroutine function, or an object whose ``__call__`` is one."""
    code: Any = hook
    while isinstance(code, functools.partial):
        code = code.func
    return inspect.iscoroutinefunction(code if inspect.isroutine(code) else type(code).__call__)


def refuse_async(hooks: Sequence[AnyHook]) -> None:
    """Raise ConfigError if a hook is a coroutine function."""
    names = [getattr(hook, "__qualname__", type(hook).__qualname__) for hook in hooks if is_async(hook)]
    if names:
        raise ConfigError(
            f"execute() cannot await the hook {', '.join(names)}: use aexecute(), or a hook that is not a coroutine function"
        )


def run_with_hooks(hooks: Sequence[Any], call: ToolInvocation, run: Proceed) -> ToolResponse:
    """Call ``run`` inside ``hooks``; the first hook is the outermost."""
    if not hooks:
        return run()
    hook, inner = hooks[0], hooks[1:]
    try:
        return _checked_response(hook, hook(call, lambda: run_with_hooks(inner, call, run)))
    except Exception as error:
        return builtin_responses.hook_failed(hook, f"failed: {error}", error)


async def arun_with_hooks(hooks: Sequence[Any], call: ToolInvocation, run: AsyncProceed) -> ToolResponse:
    """Call ``run`` inside ``hooks``, in an event loop.

    A hook that is not a coroutine function runs in a thread, unless it has a method ``acall`` for event loops.
    """
    if not hooks:
        return await run()
    hook, inner = hooks[0], hooks[1:]

    async def proceed() -> ToolResponse:
        return await arun_with_hooks(inner, call, run)

    try:
        in_loop = hook if is_async(hook) else getattr(hook, "acall", None)
        answer = await _in_thread(hook, call, proceed) if in_loop is None else await in_loop(call, proceed)
        return _checked_response(hook, answer)
    except Exception as error:
        return builtin_responses.hook_failed(hook, f"failed: {error}", error)


async def _in_thread(hook: Any, call: ToolInvocation, proceed: AsyncProceed) -> Any:
    """Run a blocking hook in a thread of its own; its ``proceed`` runs in this event loop.

    A shared pool could deadlock: a hook in the pool could wait for a tool that waits for a free thread of the pool.
    """
    loop = asyncio.get_running_loop()
    bridge = _LoopBridge(loop, proceed)
    pool = ThreadPoolExecutor(1, "tooltrace-hook")
    context = contextvars.copy_context()
    try:
        answer, error = await loop.run_in_executor(pool, context.run, _response_and_error, hook, call, bridge.proceed)
    except asyncio.CancelledError:
        bridge.close()
        raise
    finally:
        pool.shutdown(wait=False)
    return answer if error is None else builtin_responses.hook_failed(hook, f"failed: {error}", error)


class _LoopBridge:
    """Run ``proceed`` in the event loop from a hook's thread, until the loop's side is cancelled."""

    def __init__(self, loop: asyncio.AbstractEventLoop, proceed: AsyncProceed) -> None:
        self._loop = loop
        self._proceed = proceed
        self._lock = RLock()
        self._closed = False
        self._started: list[Future[ToolResponse]] = []

    def proceed(self) -> ToolResponse:
        """Run the inner hooks and the tool in the event loop, and wait for the response."""
        with self._lock:
            if self._closed:
                raise CancelledError
            # Under the lock: close() must either see this future or prevent it.
            future = asyncio.run_coroutine_threadsafe(_coroutine(self._proceed), self._loop)
            self._started.append(future)
        return future.result()

    def close(self) -> None:
        """Cancel the running calls, because the caller was cancelled."""
        with self._lock:
            self._closed = True
            for future in self._started:
                future.cancel()


def _response_and_error(hook: Any, call: ToolInvocation, proceed: Proceed) -> tuple[Any, Exception | None]:
    """Return the hook's response and its exception: a StopIteration cannot be raised through a future."""
    try:
        return hook(call, proceed), None
    except Exception as error:
        return None, error


async def _coroutine(proceed: AsyncProceed) -> ToolResponse:
    return await proceed()


def _checked_response(hook: Any, answer: Any) -> ToolResponse:
    if is_response(answer):
        return answer  # type: ignore[no-any-return]
    if inspect.iscoroutine(answer):
        answer.close()
    return builtin_responses.hook_failed(hook, f"returned {type(answer).__name__}, which is not a ToolResponse")
