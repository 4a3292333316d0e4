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

import orjson
from opentelemetry.context.context import Context

from tooltrace.attempt import PLAIN, Attempt
from tooltrace.capture import scrub, snapshot
from tooltrace.guard import fault, guarded
from tooltrace.otel.internals import attach, current_context, detach, restore
from tooltrace.recorder import UNKNOWN, Recorder, enter, span_context
from tooltrace.response import is_response


class Tape:
    """What a stream gave, and how long it took, and how long its consumer held it."""

    __slots__ = (
        "attempt",
        "closing",
        "count",
        "first_ns",
        "held_ns",
        "last",
        "limit",
        "open",
        "parts",
        "recorder",
        "size",
        "tool_ns",
    )

    def __init__(self, recorder: Recorder, attempt: Attempt) -> None:
        self.recorder = recorder
        self.attempt = attempt
        self.parts: list[Any] = []
        self.size = 0
        self.count = 0
        self.open = attempt.full
        """False once enough was kept."""
        self.limit = attempt.settings.field_limit
        self.last: Any = None
        self.first_ns: int | None = None
        self.tool_ns = 0
        self.held_ns = 0
        self.closing = False
        """True once the consumer has closed the stream."""

    def context(self) -> Context:
        """The context that the tool's code starts in."""
        return span_context(self.attempt)

    def item(self, item: Any) -> None:
        """The tool gave ``item``."""
        if not self.count:
            self.first_ns = self.tool_ns
        self.count += 1
        kind = type(item)
        if kind is str:
            self.last = None
            self.size += len(item)
            if self.open:
                self.parts.append(item)
                self.open = self.size <= self.limit
            return
        self.last = item if kind not in PLAIN and is_response(item) else None  # any other is its consumer's alone
        if self.open:
            self._keep(item)

    def _keep(self, item: Any) -> None:
        try:
            part = snapshot(item)
        except Exception:
            fault("record", lost=0)
            return
        self.parts.append(part)
        self.size += len(part) if type(part) is bytes else 8
        self.open = self.size <= self.limit

    def returned(self, value: Any) -> None:
        """The tool's code came to its end, with ``value``."""
        if self.closing:
            self.raised(GeneratorExit())
            return
        self._times()
        answer = next((x for x in (value, self.last) if is_response(x)), None)
        if answer is None and self.count:
            self._keep_items()
            self.recorder.streamed(self.attempt)
        else:
            self.recorder.returned(self.attempt, value if answer is None else answer, duration_ns=self.tool_ns)

    def raised(self, error: BaseException) -> None:
        """``error`` left the tool, or the consumer dropped the stream."""
        self._times()
        if self.count:
            self._keep_items()
        self.recorder.raised(self.attempt, error, duration_ns=self.tool_ns)

    def _times(self) -> None:
        attempt = self.attempt
        attempt.first_item_ns = self.first_ns
        attempt.consumer_ns = self.held_ns
        attempt.duration_ns = self.tool_ns
        attempt.items = self.count

    def _keep_items(self) -> None:
        if not self.attempt.full:
            return
        with guarded("record"):
            parts = self.parts
            if all(type(part) is str for part in parts):
                self.attempt.text = "".join(parts)
            self.attempt.value = b"[" + b",".join(map(_json, parts)) + b"]"
            self.attempt.stream_size = self.size


class BlankTape(Tape):
    """For a stream that cannot be recorded: it runs all the same."""

    __slots__ = ()

    def __init__(self) -> None:
        self.tool_ns = self.held_ns = 0

    def context(self) -> Context:
        return current_context()

    def item(self, item: Any) -> None:
        pass

    def returned(self, value: Any) -> None:
        pass

    def raised(self, error: BaseException) -> None:
        pass


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


def _json(part: Any) -> bytes:
    if type(part) is bytes:
        return part
    return orjson.dumps(scrub(part) if type(part) is str else part)


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
        send, clock = inner.send, perf_counter_ns
        value: Any = None
        items: list[Any] = []  # emptied into the yield: what the consumer drops is gone
        thrown: BaseException | None = None
        before = clock()
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
                    tape.tool_ns += after - before
                tape.item(items[0])
                try:
                    value = yield items.pop()
                except BaseException as error:
                    thrown = _unmarked(error)
                    tape.closing = type(error) is GeneratorExit
                before = clock()
                tape.held_ns += before - after
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
                tape.item(items[0])
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
