"""Why an attempt was cancelled: a deadline, a person or a sibling, or unknown."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import anyio
import pytest

import tooltrace as tt
from tests.recording.shared_endings import Calls
from tooltrace.recording.cancellation import reason_of

Hang = Callable[[], Coroutine[Any, Any, None]]


async def wait_for(hang: Hang) -> None:
    await asyncio.wait_for(hang(), 0.01)


async def timeout(hang: Hang) -> None:
    async with asyncio.timeout(0.01):
        await hang()


async def timeout_around_gather(hang: Hang) -> None:
    async with asyncio.timeout(0.01):
        await asyncio.gather(hang())


async def timeout_around_group(hang: Hang) -> None:
    async with asyncio.timeout(0.01), asyncio.TaskGroup() as group:
        group.create_task(hang())


async def wait_for_in_wait_for(hang: Hang) -> None:
    await asyncio.wait_for(asyncio.wait_for(hang(), 100), 0.01)


async def move_on_after(hang: Hang) -> None:
    with anyio.move_on_after(0.01):
        await hang()


async def fail_after_around_group(hang: Hang) -> None:
    with anyio.fail_after(0.01):
        async with anyio.create_task_group() as group:
            group.start_soon(hang)


class Steps:
    """Tasks that are cancelled and awaited where the block is left, as by the executor of LangGraph."""

    async def __aenter__(self) -> Steps:
        self.tasks: list[asyncio.Task[None]] = []
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)


async def step_timeout(hang: Hang) -> None:
    async def steps() -> AsyncIterator[int]:
        async with Steps() as running:
            running.tasks.append(asyncio.create_task(hang()))
            await asyncio.wait(running.tasks, timeout=0.01)
            raise TimeoutError("a step took too long")
            yield 1

    async for _ in steps():
        pass


async def sibling(hang: Hang) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError

    async with asyncio.TaskGroup() as group:
        group.create_task(hang())
        group.create_task(fail())


async def sibling_of_anyio(hang: Hang) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(hang)
        await asyncio.sleep(0)
        raise ValueError


async def user(hang: Hang) -> None:
    task = asyncio.create_task(hang())
    await asyncio.sleep(0)
    task.cancel()
    await task


async def user_within_deadlines(hang: Hang) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(100):
            with anyio.move_on_after(100):
                await asyncio.wait_for(hang(), 100)

    await user(bounded)


async def user_with_a_message(hang: Hang) -> None:
    task = asyncio.create_task(hang())
    await asyncio.sleep(0)
    task.cancel("the deadline of the step")
    await task


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (wait_for, "TIMEOUT"),
        (timeout, "TIMEOUT"),
        (timeout_around_gather, "TIMEOUT"),
        (timeout_around_group, "TIMEOUT"),
        (wait_for_in_wait_for, "TIMEOUT"),
        (move_on_after, "TIMEOUT"),
        (fail_after_around_group, "TIMEOUT"),
        (step_timeout, "TIMEOUT"),
        (user_with_a_message, "TIMEOUT"),
        (sibling, "CANCELLED"),
        (sibling_of_anyio, None),
        (user, None),
        (user_within_deadlines, None),
    ],
)
def test_a_deadline_is_apart_from_a_person_and_from_a_sibling(calls: Calls, run: Any, code: str | None) -> None:
    @tt.trace_tool
    async def hang() -> None:
        await asyncio.Event().wait()

    with contextlib.suppress(BaseException):
        asyncio.run(run(hang))
    (call,) = calls()
    assert (call.ending, call.status, call.code) == ("cancelled", None, code)


def test_a_deadline_that_is_over_does_not_explain_a_later_cancellation(calls: Calls) -> None:
    @tt.trace_tool
    async def hang() -> None:
        await asyncio.Event().wait()

    async def run() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0) as expired:
                await asyncio.sleep(1)
        assert expired.expired()
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)
        await hang()

    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(run())
    assert [call.code for call in calls()] == [None]


def test_a_hostile_cancellation_has_no_reason() -> None:
    class Hostile(asyncio.CancelledError):
        @property
        def args(self) -> Any:  # type: ignore[override]
            raise SystemError

        def __getattribute__(self, name: str) -> Any:
            raise MemoryError

    assert reason_of(Hostile("x")) is None
