"""Wrappers that drive generators, async generators and coroutines to their end, and record the items.

Every action of the consumer (send, throw, close, drop, cancel) reaches the tool as it would without the wrapper, and
every action of the tool reaches the consumer. The span is current only while the tool's own code runs, and the context
that the tool had at a ``yield`` is restored when the tool continues.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from time import perf_counter, perf_counter_ns
from typing import Any

import orjson
from opentelemetry.context.context import Context

from tooltrace.core.response import is_response
from tooltrace.faults import pass_on_signal, report_fault, suppress_faults
from tooltrace.normalize.result_view import snapshot_result
from tooltrace.otel import sdk_internals
from tooltrace.otel.sdk_internals import detach
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.reading import StreamSnapshot, ValueSnapshot
from tooltrace.recording.recorder import UNKNOWN, Recorder, activate, span_context
from tooltrace.redact.snapshot import CUT, snapshot
from tooltrace.redact.texts import cut_text, fix_unicode

_LAST_ITEM = 4096
"""Size limit of the copy of an item that is only read, because the items before have used the room for storage."""
_NO_KINDS: tuple[str, ...] = ()
_PLAIN = frozenset({dict, list, int, float, bool, type(None)})
"""Types of items that need no search for a protocol's class."""


class StreamRecorder:
    """The items of a stream, the time spent in the tool, and the time spent in its consumer."""

    __slots__ = (
        "attempt",
        "closing",
        "consumer_ns",
        "count",
        "first_ns",
        "last",
        "parts",
        "recorder",
        "room",
        "tool_ns",
    )

    def __init__(self, recorder: Recorder, attempt: Attempt) -> None:
        self.recorder = recorder
        self.attempt = attempt
        self.parts: list[Any] = []
        self.count = 0
        self.room = attempt.settings.field_limit
        """Remaining size to store; negative by the size of the items that were not stored."""
        self.last: Any = None
        """The last item: a ToolResponse, a text, or a snapshot of another value."""
        self.first_ns: int | None = None
        self.tool_ns = 0
        self.consumer_ns = 0
        self.closing = False
        """Whether the consumer has closed the stream."""

    def context(self) -> Context:
        """Return the context in which the tool's code starts."""
        return span_context(self.attempt)

    def add_item(self, item: Any) -> None:
        """Record ``item``, which the tool yielded."""
        if not self.count:
            self.first_ns = self.tool_ns
        self.count += 1
        if type(item) is str:
            if self.room > 0:
                self.parts.append(cut_text(item, self.attempt.settings.field_limit))
            self.room -= len(item)
            self.last = item
        else:
            self.room = self.add_object(item, self.room)

    def add_object(self, item: Any, room: int) -> int:
        """Record ``item``, which is not a ``str``, where ``room`` is left. Returns the remaining room."""
        kind = type(item)
        limit = self.attempt.settings.field_limit if room > 0 else _LAST_ITEM
        try:
            is_plain = type(kind) is type and kind in _PLAIN  # a metaclass may define a __hash__
            part, kinds = (snapshot(item, limit), _NO_KINDS) if is_plain else snapshot_result(item, limit)
            # an item is not held: its consumer may drop it
            self.last = item if kinds and is_response(item) else ValueSnapshot(part, kinds)
        except BaseException as error:
            self.last = None
            pass_on_signal(error)
            report_fault("record", lost=0)
            return room
        if room <= 0:
            return room
        self.parts.append(part)
        return room - (len(part) if type(part) is bytes else 8)

    def returned(self, value: Any) -> None:
        """Record that the tool's code ended and returned ``value``."""
        # a tool that catches GeneratorExit and returns was closed all the same: its result is not complete
        if self.closing:
            self.raised(GeneratorExit())
            return
        if self.count:
            self.save(with_items=True)
            self.recorder.finish_stream(self.attempt, self.last, value)
        else:
            self.save(with_items=False)
            self.recorder.returned(self.attempt, value, duration_ns=self.tool_ns)

    def raised(self, error: BaseException) -> None:
        """Record that ``error`` left the tool, or that the consumer dropped the stream."""
        self.save(with_items=self.count > 0)
        self.recorder.raised(self.attempt, error, duration_ns=self.tool_ns)

    def save(self, *, with_items: bool) -> None:
        """Copy count, times and items to the attempt."""
        attempt, parts = self.attempt, self.parts
        attempt.duration_ns = self.tool_ns
        text, size = None, 0
        if with_items:
            with suppress_faults("record"):
                # joining is the cheapest test of whether all items are text
                try:
                    text = "".join(parts)
                except TypeError:  # some items are not text
                    attempt.result = ValueSnapshot(_array(parts))
                else:
                    attempt.result = ValueSnapshot(_text_array(parts))
                size = attempt.settings.field_limit - self.room if attempt.captures_content else 0
        attempt.stream = StreamSnapshot(self.count, self.first_ns, self.consumer_ns, text, size)


class NullStreamRecorder(StreamRecorder):
    """A recorder that records nothing, for a stream that runs although it cannot be recorded."""

    __slots__ = ()

    def __init__(self) -> None:
        self.parts = []
        self.last = None
        self.count = self.room = self.tool_ns = self.consumer_ns = 0

    def context(self) -> Context:
        return sdk_internals.current_context()

    def add_item(self, item: Any) -> None:
        """Record nothing."""

    def add_object(self, item: Any, room: int) -> int:  # noqa: ARG002
        """Record nothing."""
        return room

    def returned(self, value: Any) -> None:
        """Record nothing."""

    def raised(self, error: BaseException) -> None:
        """Record nothing."""


def _array(parts: list[Any]) -> bytes:
    """Return the snapshots ``parts`` as one JSON array."""
    items = [orjson.Fragment(part) if type(part) is bytes else part for part in parts]
    cut = CUT if any(type(part) is bytes and part.endswith(CUT) for part in parts) else b""
    return _text_array(items) + cut


def _text_array(items: list[Any]) -> bytes:
    """Return ``items``, which are texts, scalars and fragments of JSON, as one JSON array."""
    dumps = orjson.dumps  # noqa: TID251 - texts and fragments of JSON, which msgspec does not know
    try:
        return dumps(items)
    except TypeError:  # orjson refuses lone surrogates
        return dumps([fix_unicode(item) if type(item) is str else item for item in items])


class UnstartedAwaitable:
    """A coroutine or a stream that a plain function returned and that has not been started yet."""

    __slots__ = ("_attempt", "_inner", "_recorder", "_started")

    def __init__(self, inner: Any, recorder: Recorder, attempt: Attempt) -> None:
        self._inner = inner
        self._recorder = recorder
        self._attempt = attempt
        self._started = False

    def open(self) -> tuple[Any, Recorder, Attempt]:
        """Mark the coroutine or stream as started, and return it with its recorder and attempt."""
        self._started = True
        return self._inner, self._recorder, self._attempt

    def open_stream(self) -> tuple[Any, StreamRecorder]:
        """Mark the stream as started, and return it with its StreamRecorder."""
        inner, recorder, attempt = self.open()
        return inner, StreamRecorder(recorder, attempt)

    def abandoned(self) -> None:
        """Record the attempt as abandoned, if the wrapper was dropped before it was started."""
        if self._started:
            return
        if isinstance(self._inner, Coroutine):
            self._inner.close()  # avoids a second "never awaited" warning: Python warns about the wrapper already
        self._recorder.raised(self._attempt, GeneratorExit(), duration_ns=UNKNOWN)


def _unmarked(error: BaseException) -> BaseException:
    """Return ``error``, which the consumer threw in, without the wrapper's own frame in its traceback."""
    trace = error.__traceback__
    return error if trace is None else error.with_traceback(trace.tb_next)


async def coroutine(hidden: UnstartedAwaitable) -> Any:
    """Await the coroutine in ``hidden`` to its end, with its span current."""
    inner, recorder, attempt = hidden.open()
    token = activate(attempt)
    try:
        result = await inner
    except BaseException as error:
        detach(token)
        recorder.raised(attempt, error)
        raise
    detach(token)
    recorder.returned(attempt, result)
    return result


def generator_function(begin: Callable[..., tuple[Any, StreamRecorder]]) -> Callable[..., Generator[Any, Any, Any]]:
    """Return a generator function that drives the generator of ``begin`` to its end and records the items."""

    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        inner, stream = begin(*args, **kwargs)
        # the tool's own context, carried from step to step: the consumer's context is restored at each yield
        body = stream.context()
        # a clock of floats, because an int of nanoseconds takes twice as long
        clock, send, add_part, attach, current_context, restore = (
            perf_counter, inner.send, stream.parts.append,
            # by way of the module: cloudpickle copies no function to another process that refers to a ContextVar
            sdk_internals.attach, sdk_internals.current_context, sdk_internals.detach,
        )  # fmt: skip
        resume, value, item = send, None, None
        count, in_tool, room, last = 0, 0.0, stream.room, None
        began = before = after = clock()
        # ``yield from`` would pass everything on at less cost, but shows neither the items nor the moment of each step
        try:
            try:
                while True:
                    token = attach(body)
                    try:
                        item = resume(value)
                    finally:
                        # a frame that refers to its own exception is a cycle, which only the garbage collector frees
                        resume, value = send, None
                        body = current_context()
                        restore(token)
                        after = clock()
                        in_tool += after - before
                    if not count:
                        stream.first_ns = int(in_tool * 1e9)
                    count += 1
                    # as in StreamRecorder.add_item, inlined because a call per item is slow
                    if type(item) is str:
                        if room > 0:
                            add_part(item)
                        room -= len(item)
                        last = item
                    else:
                        room = stream.add_object(item, room)
                        last = stream.last
                    try:
                        # this frame must not refer to an item that the consumer drops
                        value = yield (item, item := None)[0]
                    except BaseException as error:
                        # what the consumer threw goes to the tool; close() arrives here as GeneratorExit
                        resume, value = inner.throw, _unmarked(error)
                        stream.closing = type(error) is GeneratorExit
                    before = clock()
            finally:
                # local variables until here: attributes would make each item slower
                stream.count, stream.room, stream.last = count, room, last
                # what was not in the tool was in the consumer: adding it up costs 0.03 µs an item
                stream.tool_ns, stream.consumer_ns = int(in_tool * 1e9), int((after - began - in_tool) * 1e9)
        # outside the loop's ``finally``, which has stored the figures that the record needs
        except StopIteration as stop:
            stream.returned(stop.value)
            return stop.value
        except BaseException as error:
            stream.raised(error)
            raise

    return wrapper


def async_generator_function(
    begin: Callable[..., tuple[Any, StreamRecorder]],
) -> Callable[..., AsyncGenerator[Any, Any]]:
    """Return an async generator function that drives the stream of ``begin`` to its end and records the items."""

    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner, stream = begin(*args, **kwargs)
        body = stream.context()
        # by way of the module, as above; ``detach`` tolerates another context, where an event loop may close the stream
        clock, attach, current_context = perf_counter_ns, sdk_internals.attach, sdk_internals.current_context
        value: Any = None
        # popped in the yield: this frame must not refer to an item that the consumer drops
        items: list[Any] = []
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
                    # as above: no cycle through this frame
                    thrown = value = None
                    body = current_context()
                    detach(token)
                    after = clock()
                    stream.tool_ns += after - before
                stream.add_item(items[0])
                try:
                    value = yield items.pop()
                except BaseException as error:
                    thrown = _unmarked(error)
                    stream.closing = type(error) is GeneratorExit
                before = clock()
                stream.consumer_ns += before - after
        except StopAsyncIteration:
            stream.returned(None)
        except BaseException as error:
            stream.raised(error)
            raise

    return wrapper


def _first(inner: AsyncGenerator[Any, Any]) -> Any:
    """Start ``inner`` without the event loop's hooks for async generators.

    The event loop then closes only the wrapper, which closes ``inner``. With the hooks, the loop would close both at
    the same time, and the two would interfere.
    """
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return inner.asend(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)
