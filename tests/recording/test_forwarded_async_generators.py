"""A traced async generator behaves like its untraced twin."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from typing import Any

import pytest

from tests.recording.twins import HOLD, LOG, Oops, attempt, attempt_async, played, run, streams, twins

pytestmark = pytest.mark.usefixtures("frozen", "store")


async def a_all(t: Any) -> Any:
    return [x async for x in t()]


async def a_send(t: Any) -> Any:
    g = t()
    return [
        await anext(g),
        await g.asend("a"),
        await g.asend(None),
        await anext(g),
        await attempt_async(lambda: g.asend(1)),
    ]


async def a_send_first(t: Any) -> Any:
    g = t()
    return await attempt_async(lambda: g.asend(1)), [x async for x in g]


async def a_throw(t: Any) -> Any:
    g = t()
    return [await anext(g), await g.athrow(Oops("x")), [x async for x in g]]


async def a_throw_uncaught(t: Any) -> Any:
    g = t()
    return [
        await anext(g),
        await attempt_async(lambda: g.athrow(ValueError("v"))),
        await attempt_async(lambda: anext(g)),
    ]


async def a_throw_first(t: Any) -> Any:
    g = t()
    return (await attempt_async(lambda: g.athrow(Oops("early"))))[1][:2], await attempt_async(lambda: anext(g))


async def a_throw_exit(t: Any) -> Any:
    g = t()
    return [
        await anext(g),
        await attempt_async(lambda: g.athrow(GeneratorExit())),
        await attempt_async(lambda: anext(g)),
    ]


async def a_close(t: Any) -> Any:
    g = t()
    return [await anext(g), await g.aclose(), await attempt_async(lambda: anext(g)), await g.aclose()]


async def a_close_first(t: Any) -> Any:
    g = t()
    return [await g.aclose(), await attempt_async(lambda: anext(g))]


async def turns() -> None:
    """Let the event loop close what nobody holds any more: a number of turns, whatever time they take."""
    for _ in range(20):
        await asyncio.sleep(0)


async def a_break(t: Any) -> Any:
    async for x in t():
        if x == 1:
            break
    gc.collect()
    await turns()
    return list(map(list, LOG))


async def a_left_open(t: Any) -> Any:
    HOLD[:] = [t()]
    return await anext(HOLD[0])


async def a_never_started(t: Any) -> Any:
    t()
    return None


async def a_cancelled(t: Any) -> Any:
    async def consume() -> None:
        async for _ in t(10**6):
            started.set()

    started = asyncio.Event()
    task = asyncio.create_task(consume())
    await started.wait()
    task.cancel()
    out = await attempt_async(lambda: task)
    gc.collect()
    await turns()
    return out[0], task.cancelled()


async def a_timeout(t: Any) -> Any:
    async def consume() -> None:
        async with asyncio.timeout(0.02):
            async for _ in t(10**6):
                await asyncio.sleep(0.001)

    out = await attempt_async(consume)
    gc.collect()
    await turns()
    LOG[:] = [got[-1] for got in LOG]  # how far it came is chance
    return out[0], out[1][0]


async def a_two_at_once(t: Any) -> Any:
    g = t()
    one, two = asyncio.ensure_future(anext(g)), asyncio.ensure_future(anext(g))
    await asyncio.wait([one, two])
    await g.aclose()
    return [f.result() if not f.exception() else (type(f.exception()), f.exception().args) for f in (one, two)]


async def a_aclosing(t: Any) -> Any:
    async with contextlib.aclosing(t()) as g:
        return await anext(g)


ASYNC_GENERATOR_SCRIPTS = [
    a_all, a_send, a_send_first, a_throw, a_throw_uncaught, a_throw_first, a_throw_exit, a_close, a_close_first, a_break,
    a_left_open, a_never_started, a_cancelled, a_timeout, a_two_at_once, a_aclosing,
]  # fmt: skip


@pytest.mark.parametrize("script", ASYNC_GENERATOR_SCRIPTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("hidden", [False, True], ids=["", "hidden"])
def test_async_generators(script: Any, hidden: bool) -> None:
    def plain(*args: Any) -> Any:
        return streams(*args)

    def with_release(t: Any) -> Any:
        out = run(script)(t)
        HOLD.clear()
        return out

    twins(plain if hidden else streams, with_release)


def test_an_async_generator_that_ignores_close() -> None:
    async def stubborn() -> Any:
        try:
            yield 1
        except GeneratorExit:
            yield 2

    async def script(t: Any) -> Any:
        g = t()
        return await anext(g), await attempt_async(g.aclose)

    twins(stubborn, run(script))


def test_an_async_generator_driven_by_hand_without_a_loop() -> None:
    async def tool() -> Any:
        try:
            yield 1
            yield 2
        finally:
            LOG.append("closed")

    def step(awaitable: Any) -> Any:
        try:
            awaitable.send(None)
        except StopIteration as stop:
            return stop.value

    def script(t: Any) -> Any:
        g = t()
        return step(anext(g)), step(g.asend(0)), attempt(lambda: step(anext(g)))

    twins(tool, played(script))
