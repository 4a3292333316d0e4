"""Delivery in the background: one daemon thread for each destination, started with the first record.

No destination and none of its dependencies is imported before the thread runs. A forked child uses nothing that it
inherits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context

from tooltrace.errors import StoreError, TooltraceError
from tooltrace.exporters.protocol import Destination, MissingExtra, Target, Unavailable
from tooltrace.faults import faults, report_fault, suppress_faults
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.delivery_cursors import DestinationFiles

if TYPE_CHECKING:
    from tooltrace.delivery.delivery import Delivery

EXIT_SECONDS: Final = 1.75
"""Maximum seconds that the end of the process waits for the delivery of recent records.

Less than the two seconds for which it waits at all, so that a process whose receiver hangs has ended by then.
"""
SETTLE_SECONDS: Final = 0.2
"""Seconds that a new destination waits for another process that creates its cursor."""
POLL_SECONDS: Final = 1.0
"""Seconds between checks of the journals, and of the destination's lock."""


@dataclass(frozen=True, slots=True)
class DestinationSpec:
    """A destination that the user configured."""

    name: str
    """Name of the cursor."""
    make: Callable[[Target], Destination]
    inherited: bool = True
    """Whether a forked child can create the destination too."""
    unless: Callable[[], bool] = lambda: False
    """Whether another exporter already exports the signal; checked before each look at the journals."""
    group: str | None = None
    """The user's name for the destination if it differs from ``name``: ``otlp`` for each of its signals."""


class DeliveryThread:
    """The thread that delivers to one destination while this process lives and no other process delivers."""

    def __init__(self, paths: StorePaths, spec: DestinationSpec, target: Target) -> None:
        self._files = DestinationFiles.of(paths, spec.name)
        self._spec = spec
        self._target = target
        self._reset()

    def _reset(self) -> None:
        self._stop = threading.Event()
        self._deadline: float | None = None
        self._delivery: Delivery | None = None
        self._thread: threading.Thread | None = None
        self._prepared = False

    def reset_after_fork(self) -> None:
        """Reset the state in a forked child, where the parent's thread does not exist."""
        self._reset()
        # an object that the user made has the sockets and locks of the parent: only the parent delivers to it
        if not self._spec.inherited:
            self._stop.set()

    def prepare(self) -> None:
        """Create the cursor: a new destination receives records written after this call."""
        if self._prepared or self._stop.is_set():
            return
        try:
            if not self._files.cursor.exists() and not self._spec.unless():
                self._settle()
        except StoreError as error:
            self._stop.set()
            self._give_up(str(error))
        self._prepared = True

    def start(self) -> None:
        """Start the thread if necessary; a new destination receives records written after this call."""
        self.prepare()
        if self._thread is not None or self._stop.is_set():
            return
        thread = threading.Thread(target=self._run, name=f"tooltrace-export-{self._spec.name}", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is shutting down: the next process delivers
            self._stop.set()
        else:
            self._thread = thread

    def end(self, deadline: float) -> bool:
        """Set the deadline (monotonic clock) for delivering the present records, and end the thread then; do not wait.

        Return False if the thread was already ending.
        """
        if self._stop.is_set():
            return False
        self._deadline = deadline
        self._stop.set()
        return True

    def join(self) -> None:
        """Wait for the thread to end, at most until the deadline.

        Do not wait for an unavailable destination or for another process; the next process delivers the rest.
        """
        thread, deadline = self._thread, self._deadline
        if thread is None or deadline is None or thread is threading.current_thread():
            return
        # in short waits, because the destination may become unavailable at any moment
        while thread.is_alive() and not self._is_unavailable() and time.monotonic() < deadline:
            thread.join(0.02)
        if thread.is_alive() and self._delivery is not None:
            with suppress_faults("export"):  # abort the running request
                self._delivery.interrupt()

    def _is_unavailable(self) -> bool:
        return self._delivery is not None and self._delivery.is_unavailable

    def _settle(self) -> None:
        """Create the cursor unless another process is creating it."""
        lock = self._files.lock()
        try:
            if lock.exclusive(SETTLE_SECONDS) and not self._files.cursor.exists():
                self._files.create()
        finally:
            lock.release()

    # The methods below run in the thread.

    def _run(self) -> None:
        try:
            self._suppress_instrumentation()
            # held for as long as this thread delivers: another process then takes over
            lock = self._files.lock()
            try:
                self._take_turn(lock)
            finally:
                lock.release()
        except MissingExtra as error:
            self._give_up(str(error), "missing")
        except TooltraceError as error:
            self._give_up(str(error))
        except ImportError as error:
            self._give_up(f"{error}: pip install 'tooltrace-recorder[otlp]'", "missing")
        except Exception:
            report_fault("export", lost=0)

    def _give_up(self, why: str, kind: str | None = None) -> None:
        """Log the reason once for all signals. ``kind``: key of the reason if threads may word it differently."""
        name = self._spec.group or self._spec.name
        message = f"tooltrace exports nothing to {name}: {why}; the records wait on disk"
        faults.warn_once(f"export_{name}_{kind or why}", message, counted=False)

    def _suppress_instrumentation(self) -> None:
        """Suppress instrumentation in this thread: its own requests must not become spans."""
        key: Any = getattr(context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")
        context.attach(context.set_value(key, True))

    def _take_turn(self, lock: Lock) -> None:
        """Deliver as soon as no other process does."""
        while not self._spec.unless():
            if lock.try_exclusive():
                self._deliver()
                return
            if self._stop.wait(POLL_SECONDS):
                return

    def _deliver(self) -> None:
        from tooltrace.delivery.delivery import Delivery

        try:
            destination = self._spec.make(self._target)
        except (TooltraceError, ImportError) as error:
            self._note(str(error))
            raise
        delivery = Delivery(self._files, destination, stop=self._stop)
        self._delivery = delivery
        try:
            while self._may_continue() and (delivery.step() is not None or self._rest()):
                pass
        except Unavailable:  # the process is ending
            return
        finally:
            delivery.close()

    def _note(self, why: str) -> None:
        """Store the error in the cursor, for ``tooltrace export --status``."""
        cursor = self._files.load()
        if cursor is not None:
            cursor.wait_because(why)
            self._files.save(cursor)

    def _may_continue(self) -> bool:
        late = self._deadline is not None and time.monotonic() >= self._deadline
        return not late and not self._spec.unless()

    def _rest(self) -> bool:
        """Wait for more records; False if the process is ending."""
        if self._stop.is_set():
            return False
        self._stop.wait(POLL_SECONDS)
        return True


class DeliveryThreads:
    """The delivery threads of all destinations of this process."""

    def __init__(
        self, paths: StorePaths, specs: tuple[DestinationSpec, ...], target: Target, *, off: tuple[str, ...] = ()
    ) -> None:
        """Create the threads. ``off``: names of destinations that are switched off in this process."""
        self._threads = [DeliveryThread(paths, spec, target) for spec in specs]
        self._off = [DestinationFiles.of(paths, name) for name in off]

    def prepare(self) -> None:
        """Create the missing cursors."""
        for thread in self._threads:
            thread.prepare()

    def start(self) -> None:
        """Start the threads that do not run yet, and drop the cursors of destinations that are off.

        A cursor without a deliverer would make the store keep its journals.
        """
        for thread in self._threads:
            thread.start()
        for files in self._off:
            with suppress_faults("export"):
                files.forget_unless_in_use()

    def reset_after_fork(self) -> None:
        """Reset all threads in a forked child."""
        for thread in self._threads:
            thread.reset_after_fork()

    def close(self, timeout: float | None = EXIT_SECONDS) -> None:
        """Deliver the present records to all destinations in parallel, within ``timeout`` seconds."""
        deadline = time.monotonic() + min(EXIT_SECONDS if timeout is None else timeout, EXIT_SECONDS)
        # the list ends all of them before the first is joined: they share one deadline
        for thread in [thread for thread in self._threads if thread.end(deadline)]:
            thread.join()
