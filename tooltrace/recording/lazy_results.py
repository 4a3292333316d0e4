"""Results whose work goes on after the tool has returned them: iterators, awaitables and futures.

What can be observed without a difference for the consumer is followed to its end: an iterator of Python that can be made
again around another one (``map``, ``filter``, ``islice``, ``chain``), and a future, by a callback. Any other one, such as the
stream of an SDK, is recorded as handed over: nobody sees its end.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future as ThreadFuture
from itertools import chain, islice
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from tooltrace.faults import suppress_faults
from tooltrace.otel import sdk_internals
from tooltrace.redact.inspection import bases, module_of, name_of, namespace

if TYPE_CHECKING:
    from tooltrace.recording.attempt import Attempt
    from tooltrace.recording.generators import StreamRecorder
    from tooltrace.recording.recorder import Recorder

HANDED_OVER: Final = "handed_over"
"""The ending of an attempt whose result goes on where nobody sees its end."""

_MEMBERS: Final = ("__next__", "__anext__", "__await__")
"""Members of the classes whose objects do their work when they are iterated or awaited."""
_REMADE: Final[dict[int, Callable[[Any], Any]]] = {
    id(map): lambda items: map(lambda item: item, items),  # noqa: C417 - the class stays the same
    id(filter): lambda items: filter(lambda _: True, items),
    id(islice): lambda items: islice(items, None),
    id(chain): chain,
}
"""By ``id()`` of a class of iterators: the function that makes one with the items of another iterator."""
FOLLOWED_ITERATORS: Final = frozenset(_REMADE)

_lazy: dict[int, tuple[type, bool]] = {}
"""Whether each class is lazy, by its ``id()``; the entry holds the class, so that its id stays unique."""
_MAX_CLASSES = 1024


def is_lazy(kind: type) -> bool:
    """Whether objects of the class ``kind`` do their work after they were returned. Runs no code of the class."""
    known = _lazy.get(id(kind))
    if known is None:
        if len(_lazy) >= _MAX_CLASSES:
            _lazy.clear()
        known = _lazy[id(kind)] = (kind, _finds_work(kind))
    return known[1]


def _finds_work(kind: type) -> bool:
    lazy = False
    for base in bases(kind):
        module = module_of(base)
        # an open file; an iterator over a container, whose items exist
        if module in ("_io", "io") or (module == "builtins" and name_of(base).endswith("iterator")):
            return name_of(base) == "callable_iterator"
        lazy = lazy or base is ThreadFuture or any(name in namespace(base) for name in _MEMBERS)
    return lazy


def follow_iterator(items: Iterator[Any], stream: StreamRecorder) -> Any:
    """Return an iterator of the class of ``items``, which yields the same, and records them in ``stream``."""
    watched = _Watched(items, stream)
    weakref.finalize(watched, _dropped, stream).atexit = False
    return _REMADE[id(type(items))](watched)


class _Watched:
    """The items of an iterator of Python, and its end. After an exception it goes on, as the iterator does."""

    __slots__ = ("__weakref__", "_body", "_items", "_left", "_stream")

    def __init__(self, items: Iterator[Any], stream: StreamRecorder) -> None:
        self._items = items
        self._stream = stream
        self._body = stream.context()
        self._left = 0
        """When the last item was handed out."""

    def __iter__(self) -> _Watched:
        return self

    def __next__(self) -> Any:
        stream = self._stream
        if not _runs(stream.attempt):
            return next(self._items)
        began = perf_counter_ns()
        if self._left:
            stream.consumer_ns += began - self._left
        token = sdk_internals.attach(self._body)
        try:
            item = next(self._items)
        except BaseException as error:
            self._add_time(token, began)
            if type(error) is StopIteration:
                stream.returned(None)
            else:
                stream.raised(error)
            raise
        self._add_time(token, began)
        stream.add_item(item)
        self._left = perf_counter_ns()
        return item

    def _add_time(self, token: Any, began: int) -> None:
        self._body = sdk_internals.current_context()
        sdk_internals.detach(token)
        self._stream.tool_ns += perf_counter_ns() - began

    def __reduce__(self) -> Any:
        return iter, (self._items,)  # a copy or a pickle of it has the tool's own iterator


def _runs(attempt: Attempt) -> bool:
    """Whether the end of ``attempt`` has not been seen; one that waits for an outer observer has ended."""
    return attempt.is_recording() and not attempt.held


def _dropped(stream: StreamRecorder) -> None:
    if _runs(stream.attempt):
        stream.raised(GeneratorExit())


def follow_future(future: Any, recorder: Recorder, attempt: Attempt) -> bool:
    """End ``attempt`` with the end of ``future``, which the tool returned; False where that cannot be observed.

    The future stays as it is. Its exception is read without ``exception()``, after which asyncio would not report that
    nobody has retrieved it.
    """
    is_of_threads = type(future) is ThreadFuture
    if not is_of_threads and not _is_of_this_loop(future):
        return False
    with suppress_faults("record", lost=0):
        if future.done():
            _end(recorder, attempt, future)
            return True
        finalizer = weakref.finalize(future, _forgotten, recorder, attempt)
        finalizer.atexit = False

        def done(ended: Any) -> None:
            finalizer.detach()
            _end(recorder, attempt, ended)

        future.add_done_callback(done)
        return True
    return False


def _is_of_this_loop(future: Any) -> bool:
    """Whether ``future`` is a future or task of asyncio that belongs to the event loop of this thread."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not (type(future) is asyncio.Task or type(future) is asyncio.Future):
        return False
    return future.get_loop() is asyncio._get_running_loop()  # noqa: SLF001 - the public one raises without a loop


def _end(recorder: Recorder, attempt: Attempt, future: Any) -> None:
    if not _runs(attempt):
        return
    if future.cancelled():
        if type(future) is ThreadFuture:
            recorder.finish_without_run(attempt, "cancelled")
        else:
            recorder.raised(attempt, sys.modules["asyncio"].CancelledError())
    elif (error := future._exception) is not None:  # noqa: SLF001 - see follow_future
        recorder.raised(attempt, error)
    else:
        recorder.returned(attempt, future.result())


def _forgotten(recorder: Recorder, attempt: Attempt) -> None:
    if _runs(attempt):
        recorder.finish_without_run(attempt, HANDED_OVER)
