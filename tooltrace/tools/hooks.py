"""What runs around a call: to look, to change the arguments, to answer instead, to change the answer."""

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
    """A call that is about to be run, as a hook sees it."""

    tool: str
    """The tool's name."""
    arguments: dict[str, Any]
    """The arguments that the tool will be called with, but for the injected ones. What a hook changes in this
    dictionary is what the tool gets; on record are the model's."""
    call_id: str | None
    """The model's id for the call; None where nobody gave one."""


Proceed = Callable[[], ToolResponse]
AsyncProceed = Callable[[], Awaitable[ToolResponse]]
Hook = Callable[[ToolInvocation, Proceed], ToolResponse]
"""Gets the call, and the way on: ``proceed()`` runs the inner hooks and the tool, and never raises what the tool
raises. May call it, not at all or again, and returns the answer."""
AsyncHook = Callable[[ToolInvocation, AsyncProceed], Awaitable[ToolResponse]]
AnyHook = Hook | AsyncHook


def is_async(hook: AnyHook) -> bool:
    """Whether ``hook`` has to be awaited."""
    code: Any = hook
    while isinstance(code, functools.partial):
        code = code.func
    return inspect.iscoroutinefunction(code if inspect.isroutine(code) else type(code).__call__)


def refuse_async(hooks: Sequence[AnyHook]) -> None:
    """Raise ConfigError where a hook would have to be awaited."""
    names = [getattr(hook, "__qualname__", type(hook).__qualname__) for hook in hooks if is_async(hook)]
    if names:
        raise ConfigError(
            f"execute() cannot await the hook {', '.join(names)}; use aexecute(), or a hook that is no coroutine"
        )


def around(hooks: Sequence[Any], call: ToolInvocation, run: Proceed) -> ToolResponse:
    """``run`` inside ``hooks``, the first of them outermost."""
    if not hooks:
        return run()
    hook, inner = hooks[0], hooks[1:]
    try:
        return _checked(hook, hook(call, lambda: around(inner, call, run)))
    except Exception as error:
        return builtin_responses.hook_failed(hook, f"failed: {error}", error)


async def aaround(hooks: Sequence[Any], call: ToolInvocation, run: AsyncProceed) -> ToolResponse:
    """As :func:`around`, in an event loop. A hook that is no coroutine runs in a thread."""
    if not hooks:
        return await run()
    hook, inner = hooks[0], hooks[1:]

    async def proceed() -> ToolResponse:
        return await aaround(inner, call, run)

    try:
        answer = await hook(call, proceed) if is_async(hook) else await _in_thread(hook, call, proceed)
        return _checked(hook, answer)
    except Exception as error:
        return builtin_responses.hook_failed(hook, f"failed: {error}", error)


async def _in_thread(hook: Any, call: ToolInvocation, proceed: AsyncProceed) -> Any:
    """A hook that blocks: in a thread of its own (one of a pool could wait for a tool that waits for the pool), from
    where its ``proceed`` comes back to this loop."""
    loop = asyncio.get_running_loop()
    way = _WayBack(loop, proceed)
    pool = ThreadPoolExecutor(1, "tooltrace-hook")
    context = contextvars.copy_context()
    try:
        answer, error = await loop.run_in_executor(pool, context.run, _caught, hook, call, way.proceed)
    except asyncio.CancelledError:
        way.close()
        raise
    finally:
        pool.shutdown(wait=False)
    return answer if error is None else builtin_responses.hook_failed(hook, f"failed: {error}", error)


class _WayBack:
    """From a hook's thread to the loop, as long as somebody waits there."""

    def __init__(self, loop: asyncio.AbstractEventLoop, proceed: AsyncProceed) -> None:
        self._loop = loop
        self._proceed = proceed
        self._lock = RLock()
        self._closed = False
        self._begun: list[Future[ToolResponse]] = []

    def proceed(self) -> ToolResponse:
        """Run the rest in the loop, and wait for it."""
        with self._lock:
            if self._closed:
                raise CancelledError
            future = asyncio.run_coroutine_threadsafe(_coroutine(self._proceed), self._loop)
            self._begun.append(future)
        return future.result()

    def close(self) -> None:
        """Nobody waits any more: cancel what runs."""
        with self._lock:
            self._closed = True
            for future in self._begun:
                future.cancel()


def _caught(hook: Any, call: ToolInvocation, proceed: Proceed) -> tuple[Any, Exception | None]:
    """A StopIteration cannot leave a thread by way of a future."""
    try:
        return hook(call, proceed), None
    except Exception as error:
        return None, error


async def _coroutine(proceed: AsyncProceed) -> ToolResponse:
    return await proceed()


def _checked(hook: Any, answer: Any) -> ToolResponse:
    if is_response(answer):
        return answer  # type: ignore[no-any-return]
    if inspect.iscoroutine(answer):
        answer.close()
    return builtin_responses.hook_failed(hook, f"returned {type(answer).__name__}, which is no ToolResponse")
