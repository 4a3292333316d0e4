"""The start of the deliveries of a recorder: cursors before the first line is written, threads with the first batch.

A destination receives the records that are written after its cursor exists, so a line must not come first.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tooltrace.faults import suppress_faults

if TYPE_CHECKING:
    from tooltrace.delivery.threads import DeliveryThreads


class DeliveryStart:
    """The start of ``deliveries``; without any, nothing is to be done."""

    def __init__(self, deliveries: DeliveryThreads | None) -> None:
        self._deliveries = deliveries
        self.reset()

    def reset(self) -> None:
        """Start anew, as in a forked child."""
        self.has_cursors = self.has_threads = self._deliveries is None
        self._lock = threading.RLock()
        self._preparing: int | None = None
        """The thread that creates the cursors."""

    def create_cursors(self) -> bool:
        """Create the cursors of new destinations; other threads wait meanwhile.

        Returns False where this thread is already creating them, further up its stack: a signal handler or a finalizer may
        interrupt it with a call of its own.
        """
        if self._preparing == threading.get_ident():
            return False
        with self._lock:  # reentrant; a caller with ``durability="call"`` may wait for another thread here
            # tested again: another thread may have created them while this one waited
            if not self.has_cursors and self._deliveries is not None:
                self._preparing = threading.get_ident()
                try:
                    with suppress_faults("export"):
                        self._deliveries.prepare()
                finally:
                    self.has_cursors, self._preparing = True, None
        return True

    def start_threads(self) -> None:
        """Start the delivery threads, which create missing cursors first. Called by the thread that writes."""
        self.has_cursors = self.has_threads = True
        assert self._deliveries is not None
        with suppress_faults("export"):
            self._deliveries.start()
