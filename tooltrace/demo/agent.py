"""The agents. They pass the context of a call with ``tt.context``, and a known correct answer with ``tt.label``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing, closing, suppress
from functools import partial
from itertools import islice
from typing import Any

import tooltrace as tt
from tooltrace.demo.plan import Errand, Task
from tooltrace.demo.retry import retry, retry_async
from tooltrace.demo.tools import Toolbox

READERS = 4
SCOUTS = 12
CHANGE_OF_MIND_SECONDS = 0.05
CALM_SECONDS = 30.0
ENOUGH_ITEMS = 3


class Agents:
    """Three agents with one toolbox, running concurrently. ``done`` is called after each errand."""

    def __init__(self, tools: Toolbox, done: Callable[[], None]) -> None:
        self._tools = tools
        self._done = done

    def work(self, tasks: Iterable[Task]) -> None:
        """Do all ``tasks``: readers in threads, scouts under asyncio, the librarian in a plain loop."""
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
        with tt.context(conversation_id=task.conversation_id, agent_name=task.agent):
            for errand in task.errands:
                with tt.context(call_id=errand.call_id), suppress(Exception):  # an exception of a tool is recorded
                    judge(errand, self._do(errand))
                self._done()

    def _do(self, errand: Errand) -> Any:
        tool, turns = getattr(self._tools, errand.tool), _turns(errand)
        if errand.tool == "read_lines":
            return _read(tool(**next(turns)), drop=errand.manner == "drop")
        with ExitStack() as held:
            if errand.manner == "queue":
                held.enter_context(self._tools.library.notes_held())
            return retry(partial(_attempt, tool, turns, held))

    async def _scout(self, tasks: list[Task]) -> None:
        room = asyncio.Semaphore(SCOUTS)

        async def converse(task: Task) -> None:
            async with room:
                await self._converse_async(task)

        async with self._tools.async_web, asyncio.TaskGroup() as group:
            for task in tasks:
                group.create_task(converse(task))

    async def _converse_async(self, task: Task) -> None:
        with tt.context(conversation_id=task.conversation_id, agent_name=task.agent):
            for errand in task.errands:
                with tt.context(call_id=errand.call_id), suppress(Exception):
                    await self._do_async(errand)
                self._done()

    async def _do_async(self, errand: Errand) -> None:
        tool, turns = getattr(self._tools, errand.tool), _turns(errand)
        if errand.tool == "follow":
            await _follow(tool(**next(turns)), drop=errand.manner == "drop")
            return
        async with asyncio.timeout(CHANGE_OF_MIND_SECONDS if errand.manner == "change of mind" else None):
            await retry_async(lambda: tool(**next(turns)))


def judge(errand: Errand, result: Any) -> None:
    """Label the call, if the correct answer is known and the tool returned a result."""
    truth = errand.wish.truth
    if truth is None:
        return
    answer = result.data["name"] if isinstance(result, tt.ToolResponse) else result
    tt.label(call_id=errand.call_id, correct=answer == truth, source="demo", reason=f"it is {truth}")


def _turns(errand: Errand) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each attempt; with the manner "calm down", a long timeout from the second attempt on."""
    arguments = errand.wish.arguments
    yield arguments
    while True:
        yield {**arguments, "patience": CALM_SECONDS} if errand.manner == "calm down" else arguments


def _attempt(tool: Callable[..., Any], turns: Iterator[dict[str, Any]], held: ExitStack) -> Any:
    """Make one attempt, and release the locks that made it fail before the next attempt."""
    with held:
        return tool(**next(turns))


def _read(stream: Generator[str, None, None], *, drop: bool) -> list[str]:
    """Return the items of ``stream``; with ``drop``, only the first few."""
    with closing(stream):
        return list(islice(stream, ENOUGH_ITEMS if drop else None))


async def _follow(stream: AsyncGenerator[str, None], *, drop: bool) -> None:
    seen = 0
    async with aclosing(stream):
        async for _ in stream:
            seen += 1
            if drop and seen == ENOUGH_ITEMS:
                break
