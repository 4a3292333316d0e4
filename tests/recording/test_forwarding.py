"""A traced tool and its untraced twin cannot be told apart by whoever calls them.

Each scenario is a script that plays with a tool and returns everything it could observe. It is run
against the plain tool and against the traced one, and the two observations must be equal.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import gc
import traceback
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt

HERE = str(Path(tt.__file__).parent)
VAR: contextvars.ContextVar[str] = contextvars.ContextVar("VAR", default="unset")

pytestmark = pytest.mark.usefixtures("store")


class Thing:
    """Something that can be referenced weakly."""


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
    """What ``script`` observed of both twins, once it is known to be the same."""
    plain = script(tool)
    traced = script(tt.trace_tool(tool))
    assert traced == plain
    return plain


# functions


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


def test_the_exception_is_the_object_that_was_raised_and_carries_one_frame_of_ours() -> None:
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


def test_context_variables_set_inside_are_seen_outside() -> None:
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


# results, arguments and exceptions are let go of when the twin lets go of them


@pytest.mark.parametrize("kind", ["result", "argument", "raised", "response"])
def test_nothing_is_kept_alive(kind: str) -> None:
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


# generators


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


def drained(stream: Any) -> Any:
    items = []
    while True:
        try:
            items.append(next(stream))
        except StopIteration as stop:
            return items, stop.value


GENERATOR_SCRIPTS: dict[str, Callable[[Any], Any]] = {
    "to the end": lambda t: drained(t()),
    "list": lambda t: list(t()),
    "send": lambda t: (lambda g: [next(g), g.send("a"), g.send(None), next(g), attempt(lambda: g.send("z"))])(t()),
    "send before start": lambda t: attempt(lambda: t().send(1)),
    "throw caught": lambda t: (lambda g: [next(g), g.throw(Oops("x")), drained(g)])(t()),
    "throw class": lambda t: (lambda g: [next(g), g.throw(Oops), drained(g)])(t()),
    "throw not caught": lambda t: (lambda g: [next(g), attempt(lambda: g.throw(ValueError("v"))), drained(g)])(t()),
    "throw before start": lambda t: (lambda g: [attempt(lambda: g.throw(Oops("early")))[1][:2], drained(g)])(t()),
    "throw interrupt": lambda t: (lambda g: [next(g), attempt(lambda: g.throw(KeyboardInterrupt())), drained(g)])(t()),
    "throw GeneratorExit": lambda t: (lambda g: [next(g), attempt(lambda: g.throw(GeneratorExit())), drained(g)])(t()),
    "throw StopIteration": lambda t: (lambda g: [next(g), attempt(lambda: g.throw(StopIteration(3)))])(t()),
    "close": lambda t: (lambda g: [next(g), g.close(), drained(g), g.close()])(t()),
    "close before start": lambda t: (lambda g: [g.close(), drained(g)])(t()),
    "break": lambda t: [next(iter([x for x in [next(t())]]))],
    "never started": lambda t: [t() and None],
    "dropped": lambda t: (lambda g: next(g))(t()),
    "one item too many": lambda t: (lambda g: [drained(g), attempt(lambda: next(g)), attempt(lambda: next(g))])(t()),
    "yield from": lambda t: drained((lambda: (yield from t()))()),
}


@pytest.mark.parametrize("name", GENERATOR_SCRIPTS)
def test_generators(name: str) -> None:
    twins(chatty, played(GENERATOR_SCRIPTS[name]))


def test_a_thrown_exception_carries_no_more_than_one_frame_of_ours() -> None:
    @tt.trace_tool
    def tool() -> Any:
        yield 1

    stream = tool()
    next(stream)
    with pytest.raises(Oops) as caught:
        stream.throw(Oops())
    assert our_frames(caught.value) <= 1


def test_a_generator_that_ignores_close() -> None:
    def stubborn() -> Any:
        while True:
            try:
                yield 1
            except GeneratorExit:
                yield 2
                return

    twins(stubborn, lambda t: (lambda g: [next(g), attempt(g.close), attempt(lambda: next(g))])(t()))


def test_a_generator_that_returns_or_raises_on_close() -> None:
    def returns() -> Any:
        try:
            yield 1
        except GeneratorExit:
            return 5

    def raises() -> Any:
        try:
            yield 1
        finally:
            raise Oops("at close")

    for tool in (returns, raises):
        twins(tool, lambda t: (lambda g: [next(g), attempt(g.close)])(t()))


def test_a_generator_that_raises_StopIteration() -> None:
    def tool() -> Any:
        yield 1
        raise StopIteration(4)

    twins(tool, lambda t: attempt(lambda: list(t())))


def test_a_generator_running_already() -> None:
    def tool() -> Any:
        yield attempt(lambda: next(HOLD[0]))

    def script(tool: Any) -> Any:
        HOLD[:] = [tool()]
        return next(HOLD[0])

    twins(tool, script)


HOLD: list[Any] = []


def test_generator_state_and_names() -> None:
    import inspect

    def script(t: Any) -> Any:
        g = t()
        states = [inspect.getgeneratorstate(g), inspect.isgenerator(g), g.__name__, g.__qualname__]
        next(g)
        states.append(inspect.getgeneratorstate(g))
        g.close()
        return [*states, inspect.getgeneratorstate(g)]

    twins(chatty, script)


def test_a_generator_moved_between_threads() -> None:
    import threading

    def script(tool: Any) -> Any:
        stream, out = tool(), []
        for _ in range(3):
            thread = threading.Thread(target=lambda: out.append(next(stream)))
            thread.start()
            thread.join()
        stream.close()
        return out

    twins(chatty, played(script))


def test_wrong_arguments_of_a_stream_are_refused_by_the_tool_itself() -> None:
    def tool(a: int) -> Any:
        yield a

    kind, (error, *_) = twins(tool, lambda t: attempt(lambda: list(t(1, 2))))
    assert kind == "raised" and error is TypeError


def test_context_variables_of_a_generator() -> None:
    def tool() -> Any:
        yield VAR.get()
        VAR.set("tool")
        yield VAR.get()
        yield VAR.get()

    def script(tool: Any) -> Any:
        def run() -> Any:
            stream = tool()
            VAR.set("one")
            out = [next(stream), next(stream), VAR.get()]
            VAR.set("two")
            return [*out, next(stream)]

        return contextvars.copy_context().run(run)

    assert twins(tool, script) == ["one", "tool", "tool", "two"]


def test_a_context_manager_around_a_generator_tool() -> None:
    def tool() -> Any:
        try:
            yield "in"
        except Oops as error:
            LOG.append(error.args)
            raise RuntimeError("from") from error

    def script(tool: Any) -> Any:
        manager = contextlib.contextmanager(tool)

        def use() -> None:
            with manager() as value:
                assert value == "in"
                raise Oops("body")

        def swallow() -> str:
            with manager():
                return "left"

        return attempt(use), attempt(swallow)

    twins(tool, played(script))


# coroutines


def run(script: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``script``, an async function of the tool, in an event loop whose complaints are part of what is seen."""

    def in_loop(tool: Any) -> Any:
        complaints: list[str] = []

        async def main() -> Any:
            asyncio.get_running_loop().set_exception_handler(lambda _, c: complaints.append(c["message"]))
            return await script(tool)

        LOG.clear()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            seen_ = attempt(lambda: asyncio.run(main()))
            gc.collect()
        return seen_, list(LOG), complaints, [str(w.message) for w in said]

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


def test_interrupts_leave_a_coroutine() -> None:
    for kind in (KeyboardInterrupt, SystemExit):

        async def tool(kind: type[BaseException] = kind) -> None:
            await asyncio.sleep(0)
            raise kind("now")

        twins(tool, run(lambda t: t()))


# async generators


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


# threads, pools


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


def test_what_inspection_says() -> None:
    import inspect

    def describe(tool: Any) -> Any:
        predicates = (
            inspect.isfunction, inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction,
            asyncio.iscoroutinefunction, inspect.isroutine, callable,
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
