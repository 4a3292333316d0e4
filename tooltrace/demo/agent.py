"""The agents. They pass the context of a call with ``tt.context``, and label results with ``tt.label``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing, closing, suppress
from functools import partial
from itertools import islice
from typing import Any

import tooltrace as tt
from tooltrace.demo.plan import PlannedCall, Task
from tooltrace.demo.retry import retry, retry_async
from tooltrace.demo.tools import Toolbox

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
