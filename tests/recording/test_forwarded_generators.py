"""A traced generator behaves like its untraced twin."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable
from typing import Any

import pytest

import tooltrace as tt
from tests.recording.twins import HOLD, LOG, VAR, Oops, attempt, chatty, our_frames, played, twins

pytestmark = pytest.mark.usefixtures("store")


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


def test_a_thrown_exception_has_at_most_one_frame_of_the_recorder() -> None:
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


def test_a_generator_tool_works_as_a_context_manager() -> None:
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
