"""The agents and their retries. They pass the context of a call with ``tt.context``, and label results with ``tt.label``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing, closing, suppress
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import httpx
import stamina

import tooltrace as tt
from tooltrace.demo.plan import PlannedCall, Task
from tooltrace.demo.tools import Toolbox

T = TypeVar("T")
_RETRIED = (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE)
_LIMITS: dict[str, Any] = {"attempts": 3, "timeout": None, "wait_initial": 0.02, "wait_max": 0.1, "wait_jitter": 0}


class _Retryable(Exception):
    """A response with an error that another attempt may avoid."""

    def __init__(self, response: tt.ToolResponse) -> None:
        super().__init__(response.text)
        self.response = response


def retry(attempt: Callable[[], T]) -> T:
    """Return the result of ``attempt``, retried if that may help; the last result if all attempts fail."""
    try:
        for attempt_context in stamina.retry_context(on=_should_retry, **_LIMITS):
            with attempt_context:
                return _checked(attempt())
    except _Retryable as last:
        return last.response  # type: ignore[return-value]  # T is ToolResponse where _Retryable was raised
    raise AssertionError("unreachable")


async def retry_async(attempt: Callable[[], Awaitable[T]]) -> T:
    """Retry a coroutine function as :func:`retry` does."""
    try:
        async for attempt_context in stamina.retry_context(on=_should_retry, **_LIMITS):
            with attempt_context:
                return _checked(await attempt())
    except _Retryable as last:
        return last.response  # type: ignore[return-value]
    raise AssertionError("unreachable")


def _checked(result: T) -> T:
    if isinstance(result, tt.ToolResponse) and result.error and result.error.retryable:
        raise _Retryable(result)
    return result


def _should_retry(error: Exception) -> bool | float:
    """Whether another attempt may succeed; a number of seconds if the required wait is known."""
    if isinstance(error, _Retryable):
        return _seconds((error.response.stats or {}).get("retry_after_s"))
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in _RETRIED and _seconds(error.response.headers.get("Retry-After"))
    return isinstance(error, httpx.TimeoutException)


def _seconds(retry_after: Any) -> bool | float:
    return True if retry_after is None else float(retry_after)


READERS = 4
SCOUTS = 12
CANCEL_SECONDS = 0.05
"""Seconds after which the agent cancels a call with the variation "cancel"."""
LONG_TIMEOUT_SECONDS = 30.0
ABANDON_AFTER = 3
"""Items of a stream that are read with the variation "abandon"."""


class Agents:
    """Three agents with one toolbox, running concurrently. ``on_call`` is called after each call."""

    def __init__(self, tools: Toolbox, on_call: Callable[[], None]) -> None:
        self._tools = tools
        self._on_call = on_call

    def work(self, tasks: Iterable[Task]) -> None:
        """Do all ``tasks``: readers in threads, scouts under asyncio, the librarian in a loop."""
        todo = list(tasks)
        with ThreadPoolExecutor(READERS + 1, thread_name_prefix="agent") as pool:
            jobs = [pool.submit(asyncio.run, self._scout([task for task in todo if task.agent == "scout"]))]
            jobs += [pool.submit(self._converse, task) for task in todo if task.agent == "reader"]
            for task in todo:
                if task.agent == "librarian":
                    self._converse(task)
            for job in jobs:
                job.result()

    def _converse(self, task: Task) -> None:
        with tt.context(conversation_id=task.conversation_id, agent=task.agent):
            for call in task.calls:
                with tt.context(call_id=call.call_id), suppress(Exception):  # an exception of a tool is recorded
                    label_result(call, self._do(call))
                self._on_call()

    def _do(self, call: PlannedCall) -> Any:
        tool, arguments = getattr(self._tools, call.tool), _attempt_arguments(call)
        if call.tool == "read_lines":
            return _read(tool(**next(arguments)), abandon=call.variation == "abandon")
        with ExitStack() as locks:
            if call.variation == "lock":
                locks.enter_context(self._tools.library.notes_locked())
            return retry(partial(_attempt, tool, arguments, locks))

    async def _scout(self, tasks: list[Task]) -> None:
        limit = asyncio.Semaphore(SCOUTS)

        async def converse(task: Task) -> None:
            async with limit:
                await self._converse_async(task)

        async with self._tools.async_web, asyncio.TaskGroup() as group:
            for task in tasks:
                group.create_task(converse(task))

    async def _converse_async(self, task: Task) -> None:
        with tt.context(conversation_id=task.conversation_id, agent=task.agent):
            for call in task.calls:
                with tt.context(call_id=call.call_id), suppress(Exception):
                    await self._do_async(call)
                self._on_call()

    async def _do_async(self, call: PlannedCall) -> None:
        tool, arguments = getattr(self._tools, call.tool), _attempt_arguments(call)
        if call.tool == "follow":
            await _follow(tool(**next(arguments)), abandon=call.variation == "abandon")
            return
        async with asyncio.timeout(CANCEL_SECONDS if call.variation == "cancel" else None):
            await retry_async(lambda: tool(**next(arguments)))


def label_result(call: PlannedCall, result: Any) -> None:
    """Label the call, if the correct answer is known and the tool returned a result."""
    expected = call.scenario.expected
    if expected is None:
        return
    actual = result.data["name"] if isinstance(result, tt.ToolResponse) else result
    tt.label(call_id=call.call_id, correct=actual == expected, labeler="demo", reason=f"expected {expected}")


def _attempt_arguments(call: PlannedCall) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each attempt; "longer timeout" changes them from the second attempt on."""
    arguments = call.scenario.arguments
    yield arguments
    while True:
        yield {**arguments, "timeout_s": LONG_TIMEOUT_SECONDS} if call.variation == "longer timeout" else arguments


def _attempt(tool: Callable[..., Any], arguments: Iterator[dict[str, Any]], locks: ExitStack) -> Any:
    """Make one attempt, and release the locks that made it fail before the next attempt."""
    with locks:
        return tool(**next(arguments))


def _read(stream: Generator[str, None, None], *, abandon: bool) -> list[str]:
    """Return the items of ``stream``; with ``abandon``, only the first few."""
    with closing(stream):
        return list(islice(stream, ABANDON_AFTER if abandon else None))


async def _follow(stream: AsyncGenerator[str, None], *, abandon: bool) -> None:
    items = 0
    async with aclosing(stream):
        async for _ in stream:
            items += 1
            if abandon and items == ABANDON_AFTER:
                break
