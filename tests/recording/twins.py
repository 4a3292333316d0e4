"""Helpers that run a script on a traced tool and on its untraced twin."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tooltrace as tt

HERE = str(Path(tt.__file__).parent)


VAR: contextvars.ContextVar[str] = contextvars.ContextVar("VAR", default="unset")


class Oops(Exception):
    pass


def frames(error: BaseException) -> list[str]:
    """The functions of a traceback, without those of the recorder."""
    return [f.name for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(HERE)]


def our_frames(error: BaseException) -> int:
    return sum(f.filename.startswith(HERE) for f in traceback.extract_tb(error.__traceback__))


def seen(error: BaseException | None) -> Any:
    """Everything of an exception that its catcher can see."""
    if error is None:
        return None
    return (
        type(error), error.args, frames(error), seen(error.__cause__), seen(error.__context__),
        error.__suppress_context__, getattr(error, "__notes__", None),
    )  # fmt: skip


def attempt(action: Callable[[], Any]) -> Any:
    try:
        return "value", action()
    except BaseException as error:  # noqa: BLE001 - the observation
        return "raised", seen(error)


async def attempt_async(action: Callable[[], Any]) -> Any:
    try:
        return "value", await action()
    except BaseException as error:  # noqa: BLE001
        return "raised", seen(error)


def twins(tool: Callable[..., Any], script: Callable[..., Any]) -> Any:
    """Return what ``script`` observed of both twins; both must be equal."""
    plain = script(tool)
    traced = script(tt.trace_tool(tool))
    assert traced == plain
    return plain


def chatty(n: int = 4) -> Any:
    """Answers what it is sent, survives Oops, and says goodbye."""
    got: list[Any] = []
    try:
        for i in range(n):
            try:
                got.append((yield i))
            except Oops as error:
                got.append(("oops", error.args, frames(error)))
    finally:
        got.append("closed")
        LOG.append(got)
    return got


LOG: list[Any] = []


def played(script: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``script`` with a fresh log of what the tool did."""

    @functools.wraps(script)
    def run(tool: Any) -> Any:
        LOG.clear()
        return script(tool), list(LOG)

    return run


HOLD: list[Any] = []


def run(script: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``script``, an async function of the tool, in an event loop whose complaints are part of what is seen."""

    def in_loop(tool: Any) -> Any:
        complaints: list[str] = []

        async def main() -> Any:
            asyncio.get_running_loop().set_exception_handler(lambda _, c: complaints.append(c["message"]))
            return await script(tool)

        LOG.clear()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            seen_ = attempt(lambda: asyncio.run(main()))
            gc.collect()
        return seen_, list(LOG), complaints, [str(w.message) for w in warned]

    return in_loop


async def waits(seconds: float = 0.0, result: Any = "done") -> Any:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        LOG.append("cancelled")
        raise
    finally:
        LOG.append("over")
    if isinstance(result, BaseException):
        raise result
    return result


async def streams(n: int = 4) -> Any:
    got: list[Any] = []
    try:
        for i in range(n):
            try:
                await asyncio.sleep(0)
                got.append((yield i))
            except Oops as error:
                got.append(("oops", error.args, frames(error)))
    finally:
        await asyncio.sleep(0)
        got.append("closed")
        LOG.append(got)
