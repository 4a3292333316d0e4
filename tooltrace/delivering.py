"""A worker whose journals are delivered elsewhere as well."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from tooltrace import exits
from tooltrace.guard import guarded
from tooltrace.settings import Settings
from tooltrace.worker import EXIT_SECONDS, Item, Worker

if TYPE_CHECKING:
    from tooltrace.exporters.delivery_thread import DeliveryThreads


class DeliveringWorker(Worker):
    """Starts the deliveries with the first record, and ends them after the last."""

    def __init__(self, settings: Settings, deliveries: DeliveryThreads) -> None:
        super().__init__(settings)
        self._deliveries = deliveries
        self._forget()

    def _forget(self) -> None:
        self._delivers = False
        self._starting = RLock()  # a stream that the garbage collector ends may come between

    def after_fork(self) -> None:
        super().after_fork()
        self._deliveries.after_fork()
        self._forget()

    def write_now(self, item: Item) -> bool:
        if not self._delivers:
            self._deliver()
        return super().write_now(item)

    def close(self, timeout: float | None = EXIT_SECONDS) -> None:
        super().close(timeout)
        self._deliveries.close(timeout)

    def _start(self) -> None:
        if not self._delivers:
            self._deliver()
        super()._start()

    def _deliver(self) -> None:
        """Before the first record is written: a new destination gets what comes after."""
        with self._starting, guarded("export"):
            if not self._delivers:
                try:
                    self._deliveries.start()
                    exits.register(self.close)
                finally:
                    self._delivers = True
