"""Generators and async generators, followed to their end.

Whatever the consumer does (send, throw, close, drop, cancel) reaches the tool as it would have, and
what the tool does reaches the consumer. The span is current only while the tool's own code runs, and
the context that the tool left at a ``yield`` is the one it finds again.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from time import perf_counter_ns
from typing import Any

from tooltrace.attempt import Attempt
from tooltrace.otel.internals import attach, current_context, detach, restore
from tooltrace.recorder import UNKNOWN, Recorder, enter
from tooltrace.tape import Tape


class Hidden:
    """A coroutine or a stream that a plain function handed out, and that nobody has started yet."""

    __slots__ = ("_attempt", "_inner", "_recorder", "_started")

    def __init__(self, inner: Any, recorder: Recorder, attempt: Attempt) -> None:
        self._inner = inner
        self._recorder = recorder
        self._attempt = attempt
        self._started = False

    def open(self) -> tuple[Any, Recorder, Attempt]:
        """It is being started."""
        self._started = True
        return self._inner, self._recorder, self._attempt

    def taped(self) -> tuple[Any, Tape]:
        """It is a stream, and is being started."""
        inner, recorder, attempt = self.open()
        return inner, Tape(recorder, attempt)

    def dropped(self) -> None:
        """What followed it is gone."""
        if self._started:
            return
        if isinstance(self._inner, Coroutine):
            self._inner.close()  # whoever dropped it is warned once, for what followed it
        self._recorder.raised(self._attempt, GeneratorExit(), duration_ns=UNKNOWN)


def _unmarked(error: BaseException) -> BaseException:
    """``error`` that the consumer threw in, without the frame of ours that it came through."""
    trace = error.__traceback__
    return error if trace is None else error.with_traceback(trace.tb_next)


async def coroutine(hidden: Hidden) -> Any:
    """A hidden coroutine, awaited to its end as the current span."""
    inner, recorder, attempt = hidden.open()
    token = enter(attempt)
    try:
        result = await inner
    except BaseException as error:
        detach(token)
        recorder.raised(attempt, error)
        raise
    detach(token)
    recorder.returned(attempt, result)
    return result


def generator_function(begin: Callable[..., tuple[Any, Tape]]) -> Callable[..., Generator[Any, Any, Any]]:
    """A generator function that drives what ``begin`` gives to its end, and tapes it."""

    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        inner, tape = begin(*args, **kwargs)
        body = tape.context()
        send, clock, keep = inner.send, perf_counter_ns, tape.parts.append
        value: Any = None
        items: list[Any] = []  # emptied into the yield: what the consumer drops is gone
        thrown: BaseException | None = None
        room = tape.room
        count = tool_ns = held_ns = 0
        before = clock()
        try:
            try:
                while True:
                    token = attach(body)
                    try:
                        items.append(send(value) if thrown is None else inner.throw(thrown))
                    finally:
                        # a frame that holds its own exception is garbage that only the collector frees
                        thrown = value = None
                        body = current_context()
                        restore(token)
                        after = clock()
                        tool_ns += after - before
                    if not count:
                        tape.first_ns = tool_ns
                    count += 1
                    if type(items[0]) is str:  # as in Tape.take, without a call for each
                        if room > 0:
                            keep(items[0])
                        room -= len(items[0])
                        tape.last = None
                    else:
                        room = tape.other(items[0], room)
                    try:
                        value = yield items.pop()
                    except BaseException as error:
                        thrown = _unmarked(error)
                        tape.closing = type(error) is GeneratorExit
                    before = clock()
                    held_ns += before - after
            finally:
                tape.count, tape.room, tape.tool_ns, tape.held_ns = count, room, tool_ns, held_ns
        except StopIteration as stop:
            tape.returned(stop.value)
            return stop.value
        except BaseException as error:
            tape.raised(error)
            raise

    return wrapper


def async_generator_function(begin: Callable[..., tuple[Any, Tape]]) -> Callable[..., AsyncGenerator[Any, Any]]:
    """An async generator function that drives what ``begin`` gives to its end, and tapes it."""

    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner, tape = begin(*args, **kwargs)
        body = tape.context()
        clock = perf_counter_ns
        value: Any = None
        items: list[Any] = []  # emptied into the yield: what the consumer drops is gone
        thrown: BaseException | None = None
        started = False
        before = clock()
        try:
            while True:
                token = attach(body)
                try:
                    if thrown is not None:
                        items.append(await inner.athrow(thrown))
                    elif started:
                        items.append(await inner.asend(value))
                    else:
                        started = True
                        items.append(await _first(inner))
                finally:
                    thrown = value = None
                    body = current_context()
                    detach(token)
                    after = clock()
                    tape.tool_ns += after - before
                tape.take(items[0])
                try:
                    value = yield items.pop()
                except BaseException as error:
                    thrown = _unmarked(error)
                    tape.closing = type(error) is GeneratorExit
                before = clock()
                tape.held_ns += before - after
        except StopAsyncIteration:
            tape.returned(None)
        except BaseException as error:
            tape.raised(error)
            raise

    return wrapper


def _first(inner: AsyncGenerator[Any, Any]) -> Any:
    """Begin ``inner`` unseen by the event loop: it closes the generator around it, and would otherwise
    close both at once, each in the other's way."""
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return inner.asend(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)
