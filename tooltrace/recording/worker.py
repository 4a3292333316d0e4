"""The background thread of a recorder, which passes ended attempts from a queue to the journal and the sinks.

A calling thread may be interrupted at any line by a signal handler or a finalizer that calls a traced tool
itself. The functions that a calling thread runs here (``put``, ``flush``, ``close``) therefore use no lock: they append
to deques, put tokens into a ``SimpleQueue``, whose ``put`` is reentrant, and wait on a ``SimpleQueue`` of their own.
Threads and queues are looked up when the first call is recorded, so that a program may import this package
before it patches the standard library (gevent, eventlet).
"""

from __future__ import annotations

import _thread
import queue
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from tooltrace.core import forking
from tooltrace.core.plural import format_count
from tooltrace.faults import faults, pass_on_signal
from tooltrace.recording import shutdown
from tooltrace.recording.attempt import Attempt, estimate_size
from tooltrace.recording.delivery_start import DeliveryStart
from tooltrace.recording.queued_item import Item, line_of
from tooltrace.recording.record_builder import build_begun
from tooltrace.recording.running_calls import RunningCalls
from tooltrace.recording.settings import Settings
from tooltrace.recording.sinks import notify
from tooltrace.recording.worker_state import FlushAction, Flushes, QueueWait, Slot, ThreadState, WorkerState
from tooltrace.recording.writer import Writer

if TYPE_CHECKING:
    from tooltrace.delivery.threads import DeliveryThreads


GATHER_SECONDS = 0.03
"""Seconds for which the thread gathers calls before it writes them: well within the documented 100 ms."""
BATCH = 512
"""Maximum number of items between two writes to the journal."""
BATCH_BYTES = 4 * 1024 * 1024
"""Bytes of lines after which they are written to the journal, even where fewer items were gathered."""
RETRY_SECONDS = 1.0
"""Seconds between attempts to write records that the disk refused."""
EXIT_SECONDS = 2.0
"""Maximum seconds for which the end of a process waits for queued calls. The rest is counted as lost."""
_STOP_SHARE = 0.1
"""Share of the closing time reserved for the current item, and the same share for writing the losses."""
_POLL_SECONDS = 0.005
"""Seconds between attempts to acquire the permit while the worker closes."""

_WAKE, _WRITE_NOW = False, True
"""Tokens for the thread: there is work; there is work, and a caller waits for it."""


class Worker:
    """A bounded queue and one thread, which starts with the first item, and again in a forked child."""

    def __init__(self, settings: Settings, deliveries: DeliveryThreads | None = None) -> None:
        self._settings = settings
        self._deliveries = deliveries
        self._delivery_start = DeliveryStart(deliveries)
        self._writer = Writer(settings)
        self.running = RunningCalls(settings, lambda: self._wake(_WAKE), self.put)
        self._reset()
        forking.register(self)

    def _reset(self) -> None:
        self._queue: deque[Item] = deque()
        self._sizes: deque[int] = deque()
        """Estimated bytes of the queued items. Apart from the items, because only the sum matters."""
        self._bytes = 0
        """About the sum of ``_sizes``: threads change it without a lock, and an empty queue sets it to 0."""
        self._tokens: queue.SimpleQueue[bool] | None = None
        """Tokens that wake the thread; None before it is started."""
        self._waits: deque[QueueWait] = deque()
        """Callers that wait for the items queued before them to be written."""
        self._blocked: deque[queue.SimpleQueue[bool]] = deque()
        """Callers that wait for room in the full queue."""
        self._permit = Slot(True)
        """Full while no thread drains the queue."""
        self.written_before = 0
        """Number of records that earlier recorders of this process have written."""
        self._dequeued = 0
        """Number of items removed from the queue so far."""
        self._processing_since: float | None = None
        """The monotonic time since which an item that has left the queue is being processed; None where none is."""
        self._claim: Slot[Item] = Slot()
        """The item that is being processed, until one thread takes it: to write it, or to count it as lost."""
        self.flushes = Flushes()
        """The results of ``flush`` and ``close``."""
        self._idle = True
        """Whether the thread waits for a token, so that the next caller has to send one."""
        self._stalled = False
        """Whether a caller has waited its full time for room: others do not wait until the queue moves again."""
        self._closed = False
        self._stop_at: float | None = None
        """While the worker closes: the monotonic time after which no further item is processed."""
        self._started = False
        self._ended = False
        self._ident: int | None = None
        self._delivery_start.reset()

    def reset_after_fork(self) -> None:
        """Start with an empty queue in a forked child, because the parent writes its own items."""
        if self._deliveries is not None:
            self._deliveries.reset_after_fork()
        self.running.reset()
        self._reset()

    # in the callers' threads

    def put(self, item: Item) -> None:
        """Queue ``item``. A full queue blocks the caller, or drops the item and counts it as lost."""
        size = estimate_size(item)
        waiting, settings = len(self._queue), self._settings
        # as ``_is_full``, without the cost of a call
        if (
            waiting >= settings.queue_size or (waiting and self._bytes + size > settings.queue_bytes)
        ) and not self._has_room(size):
            faults.count("queue_full")
            faults.warn_once(
                "queue_full",
                "tooltrace drops calls: the queue is full, because calls end faster than they can be written",
            )
            return
        # the size first: the thread takes one size with each item
        self._bytes += size
        self._sizes.append(size)
        self._queue.append(item)
        if self._idle or self._closed:
            self._wake(_WAKE)

    def is_queued(self, item: Item) -> bool:
        """Return whether ``item`` is queued."""
        # a copy, because a loop over a deque fails when another thread changes it
        return any(queued is item for queued in list(self._queue))

    def write_now(self, item: Item) -> bool:
        """Write ``item`` into the journal before returning. Returns False where it was not written.

        The caller then uses ``put``: the thread tries again, and counts a second failure.
        """
        if not self._delivery_start.has_cursors:
            if not self._delivery_start.create_cursors():
                return False
            self._wake(_WAKE)  # the background thread starts the delivery threads
        try:
            line = line_of(item, has_journal=self._writer.has_journal)
            if line is not None:
                self._writer.write_line_now(line)
        except BaseException as error:
            pass_on_signal(error)
            return False
        if isinstance(item, Attempt):
            item.written = True
        return True

    def flush(self, timeout: float | None) -> bool:
        """Wait until all items that were queued before are written.

        Returns False where ``timeout`` seconds did not suffice, where records wait because the disk refuses writes,
        and where records were lost since the last flush.
        """
        return self._ended_flush("flush", timeout, written=self.wait_for_queue(timeout))

    def _ended_flush(self, action: FlushAction, timeout: float | None, *, written: bool) -> bool:
        """Note the result of a flush, and return whether it was complete. ``written``: the queue was written in time."""
        if self._ident == threading.get_ident():
            return self.flushes.end_in_own_thread(action)
        return self.flushes.end(action, self.state, timeout, written=written)

    def wait_until_written(self, patience: float) -> bool:
        """Wait until all items that were queued before are written, while one leaves the queue every ``patience`` seconds.

        Returns False where none does, and where the disk refuses writes.
        """
        left = -1
        while left != self._dequeued:
            left = self._dequeued
            if self.wait_for_queue(patience):
                return not self._writer.waiting
        return False

    def wait_for_queue(self, timeout: float | None) -> bool:
        """Wait ``timeout`` seconds until the items queued before have left the queue.

        Unlike ``flush``, it leaves what was lost to the next ``flush`` of the application.
        """
        # a sink or a redaction of the user that runs in the background thread would wait for itself
        if self._ident == threading.get_ident():
            return False
        if self._closed or not self._started:
            self._drain_if_free(even_empty=True)
            return self.unwritten == self._writer.waiting
        # the length first: an item that leaves the queue in between makes the position too high, never too low
        wait = QueueWait(len(self._queue) + self._dequeued, queue.SimpleQueue())
        self._waits.append(wait)
        self._wake(_WRITE_NOW)
        try:
            return wait.reply.get(timeout=timeout)
        except queue.Empty:
            return False

    @property
    def unwritten(self) -> int:
        """Number of records that are queued, in processing, or waiting for the disk."""
        return len(self._queue) + (self._processing_since is not None) + self._writer.pending

    def state(self) -> WorkerState:
        """Return the figures of this moment. Takes no lock."""
        since = self._processing_since
        return WorkerState(
            unwritten=self.unwritten,
            unwritten_bytes=max(0, self._bytes) + self._writer.pending_bytes,
            refused=self._writer.waiting,
            uncounted=self._writer.uncounted,
            refusal=self._writer.refusal,
            written=self.written_before + self._writer.written,
            journal_bytes=self._writer.journal_bytes,
            thread=self._thread_state(),
            busy_seconds=0.0 if since is None else time.monotonic() - since,
        )

    def _thread_state(self) -> ThreadState:
        if self._closed or not self._started:
            return "closed" if self._closed else "not started"
        if self._ended:
            return "ended"
        return "waiting" if self._idle and self._processing_since is None else "writing"

    def close(self, timeout: float | None = EXIT_SECONDS) -> bool:
        """Write the queued items within ``timeout`` seconds, count the rest as lost, and close the journal.

        A later item is written at once, by the thread that queues it. Returns False where records were lost since the
        last flush.
        """
        share = 0.0 if timeout is None else timeout * _STOP_SHARE
        deadline = None if timeout is None else time.monotonic() + timeout
        self.wait_for_queue(None if timeout is None else timeout - 2 * share)
        self._stop_at = None if deadline is None else deadline - share
        # from here on a caller writes its own item; the token ends the wait of the thread, which then sees ``_closed``
        self._closed = True
        if self._tokens is not None:
            self._tokens.put(_WRITE_NOW)
        if self._acquire_permit(deadline):
            try:
                self._drain()
                self._abandon()
                self.flushes.add_losses(self._writer.close())
            finally:
                self._permit.put(True)
        else:  # a sink or a redaction of the user does not return
            self._abandon()
            self.flushes.add_losses(self._writer.abandon())
        self._stop_at = None
        while self._waits:  # of other threads: nothing will be written any more
            with suppress(IndexError):
                self._waits.popleft().reply.put(False)
        complete = self._ended_flush("shutdown", timeout, written=True)
        if self._deliveries is not None:
            self._deliveries.close(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return complete

    def _is_late(self) -> bool:
        return self._stop_at is not None and time.monotonic() >= self._stop_at

    def _acquire_permit(self, deadline: float | None) -> bool:
        while not self._permit.take():
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def _abandon(self) -> None:
        """Count as lost the items still queued, and the item of a thread that does not return."""
        claimed = self._claim.take()
        lost = int(claimed is not None)
        # an item that was claimed may still be in the queue: it counts once
        while self._queue:
            with suppress(IndexError):
                lost += self._queue.popleft() is not claimed
        self._sizes.clear()
        self._bytes = 0
        if lost:
            faults.count("exit", lost)
            faults.warn_once("exit", f"tooltrace lost {format_count(lost, 'call')} not written when the process ended")

    def _is_full(self, size: int) -> bool:
        """Whether the queue has no room for an item of ``size`` bytes. An empty queue has room for any item."""
        waiting = len(self._queue)
        settings = self._settings
        return waiting >= settings.queue_size or (waiting > 0 and self._bytes + size > settings.queue_bytes)

    def _has_room(self, size: int) -> bool:
        """Wait for room in a full queue, and return whether there is room.

        Once a caller has waited its full time, further calls are dropped without a wait until the queue moves again,
        because otherwise every call of the application would be delayed.
        """
        # the background thread itself may end a stream that was dropped; it must not wait for itself
        if self._ident == threading.get_ident():
            return True
        self._wake(_WRITE_NOW)
        if self._settings.overflow == "drop" or self._stalled:
            return not self._is_full(size)
        deadline = time.monotonic() + self._settings.block_seconds
        # one reply for each wait: the thread answers every caller after each batch, and there may be room for one only
        while self._is_full(size):
            reply: queue.SimpleQueue[bool] = queue.SimpleQueue()
            self._blocked.append(reply)
            # the thread may have emptied the queue before it could see this caller, and then answers nobody
            if not self._is_full(size):
                return True
            left = deadline - time.monotonic()
            if left <= 0 or self._closed:
                self._stalled = True
                return False
            with suppress(queue.Empty):
                reply.get(timeout=left)
        return True

    def _wake(self, token: bool) -> None:
        if self._closed:
            self._drain_if_free()
            return
        # before the token is put: of several callers, one wakes the thread
        self._idle = False
        if not self._started:
            self._start()
        if self._tokens is not None:
            self._tokens.put(token)

    def _start(self) -> None:
        """Start the thread.

        Uses ``_thread`` because ``threading.Thread.start`` acquires a lock of the interpreter that is not reentrant.
        """
        self._started = True
        self._tokens = queue.SimpleQueue()
        try:
            if not threading.main_thread().is_alive():
                raise RuntimeError(
                    "the process is ending: a thread started now could hang, and nothing would wait for it"
                )
            _thread.start_new_thread(self._run, ())
            # not at import: a process that records nothing runs nothing at its end
            shutdown.on_exit(self.close)
        except RuntimeError:  # the interpreter is shutting down
            self._closed = True
            self._drain_if_free()

    # in the background thread; after close(), in the callers' threads

    def _run(self) -> None:
        self._ident = threading.get_ident()
        # the thread was started without ``threading``, which makes a dummy object for it here; only its name is wanted
        with suppress(Exception):
            threading.current_thread().name = "tooltrace"
        tokens = self._tokens
        assert tokens is not None
        try:
            while not self._closed:
                try:
                    self._wait_and_drain(tokens)
                except BaseException:
                    notify.report("write", lost=0)
            self._drain_if_free()
        finally:
            self._ended = True

    def _wait_and_drain(self, tokens: queue.SimpleQueue[bool]) -> None:
        token = _WAKE
        # without a token in time, the records that the disk refused are tried again, and calls that run are written
        waits = (self.running.seconds_left(), RETRY_SECONDS if self._writer.waiting else None)
        with suppress(queue.Empty):
            token = tokens.get(timeout=min((wait for wait in waits if wait is not None), default=None))
        while not self._closed:
            token = self._gather(tokens, token)
            # a token for each call of a burst would make this thread check the journal for each: 10 µs a call
            for _ in range(tokens.qsize()):
                tokens.get_nowait()
            self._drain_if_free(even_empty=True)
            token = _WAKE
            if not self._queue and not self._waits:
                break
        self._idle = True
        # ``+=`` and ``-=`` of two threads may lose an addition: an empty queue corrects the sum
        if not self._queue and not self._sizes:
            self._bytes = 0
        if self._queue or self._waits:  # put() may have read _idle as False just before, and sent no token
            self._idle = False
            tokens.put(_WAKE)

    def _gather(self, tokens: queue.SimpleQueue[bool], token: bool) -> bool:
        """Gather calls for up to ``GATHER_SECONDS``, or until a caller waits. Returns the last token."""
        deadline = time.monotonic() + GATHER_SECONDS
        while token is not _WRITE_NOW and not self._waits:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            with suppress(queue.Empty):
                token = tokens.get(timeout=left)
        return token

    def _drain_if_free(self, *, even_empty: bool = False) -> None:
        """Write the queued items, unless another thread is writing, or this thread further up its stack.

        The holder of the permit checks the queue again after releasing it, so that an item queued in between is
        not left behind.
        """
        while (even_empty or self._queue or self._waits) and not self._is_late():
            if not self._permit.take():
                return
            try:
                self._drain()
            finally:
                self._permit.put(True)
            even_empty = False

    def _drain(self) -> None:
        # before the first line is written: a destination starts at the end of the journals
        if not self._delivery_start.has_threads:
            self._delivery_start.start_threads()
        self._add_begun()
        while self._queue and not self._is_late():
            self._dispatch_batch()
            self._reply()
        self.flushes.add_losses(self._writer.flush_losses())
        self._reply()

    def _add_begun(self) -> None:
        for attempt in self.running.take_due():
            try:
                self._writer.add(build_begun(attempt))
            except BaseException as error:  # the call itself is not lost
                notify.report("record", lost=0)
                pass_on_signal(error)

    def _dispatch_batch(self) -> None:
        # once a batch: binding a logger costs as much as a line
        sinks = notify.BatchSinks()
        for _ in range(min(len(self._queue), BATCH)):
            if not self._queue or self._is_late() or self._writer.added_bytes > BATCH_BYTES:
                break
            self._processing_since = time.monotonic()
            self._dequeued += 1
            try:
                item = self._queue[0]
                # before it leaves the queue: ``_abandon`` finds it in either place
                self._claim.put(item)
                self._queue.popleft()
                self._bytes -= self._sizes.popleft() if self._sizes else 0
                is_written = type(item) is Attempt and item.written
                line = None if is_written else line_of(item, has_journal=self._writer.has_journal)
                # ``close`` did not wait any longer, and has counted the item as lost
                if self._claim.take() is None:
                    self._processing_since = None
                    break
                if line is not None:
                    self._writer.add_line(line)
            except BaseException as error:
                # the record could not be made: it is lost and counted, and no sink gets a part of it
                self._processing_since = None
                self._claim.take()
                notify.report("record")
                pass_on_signal(error)
            else:
                if sinks.is_wanted:
                    sinks.notify(item)
            self._processing_since = None
        self._writer.write()

    def _reply(self) -> None:
        """Wake the callers whose items are written, and those that wait for room in the queue."""
        self._stalled = False
        while self._blocked:
            self._blocked.popleft().put(True)
        # counted before the write: a caller that comes meanwhile, perhaps because the disk has room again, gets a write of its own
        due = self._due()
        if not due:
            return
        self.flushes.add_losses(self._writer.flush_losses())
        with suppress(IndexError):  # ``close`` answers them too where it did not get the permit
            for _ in range(due):
                self._waits.popleft().reply.put(True)

    def _due(self) -> int:
        """Return the number of callers, from the first, whose items have left the queue."""
        waits = list(self._waits)  # before the queue is read: a caller queues its items first
        if not self._queue:
            return len(waits)
        return next((n for n, wait in enumerate(waits) if wait.position > self._dequeued), len(waits))
