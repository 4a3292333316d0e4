"""The one background thread: takes ended attempts from a bounded queue and gives them to the sinks."""

from __future__ import annotations

import sys
import threading
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from tooltrace import exits
from tooltrace.attempt import Attempt
from tooltrace.guard import fault, faults, guarded
from tooltrace.interrupts import pass_on_signal
from tooltrace.record import Outcome, Record
from tooltrace.settings import Settings
from tooltrace.sinks import evaluation, exceptions, log, metric
from tooltrace.writer import Writer


class Later(Protocol):
    """Something that happened, of which this thread is to make the record."""

    def record(self) -> Record:
        """The record, redacted. Raises whatever is wrong with it."""


Item = Attempt | Later | Record

GATHER_SECONDS = 0.03
"""How long the thread lets calls gather before it writes them: well inside the promised 100 ms."""
BATCH = 512
RETRY_SECONDS = 1.0
EXIT_SECONDS = 2.0
"""How long the end of a process may wait for what is queued to be written."""


class Worker:
    """Bounded queue, one thread, started with the first item and anew in a forked child."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._writer = Writer(settings)
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._queue: deque[Item] = deque()
        self._wake: SimpleQueue[None] = SimpleQueue()  # may be rung from a finalizer, as no lock may
        self._hurry = threading.Event()
        self._changed = threading.Condition()
        self._drain_lock = threading.RLock()
        self._asked = 0
        self._done = 0
        self._idle = True
        self._stalled = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def after_fork(self) -> None:
        """In a forked child: what the parent queued is the parent's to write."""
        self._writer.forget()
        self._begin_anew()

    # in the callers' threads

    def put(self, item: Item) -> None:
        """Queue ``item``. A full queue holds the caller up, or drops the item and counts it."""
        if len(self._queue) >= self._settings.queue_size and not self._room():
            faults.count("queue_full")
            faults.say_once("queue_full", "tooltrace drops calls: they come faster than they can be written")
            return
        self._queue.append(item)
        if self._idle or self._closed:
            self._rouse()

    def holds(self, item: Item) -> bool:
        """Return whether ``item`` is queued."""
        return any(queued is item for queued in list(self._queue))

    def write_now(self, attempt: Attempt) -> None:
        """Put ``attempt`` into the journal before returning; where that fails, the thread tries again."""
        try:
            self._writer.write_now(attempt.record())
            attempt.written = True
        except BaseException as error:
            pass_on_signal(error)

    def flush(self, timeout: float | None) -> bool:
        """Wait until all that was queued before is written. False where ``timeout`` seconds did not do."""
        if self._closed or self._thread is None:
            self._drain()
            return True
        with self._changed:
            self._asked += 1
            mine = self._asked
        self._hurry.set()
        self._rouse()
        with self._changed:
            return self._changed.wait_for(lambda: self._done >= mine or self._closed, timeout)

    def close(self, timeout: float | None = EXIT_SECONDS) -> None:
        """Write what is queued and close the journal. What comes later is written at once, by its caller."""
        self.flush(timeout)
        self._closed = True
        self._hurry.set()
        self._wake.put(None)
        with self._drain_lock:
            self._drain()
            self._writer.close()

    def _room(self) -> bool:
        """Wait for room in a full queue, once per stall; False where there is none."""
        self._rouse()
        if self._settings.overflow == "drop" or self._stalled:
            return False
        if threading.current_thread() is self._thread:  # it ends a stream that nobody held any more
            return True
        self._hurry.set()
        size = self._settings.queue_size
        with self._changed:
            room = self._changed.wait_for(lambda: len(self._queue) < size, self._settings.block_seconds)
        self._stalled = not room
        return room

    def _rouse(self) -> None:
        if self._closed:
            self._drain()
            return
        self._idle = False
        if self._thread is None:
            self._start()
        self._wake.put(None)

    def _start(self) -> None:
        with self._changed:
            if self._thread is not None:
                return
            thread = threading.Thread(target=self._run, name="tooltrace", daemon=True)
            try:
                if not threading.main_thread().is_alive():
                    raise RuntimeError("the process ends: nothing would wait for the thread, and to start it can hang")
                thread.start()
                exits.register(self.close)
            except RuntimeError:  # the interpreter is shutting down
                self._closed = True
            else:
                self._thread = thread
        if self._closed:
            self._drain()

    # in the background thread

    def _run(self) -> None:
        while not self._closed:
            with suppress(Empty):
                self._wake.get(timeout=RETRY_SECONDS if self._writer.waiting else None)
            while (self._queue or self._asked > self._done or self._writer.waiting) and not self._closed:
                self._hurry.wait(GATHER_SECONDS)
                self._hurry.clear()
                asked = self._asked
                with guarded("write"):  # the thread outlives whatever it meets
                    self._drain()
                self._tell(asked)
                if not self._queue and self._asked <= self._done:
                    break
            self._idle = True
            if self._queue:  # put() may have seen a busy thread just before
                self._idle = False
                self._wake.put(None)

    def _tell(self, asked: int) -> None:
        with self._changed:
            self._done = max(self._done, asked)
            self._stalled = False
            self._changed.notify_all()

    def _drain(self) -> None:
        with self._drain_lock:
            while self._queue:
                count = min(len(self._queue), BATCH)
                self._give([self._queue.popleft() for _ in range(count)])
                with self._changed:
                    self._changed.notify_all()
            self._writer.settle()

    def _give(self, batch: list[Item]) -> None:
        logger, events = _logger(), _events()
        for item in batch:
            try:
                if not isinstance(item, Attempt):
                    self._writer.add(item if isinstance(item, Record) else item.record())
                elif not item.written:
                    self._writer.add(item.record())
            except Exception:
                fault("record")
                continue
            _tell_sinks(item, logger, events=events)
        self._writer.write()


def _logger() -> Any:
    """The application's logger; None where it has none, or can log no more."""
    if not log.wanted() or sys.is_finalizing():
        return None
    try:
        return log.logger()
    except Exception:
        fault("log", lost=0)
        return None


def _events() -> bool:
    """Whether the application wants to know of labels and exceptions."""
    try:
        return evaluation.wanted() and not sys.is_finalizing()
    except Exception:
        fault("log", lost=0)
        return False


def _tell_sinks(item: Item, logger: Any, *, events: bool) -> None:
    try:
        if isinstance(item, Attempt):
            call = item.record()
            metric.emit(call, item)
            if events:
                evaluation.remember(call)
                exceptions.emit(call, item, item.trace_flags)
            if logger is not None:
                log.emit(call, item.surroundings, logger)
        elif events and isinstance(item, Outcome):
            evaluation.emit(item)
    except Exception:
        fault("log", lost=0)
