"""A traced coroutine behaves like its untraced twin."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.recording.twins import VAR, Oops, attempt, attempt_async, run, twins, waits

pytestmark = pytest.mark.usefixtures("frozen", "store")


async def c_returns(t: Any) -> Any:
    return await t()


async def c_raises(t: Any) -> Any:
    return await attempt_async(lambda: t(0, Oops("x")))


async def c_cancelled(t: Any) -> Any:
    task = asyncio.create_task(t(60))
    await asyncio.sleep(0)
    task.cancel("why")
    out = await attempt_async(lambda: task)
    return out, task.cancelled()


async def c_cancelled_before_start(t: Any) -> Any:
    task = asyncio.create_task(t(60))
    task.cancel()
    return (await attempt_async(lambda: task))[1][:2]


async def c_timeout(t: Any) -> Any:
    async def body() -> Any:
        async with asyncio.timeout(0.01):
            await t(60)

    return await attempt_async(body)


async def c_wait_for(t: Any) -> Any:
    return await attempt_async(lambda: asyncio.wait_for(t(60), 0.01))


async def c_shielded(t: Any) -> Any:
    inner = asyncio.ensure_future(t(0.01))
    first = await attempt_async(lambda: asyncio.wait_for(asyncio.shield(inner), 0.001))
    return first[0], await inner


async def c_group(t: Any) -> Any:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(t(60))
            group.create_task(t(0, Oops("one fails")))
    except BaseExceptionGroup as errors:
        return [e.args for e in errors.exceptions]


async def c_gather(t: Any) -> Any:
    return await asyncio.gather(t(0, 1), t(0, 2), *(t(0.001, i) for i in range(20)))


async def c_never_awaited(t: Any) -> Any:
    t()
    return None


async def c_closed(t: Any) -> Any:
    c = t(60)
    c.send(None)
    return attempt(c.close), attempt(lambda: c.send(None))


async def c_thrown(t: Any) -> Any:
    c = t(60)
    c.send(None)
    return attempt(lambda: c.throw(Oops("thrown")))


async def c_awaited_twice(t: Any) -> Any:
    c = t()
    return await c, await attempt_async(lambda: c)


async def c_context(t: Any) -> Any:
    return await t(), VAR.get()


COROUTINE_SCRIPTS = [
    c_returns, c_raises, c_cancelled, c_cancelled_before_start, c_timeout, c_wait_for, c_shielded, c_group, c_gather,
    c_never_awaited, c_closed, c_thrown, c_awaited_twice,
]  # fmt: skip


@pytest.mark.parametrize("script", COROUTINE_SCRIPTS, ids=lambda f: f.__name__)
def test_coroutines(script: Any) -> None:
    twins(waits, run(script))


@pytest.mark.parametrize("script", COROUTINE_SCRIPTS, ids=lambda f: f.__name__)
def test_coroutines_hidden_behind_a_plain_function(script: Any) -> None:
    def hidden(*args: Any, **kwargs: Any) -> Any:
        return waits(*args, **kwargs)

    twins(hidden, run(script))


def test_a_coroutine_sets_context_variables() -> None:
    async def tool() -> None:
        VAR.set("from the tool")
        await asyncio.sleep(0)

    twins(tool, run(c_context))


def test_interrupts_propagate_from_a_coroutine() -> None:
    for kind in (KeyboardInterrupt, SystemExit):

        async def tool(kind: type[BaseException] = kind) -> None:
            await asyncio.sleep(0)
            raise kind("now")

        twins(tool, run(lambda t: t()))
