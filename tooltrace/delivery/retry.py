"""Retries of a batch: random exponential backoff, without limit by default, respecting Retry-After."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Final

from tooltrace.delivery.batch import DeliveryBatch
from tooltrace.exporters.protocol import Unavailable

MAX_RETRY_AFTER_SECONDS: Final = 3600.0
"""Maximum wait in seconds, whatever Retry-After requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Waiting times of retries, in seconds."""

    first: float = 1.0
    """Maximum wait after the first failure; the maximum doubles after each further one in a row.

    Each wait is a random part of it. A request that is accepted or refused for good ends the row.
    """
    longest: float = 60.0
    gather: float = 300.0
    """Seconds after which an untouched batch is built anew, with the records that arrived since."""
    give_up: float | None = None
    """Seconds without an answer to any request after which a batch is given up for now; None: never."""


class RetryLoop:
    """A loop that sends a batch until it succeeds. ``stop`` ends the loop after the running attempt.

    ``on_failure`` is called with the reason of each wait.
    """

    def __init__(self, stop: Event, policy: RetryPolicy, on_failure: Callable[[Unavailable], None]) -> None:
        self._stop = stop
        self._policy = policy
        self._on_failure = on_failure
        self.is_unavailable = False
        """Whether the last attempt to send failed."""

    def run(self, batch: DeliveryBatch) -> bool:
        """Send ``batch`` with retries; False if the records should go in a new, larger batch instead.

        Raises Unavailable if the destination did not accept it, and ``stop`` is set or the time limit is reached.
        """
        begun, failures, answered = time.monotonic(), 0, batch.answered
        while True:
            if self.is_unavailable and self._stop.is_set():  # woken up by ``stop``, not for another attempt
                raise Unavailable("the delivery is ending")
            try:
                batch.send()
            except Unavailable as error:
                self.is_unavailable = True
                self._on_failure(error)
                if batch.answered > answered:  # a batch in many requests is not slower than as many batches
                    begun, failures, answered = time.monotonic(), 0, batch.answered
                failures += 1
                seconds = time.monotonic() - begun
                if self._stop.is_set() or (self._policy.give_up is not None and seconds > self._policy.give_up):
                    raise
                # a batch of which a part was accepted must be repeated as it is
                if self._policy.give_up is None and batch.is_untouched and seconds > self._policy.gather:
                    return False
                self._stop.wait(self._wait(failures, error.retry_after))
            else:
                self.is_unavailable = False
                break
        return True

    def _wait(self, failures: int, requested: float | None) -> float:
        most = min(self._policy.first * 2.0 ** min(failures - 1, 100), self._policy.longest)
        wait = random.uniform(0, most)  # noqa: S311 - spreads the requests of many processes, and protects nothing
        return wait if requested is None else max(wait, min(requested, MAX_RETRY_AFTER_SECONDS))
