"""A traced function behaves like its untraced twin: results, exceptions, references, threads and pickles."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.recording.twins import VAR, Oops, attempt, chatty, our_frames, streams, twins, waits

pytestmark = pytest.mark.usefixtures("frozen", "store")


class Thing:
    """Something that can be referenced weakly."""


def test_the_very_object_comes_back(store: Path) -> None:
    for value in (Thing(), [], {}, float("nan"), tt.ToolResponse.success("x"), iter(()), type, ...):
        traced = tt.trace_tool(lambda v=value: v)
        assert traced() is value


def raising(kind: type[BaseException]) -> Callable[[], None]:
    def tool() -> None:
        try:
            raise KeyError("first")
        except KeyError as cause:
            error = kind("second")
            error.add_note("note")
            raise error from cause

    return tool


@pytest.mark.parametrize(
    "kind", [Oops, KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError, StopIteration, RecursionError]
)
def test_exceptions_are_the_same_with_cause_context_and_traceback(kind: type[BaseException]) -> None:
    twins(raising(kind), lambda tool: attempt(tool))


def test_the_raised_exception_is_unchanged_with_one_frame_of_the_recorder() -> None:
    error = Oops("x")

    @tt.trace_tool
    def tool() -> None:
        raise error

    for _ in range(3):
        error.__traceback__ = None
        with pytest.raises(Oops) as caught:
            tool()
        assert caught.value is error
        assert our_frames(error) == 1
        assert error.__context__ is None


def test_an_exception_being_handled_outside_is_the_context_of_one_raised_inside() -> None:
    def tool() -> None:
        raise Oops("inner")

    def script(tool: Any) -> Any:
        try:
            raise ValueError("outer")
        except ValueError:
            return attempt(tool)

    twins(tool, script)


def test_context_variables_set_inside_are_visible_outside() -> None:
    def tool() -> None:
        VAR.set("inside")

    def script(tool: Any) -> str:
        def run() -> str:
            tool()
            return VAR.get()

        return contextvars.copy_context().run(run)

    assert twins(tool, script) == "inside"


def test_recursion_and_reentrancy(calls: Any) -> None:
    @tt.trace_tool
    def fact(n: int) -> int:
        return 1 if n < 2 else n * fact(n - 1)

    assert fact(20) == 2432902008176640000
    rows = calls()
    assert len(rows) == 20
    spans = {row.span_id for row in rows}
    assert sum(row.parent_span_id in spans for row in rows) == 19


def test_wrong_arguments_are_refused_by_the_tool_itself() -> None:
    def tool(a: int, *, b: int) -> None: ...

    for bad in (lambda t: t(), lambda t: t(1, 2), lambda t: t(1, c=3), lambda t: t(1, b=1, d=1)):
        kind, (error, args, *_) = twins(tool, lambda t, bad=bad: attempt(lambda: bad(t)))
        assert kind == "raised" and error is TypeError


def test_a_tool_near_the_recursion_limit_fails_only_as_it_would_have(lenient: None) -> None:
    def dive(tool: Any, depth: int = 0) -> int:
        try:
            return dive(tool, depth + 1)
        except RecursionError:
            return tool()

    assert dive(tt.trace_tool(lambda: 7)) == 7


@pytest.mark.parametrize("kind", ["result", "argument", "raised", "response"])
def test_no_object_is_kept_alive(kind: str) -> None:
    def tool(thing: Any) -> Any:
        if kind == "raised":
            raise Oops(thing)
        if kind == "response":
            return tt.ToolResponse.success("x", thing)
        return thing if kind == "result" else None

    def script(tool: Any) -> bool:
        gc.collect()
        gc.disable()
        try:
            thing = Thing()
            reference = weakref.ref(thing)
            try:
                tool(thing)
            except Oops:
                pass
            del thing
            return reference() is None
        finally:
            gc.enable()

    assert twins(tool, script) is True


def test_a_caught_exception_is_freed_at_once() -> None:
    def tool() -> None:
        raise Oops

    def script(tool: Any) -> bool:
        gc.collect()
        gc.disable()
        try:
            reference: Any = None
            try:
                tool()
            except Oops as error:
                reference = weakref.ref(error)
            return reference() is None
        finally:
            gc.enable()

    assert twins(tool, script) is True


@pytest.mark.parametrize("sort", ["generator", "async generator"])
def test_an_item_of_a_stream_is_not_kept_alive(sort: str) -> None:
    def generator() -> Any:
        yield Thing()
        yield Thing()

    async def agen() -> Any:
        yield Thing()
        yield Thing()

    def sync_script(tool: Any) -> list[bool]:
        out = []
        stream = tool()
        for _ in range(2):
            reference = weakref.ref(next(stream))
            out.append(reference() is None)
        return out

    def async_script(tool: Any) -> list[bool]:
        async def main() -> list[bool]:
            out = []
            stream = tool()
            for _ in range(2):
                reference = weakref.ref(await anext(stream))
                out.append(reference() is None)
            await stream.aclose()
            return out

        return asyncio.run(main())

    if sort == "generator":
        assert twins(generator, sync_script) == [True, True]
    else:
        assert twins(agen, async_script) == [True, True]


def square(n: int) -> int:
    return n * n


traced_square = tt.trace_tool(square)


named = tt.trace_tool(square)


@tt.trace_tool
def cube(n: int) -> int:
    """Cubes."""
    return n**3


def test_threads_and_pools(calls: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(cube, range(200))) == [n**3 for n in range(200)]
    rows = calls()
    assert len(rows) == 200 and len({row.span_id for row in rows}) == 200
    assert all(row.parent_span_id is None for row in rows)


def test_pickled_by_name() -> None:
    import pickle

    assert pickle.loads(pickle.dumps(cube)) is cube  # noqa: S301 - our own bytes


def test_inspection_sees_the_tools_signature() -> None:
    import inspect

    def describe(tool: Any) -> Any:
        predicates = (
            inspect.isfunction, inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction,
            inspect.isroutine, callable,
            *([asyncio.iscoroutinefunction] if sys.version_info < (3, 14) else []),  # deprecated since then
        )  # fmt: skip
        names = ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__", "tag")
        return (
            [p(tool) for p in predicates], [getattr(tool, n, None) for n in names], inspect.signature(tool),
            inspect.getdoc(tool), inspect.getsource(tool),
        )  # fmt: skip

    for tool in (square, chatty, waits, streams, contextlib.contextmanager(chatty)):
        tool.tag = "kept"  # type: ignore[attr-defined]
        twins(tool, describe)
        assert tt.trace_tool(tool).__wrapped__ is tool  # type: ignore[attr-defined]
